// Finds the OpenTelemetry Collector that the tests send to: what the cache has, else a build from the Go module in this
// folder. WAFSYNC_TOOLS=none finds none, for a quick run of the other tests.
import type { BuildResult } from "../support/control-plane/go-build.ts";
import { findOrBuildByGo, singleFileProgram } from "../support/control-plane/go-build.ts";
import type { Report } from "../support/control-plane/program.ts";
import { cacheDirectory } from "../support/control-plane/program.ts";

const collectorBuild = singleFileProgram({
  name: "collector",
  title: "an OpenTelemetry Collector",
  sourceDirectory: import.meta.dirname,
  flags: ["-p", "1", "-ldflags", "-s -w"],
});

/** The program's file. May take many minutes on a machine that has never built it. Never rejects for what is merely absent. */
export async function findCollector(environment: NodeJS.ProcessEnv = process.env): Promise<BuildResult> {
  const report: Report = (line) => void process.stderr.write(`wafsync: ${line}\n`);
  if (environment["WAFSYNC_TOOLS"] === "none") return { state: "Failed", problem: "none is wanted" };
  return await findOrBuildByGo(collectorBuild, cacheDirectory(environment), report);
}
