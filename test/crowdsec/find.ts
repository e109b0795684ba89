// Finds the local API of CrowdSec that the tests ask for decisions: what the cache has, else a build from the Go module in this
// folder. WAFSYNC_TOOLS=none finds none, for a quick run of the other tests.
import type { BuildResult } from "../support/control-plane/go-build.ts";
import { findOrBuildByGo, singleFileProgram } from "../support/control-plane/go-build.ts";
import type { Report } from "../support/control-plane/program.ts";
import { cacheDirectory } from "../support/control-plane/program.ts";

/** SQLite without C, and nothing of what reads logs: only the API is served. */
const tags = [
  "netgo",
  "osusergo",
  "nomsgpack",
  "sqlite_modernc",
  "no_db_postgres",
  "no_db_mysql",
  ...[
    "appsec",
    "cloudwatch",
    "docker",
    "file",
    "http",
    "journalctl",
    "k8saudit",
    "kafka",
    "kinesis",
    "loki",
    "s3",
    "syslog",
    "victorialogs",
    "wineventlog",
  ].map((source) => `no_datasource_${source}`),
];

const crowdsecBuild = singleFileProgram({
  name: "crowdsec",
  title: "the local API of CrowdSec",
  sourceDirectory: import.meta.dirname,
  flags: ["-p", "2", "-tags", tags.join(","), "-ldflags", "-s -w"],
});

/** The program's file. May take many minutes on a machine that has never built it. Never rejects for what is merely absent. */
export async function findCrowdsec(environment: NodeJS.ProcessEnv = process.env): Promise<BuildResult> {
  const report: Report = (line) => void process.stderr.write(`wafsync: ${line}\n`);
  if (environment["WAFSYNC_TOOLS"] === "none") return { state: "Failed", problem: "none is wanted" };
  return await findOrBuildByGo(crowdsecBuild, cacheDirectory(environment), report);
}
