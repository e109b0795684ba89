// Finds the OpenTelemetry Collector that the tests send to: what the cache has, else a build from the Go module in this
// folder. WAFSYNC_TOOLS=none finds none, for a quick run of the other tests.
import type { BuildResult, GoBuild } from "../support/control-plane/go-build.ts";
import { buildByGo, findBuiltByGo } from "../support/control-plane/go-build.ts";
import type { Report } from "../support/control-plane/program.ts";
import { cacheDirectory } from "../support/control-plane/program.ts";

const collectorBuild: GoBuild = {
  name: "collector",
  title: "an OpenTelemetry Collector",
  sourceDirectory: import.meta.dirname,
  sourceFiles: ["go.mod", "go.sum", "main.go"],
  packages: ["."],
  flags: ["-p", "1", "-ldflags", "-s -w"],
  makes: "File",
};

/** The program's file. May take many minutes on a machine that has never built it. Never rejects for what is merely absent. */
export async function findCollector(environment: NodeJS.ProcessEnv = process.env): Promise<BuildResult> {
  const report: Report = (line) => void process.stderr.write(`wafsync: ${line}\n`);
  if (environment["WAFSYNC_TOOLS"] === "none") return { state: "Failed", problem: "none is wanted" };
  const cache = cacheDirectory(environment);
  const file = await findBuiltByGo(collectorBuild, cache);
  return file === undefined ? await buildByGo(collectorBuild, cache, report) : { state: "Built", file };
}
