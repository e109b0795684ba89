// Suites that need third-party tools: helm, promtool, prometheus, judge. The tools are built once, which takes
// many minutes, so these suites are separate and run only on request. If the tools are not available, the suites are
// skipped with a clear message, and fail with CI=true.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe } from "@jest/globals";
import { type Ended, runToEnd } from "../../support/control-plane/run-to-end.ts";
import { findTools, type ToolName, type Tools } from "../../support/control-plane/go-programs.ts";
import { describeMissing } from "../../support/processes/describe-missing.ts";

/** The name of each tool, and the module that determines its version. */
const modules: Readonly<Record<ToolName, readonly (readonly [string, string])[]>> = {
  helm: [["helm", "helm.sh/helm/v4"]],
  promtool: [["promtool", "github.com/prometheus/prometheus"]],
  prometheus: [["prometheus", "github.com/prometheus/prometheus"]],
  judge: [
    ["gopher-lua", "github.com/yuin/gopher-lua"],
    ["kstatus", "github.com/fluxcd/cli-utils"],
    ["Flux CEL", "github.com/fluxcd/pkg/runtime"],
  ],
};

/** Await it at the top of the file. Prints the versions that the suite runs with. */
export async function describeWithTools(
  title: string,
  names: readonly ToolName[],
  body: (tools: Tools) => void,
): Promise<void> {
  await withToolsIn(describeHere, title, names, body);
}

async function describeHere(title: string, body: (context: undefined) => void): Promise<void> {
  describe(title, () => {
    body(undefined);
  });
}

/** The same in another place, such as `describeOperator`. */
export async function withToolsIn<Context>(
  place: (title: string, body: (context: Context) => void) => Promise<void>,
  title: string,
  names: readonly ToolName[],
  body: (tools: Tools, context: Context) => void,
): Promise<void> {
  const found = await findTools();
  if (found.state === "Missing") return describeMissing(title, "its tools", found.problem);
  process.stderr.write(`${title}: ${await versionsOf(names)}\n`);
  await place(title, (context) => body(found.tools, context));
}

/** The versions from the module, because not all tools report their version. */
async function versionsOf(names: readonly ToolName[]): Promise<string> {
  const module = await readFile(join(import.meta.dirname, "..", "..", "tools", "go.mod"), "utf8");
  const version = (path: string): string => new RegExp(`^\\s*${path} (v\\S+)`, "m").exec(module)?.[1] ?? "?";
  return names
    .flatMap((name) => modules[name])
    .map(([name, path]) => `${name} ${version(path)}`)
    .join(", ");
}

/** Runs a tool and returns its output; rejects with its output unless the exit code is 0. */
export async function runTool(
  file: string,
  args: readonly string[],
  options: { readonly environment?: NodeJS.ProcessEnv; readonly input?: string } = {},
): Promise<Ended> {
  const ended = await runToEnd(file, args, options);
  if (ended.code === 0) return ended;
  throw new Error(`${file} ${args.join(" ")} ended with ${ended.code}: ${ended.stderr}${ended.stdout}`);
}
