// The programs of others that the tests run: what the cache has, else a build from a Go module of the tests, which may take many
// minutes on a machine that has never built it. WAFSYNC_CONTROL_PLANE=none and WAFSYNC_TOOLS=none find none, for a quick run of
// the other tests.
import { copyFile, mkdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { definitions } from "../../tools/definitions.ts";
import { findOrBuild, type FoundProgram, type GoBuild } from "./go-build.ts";
import { runToEnd } from "./run-to-end.ts";

type Environment = NodeJS.ProcessEnv;

const tests = join(import.meta.dirname, "..", "..");
const withoutSymbols = ["-ldflags", "-s -w"];

/** Returns the function that finds these programs. If the variable is `none`, it finds none. */
function finderOf(build: GoBuild, variable = "WAFSYNC_TOOLS") {
  return async (environment: Environment = process.env): Promise<FoundProgram> =>
    environment[variable] === "none"
      ? { state: "Missing", problem: `${variable} is none` }
      : await findOrBuild(build, environment);
}

/** The servers report the version that the linker sets; without it, they report v0.0.0. */
const version = "k8s.io/component-base/version";
const kubernetesVersion = `-X ${version}.gitVersion=v1.36.3 -X ${version}.gitMajor=1 -X ${version}.gitMinor=36`;

/** One program that is etcd, kube-apiserver, kube-controller-manager and kubectl: its first parameter says which. */
export const findControlPlane = finderOf(
  {
    name: "control-plane",
    title: "etcd, kube-apiserver, kube-controller-manager and kubectl",
    sourceDirectory: import.meta.dirname,
    flags: ["-ldflags", `-s -w ${kubernetesVersion}`],
  },
  "WAFSYNC_CONTROL_PLANE",
);

export const findCollector = finderOf({
  name: "collector",
  title: "an OpenTelemetry Collector",
  sourceDirectory: join(tests, "collector"),
  flags: ["-p", "1", ...withoutSymbols],
});

/** SQLite without C, and nothing of what reads logs: only the API of CrowdSec is served. */
const crowdsecTags =
  "netgo osusergo nomsgpack sqlite_modernc no_db_postgres no_db_mysql no_datasource_appsec no_datasource_cloudwatch " +
  "no_datasource_docker no_datasource_file no_datasource_http no_datasource_journalctl no_datasource_k8saudit " +
  "no_datasource_kafka no_datasource_kinesis no_datasource_loki no_datasource_s3 no_datasource_syslog " +
  "no_datasource_victorialogs no_datasource_wineventlog";

export const findCrowdsec = finderOf({
  name: "crowdsec",
  title: "the local API of CrowdSec",
  sourceDirectory: join(tests, "crowdsec"),
  flags: ["-p", "2", "-tags", crowdsecTags.replaceAll(" ", ","), ...withoutSymbols],
});

export const toolNames = ["helm", "promtool", "prometheus", "judge"] as const;
export type ToolName = (typeof toolNames)[number];

export interface Tools {
  /** The program of each tool. */
  readonly files: Readonly<Record<ToolName, string>>;
  /** Custom resource definitions of others: those that our manifests have objects of. */
  readonly definitionsDirectory: string;
}

const toolsDirectory = join(tests, "tools");
const downloadMsMax = 10 * 60_000;

const findToolFolder = finderOf({
  name: "tools",
  title: "helm, promtool, prometheus and judge",
  sourceDirectory: toolsDirectory,
  sourceFiles: ["go.mod", "go.sum", "definitions.ts", "judge/main.go", "judge/lua.go", "judge/flux.go"],
  packages: ["tool", "./judge"],
  // Prometheus without the forty ways to find what it watches, which are most of its code.
  flags: ["-tags", "remove_all_sd", ...withoutSymbols],
  complete: copyDefinitions,
});

export async function findTools(
  environment?: Environment,
): Promise<{ readonly state: "Found"; readonly tools: Tools } | Extract<FoundProgram, { readonly state: "Missing" }>> {
  const found = await findToolFolder(environment);
  if (found.state === "Missing") return found;
  const files = Object.fromEntries(toolNames.map((name) => [name, join(found.file, name)])) as Tools["files"];
  return { state: "Found", tools: { files, definitionsDirectory: join(found.file, "definitions") } };
}

async function copyDefinitions(folder: string): Promise<string | undefined> {
  const target = join(folder, "definitions");
  await mkdir(target, { recursive: true });
  for (const { module, folder: source, files } of definitions) {
    const download = ["mod", "download", "-json", module];
    const ended = await runToEnd("go", download, { directory: toolsDirectory, timeoutMs: downloadMsMax });
    if (ended.code !== 0) return `go mod download ${module}: ${ended.stderr}${ended.stdout}`;
    const { Dir: directory } = JSON.parse(ended.stdout) as { Dir: string };
    for (const file of files) await copyFile(join(directory, source, file), join(target, basename(file)));
  }
  return undefined;
}
