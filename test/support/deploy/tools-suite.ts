// Suites that need third-party tools: helm, kubeconform, promtool, prometheus, judge. The tools are built once, which takes
// many minutes, so these suites are separate and run only on request. If the tools are not available, the suites are
// skipped with a clear message, and fail with CI=true.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe } from "@jest/globals";
import type { ClusterAccess } from "../control-plane/cluster-access.ts";
import type { Ended } from "../control-plane/run-to-end.ts";
import { runToEnd } from "../control-plane/run-to-end.ts";
import type { ToolName, Tools } from "../control-plane/go-programs.ts";
import { findTools } from "../control-plane/go-programs.ts";
import { describeWithOwnControlPlane } from "../control-plane/suite.ts";
import { describeMissing } from "../processes/describe-missing.ts";
import { describeOperator } from "../worlds/operator-suite.ts";
import type { OperatorWorld } from "../worlds/operator-world.ts";

/** The name of each tool, and the module that determines its version. */
const modules: Readonly<Record<ToolName, readonly (readonly [string, string])[]>> = {
  helm: [["helm", "helm.sh/helm/v4"]],
  kubeconform: [["kubeconform", "github.com/yannh/kubeconform"]],
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
  const tools = await toolsFor(title, names);
  if (tools === undefined) return;
  describe(title, () => {
    body(tools);
  });
}

/** Like describeWithTools, with a separate control plane. */
export async function describeWithToolsAndCluster(
  title: string,
  names: readonly ToolName[],
  body: (tools: Tools, cluster: ClusterAccess) => void,
): Promise<void> {
  const tools = await toolsFor(title, names);
  if (tools === undefined) return;
  await describeWithOwnControlPlane(title, (cluster) => {
    body(tools, cluster);
  });
}

/** Like describeWithTools, with a control plane, a simulator and operators. */
export async function describeWithToolsAndOperator(
  title: string,
  names: readonly ToolName[],
  body: (tools: Tools, world: () => OperatorWorld) => void,
): Promise<void> {
  const tools = await toolsFor(title, names);
  if (tools === undefined) return;
  await describeOperator(title, (world) => {
    body(tools, world);
  });
}

/** Describes a suite that is skipped or fails if the tools are missing. */
async function toolsFor(title: string, names: readonly ToolName[]): Promise<Tools | undefined> {
  const found = await findTools();
  if (found.state === "Found") {
    process.stderr.write(`${title}: ${await versionsOf(names)}\n`);
    return found.tools;
  }
  describeMissing(title, "its tools", found.problem);
  return undefined;
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
