// Finds the tools of others that the tests run: what the cache has, else a build from the Go module in this folder.
// WAFSYNC_TOOLS=none finds none, for a quick run of the other tests.
import { copyFile, mkdir } from "node:fs/promises";
import { basename, join } from "node:path";
import type { GoBuild } from "../support/control-plane/go-build.ts";
import { findOrBuildByGo } from "../support/control-plane/go-build.ts";
import type { Report } from "../support/control-plane/program.ts";
import { cacheDirectory } from "../support/control-plane/program.ts";
import { runToEnd } from "../support/control-plane/run-to-end.ts";
import { definitions } from "./definitions.ts";

export const toolNames = ["helm", "kubeconform", "promtool", "prometheus", "judge"] as const;
export type ToolName = (typeof toolNames)[number];

export interface Tools {
  /** The program of each tool. */
  readonly files: Readonly<Record<ToolName, string>>;
  /** Custom resource definitions of others: those that our manifests have objects of. */
  readonly definitionsDirectory: string;
}

export type FindToolsResult =
  | { readonly state: "Found"; readonly tools: Tools }
  | { readonly state: "Missing"; readonly problem: string };

const definitionsFolder = "definitions";
const downloadMsMax = 10 * 60_000;

const toolsBuild: GoBuild = {
  name: "tools",
  title: "helm, kubeconform, promtool, prometheus and judge",
  sourceDirectory: import.meta.dirname,
  sourceFiles: ["go.mod", "go.sum", "definitions.ts", "judge/main.go", "judge/lua.go", "judge/flux.go"],
  packages: ["tool", "./judge"],
  // Prometheus without the forty ways to find what it watches, which are most of its code.
  flags: ["-tags", "remove_all_sd", "-ldflags", "-s -w"],
  makes: "Folder",
  complete: copyDefinitions,
};

/** May take many minutes on a machine that has never built them. Never rejects for what is merely absent. */
export async function findTools(environment: NodeJS.ProcessEnv = process.env): Promise<FindToolsResult> {
  const report: Report = (line) => void process.stderr.write(`wafsync: ${line}\n`);
  if (environment["WAFSYNC_TOOLS"] === "none") return { state: "Missing", problem: "none are wanted" };
  const result = await findOrBuildByGo(toolsBuild, cacheDirectory(environment), report);
  if (result.state === "Failed") return { state: "Missing", problem: result.problem };
  return { state: "Found", tools: toolsIn(result.file) };
}

function toolsIn(folder: string): Tools {
  const files = Object.fromEntries(toolNames.map((name) => [name, join(folder, name)])) as Record<ToolName, string>;
  return { files, definitionsDirectory: join(folder, definitionsFolder) };
}

async function copyDefinitions(folder: string): Promise<string | undefined> {
  const target = join(folder, definitionsFolder);
  await mkdir(target, { recursive: true });
  for (const { module, folder: source, files } of definitions) {
    const download = ["mod", "download", "-json", module];
    const ended = await runToEnd("go", download, { directory: import.meta.dirname, timeoutMs: downloadMsMax });
    if (ended.code !== 0) return `go mod download ${module}: ${ended.stderr}${ended.stdout}`;
    const { Dir: directory } = JSON.parse(ended.stdout) as { Dir: string };
    for (const file of files) await copyFile(join(directory, source, file), join(target, basename(file)));
  }
  return undefined;
}
