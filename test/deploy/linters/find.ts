// Finds kube-score: what the cache has, else a build from the Go module in this folder. WAFSYNC_TOOLS=none finds none.
// kube-linter is missing, because the Go module proxy does not serve its module.
import type { BuildResult } from "../../support/control-plane/go-build.ts";
import { findOrBuildByGo } from "../../support/control-plane/go-build.ts";
import type { Report } from "../../support/control-plane/program.ts";
import { cacheDirectory } from "../../support/control-plane/program.ts";

/** The program's file. May take a few minutes on a machine that has never built it. Never rejects for what is merely absent. */
export async function findKubeScore(environment: NodeJS.ProcessEnv = process.env): Promise<BuildResult> {
  const report: Report = (line) => void process.stderr.write(`wafsync: ${line}\n`);
  if (environment["WAFSYNC_TOOLS"] === "none") return { state: "Failed", problem: "none is wanted" };
  const build = {
    name: "kube-score",
    title: "kube-score",
    sourceDirectory: import.meta.dirname,
    sourceFiles: ["go.mod", "go.sum"],
    packages: ["tool"],
    flags: ["-ldflags", "-s -w"],
    makes: "File",
  } as const;
  return await findOrBuildByGo(build, cacheDirectory(environment), report);
}
