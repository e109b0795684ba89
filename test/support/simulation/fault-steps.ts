// The possible pairs of a fault and a step, which is a call to the WAF or to a port. The simulation records each pair that occurs, so it
// can report the missing pairs.
import { answerNames } from "./sim-faults.ts";

const listWrites = ["POST", "DELETE"].flatMap((method) => [
  `${method} /api/blocklist_ip`,
  `${method} /api/allowlist_ip`,
]);
const listReads = ["GET /api/blocklist_ips", "GET /api/allowlist_ips"];
const wafSteps = [
  "GET /api/origins",
  "POST /api/origins",
  "DELETE /api/origins",
  "POST /clear",
  "GET /api/logs/query",
  "GET /api/logs/scroll",
  ...listReads,
  ...listWrites,
];
const portSteps = ["gather", "confirm", "load", "save", "remove", "hold", "release", "removeObject"];
const logSteps = ["loadLogs", "saveLogs", "write"];
const statusSteps = ["WafInstance", "WafIpRule", "WafOrigin", "WafCacheClear", "WafAutoBlock"].map(
  (kind) => `status of ${kind}`,
);
const feedSteps = ["load of feed", "save of feed", "fetch of feed"];

function pairsOf(faults: readonly string[], steps: readonly string[]): string[] {
  return steps.flatMap((step) => faults.map((fault) => `${fault} @ ${step}`));
}

const broken = ["connection reset", "no answer", ...answerNames].flatMap((fault) => [
  `${fault}, before its effect`,
  `${fault}, after its effect`,
]);

/** Everything that can happen in a simulation. */
export const faultSteps: readonly string[] = [
  ...pairsOf(["connection refused", ...broken], wafSteps),
  ...pairsOf(["400, before its effect", "no answer, and a late effect"], listWrites),
  ...pairsOf(["old by a write", "old by seconds"], listReads),
  ...pairsOf(["killed before", "killed after"], [...wafSteps, ...portSteps, ...statusSteps, ...feedSteps, ...logSteps]),
  ...pairsOf(["conflict", "write failed"], ["save", "save of feed", "saveLogs"]),
  ...pairsOf(
    ["clock set forward", "clock set back", "killed", "asked to stop", "Lease lost"],
    [...wafSteps, "no call"],
  ),
];

export function describeCoverage(pairs: ReadonlySet<string>): string {
  return `${pairs.size} of ${faultSteps.length} pairs of a fault and a step.`;
}
