// `npm run simulate -- --seeds 10000 [--first 0] [--seed N]`: simulates whole installations, and prints what it finds. A seed
// that fails prints itself and a trace that a person can follow.
import { parseArgs } from "node:util";
import type { SeedReport } from "../test/support/simulation/simulate-seed.ts";
import { simulateSeed } from "../test/support/simulation/simulate-seed.ts";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "1000" },
    first: { type: "string", default: "0" },
    seed: { type: "string" },
    /** Ends after so many seeds that failed. */
    failures: { type: "string", default: "5" },
    trace: { type: "boolean", default: false },
  },
});

const failuresMax = Number(values.failures);
const first = Number(values.seed ?? values.first);
const count = values.seed === undefined ? Number(values.seeds) : 1;
const sums = { steps: 0, calls: 0, faults: 0, kills: 0, processes: 0 };
let callsToSettleMax = 0;
const failed: SeedReport[] = [];
const startMs = performance.now();
let done = 0;
for (let seed = first; seed < first + count && failed.length < failuresMax; seed += 1) {
  const report = await simulateSeed(seed);
  done += 1;
  for (const name of Object.keys(sums) as (keyof typeof sums)[]) sums[name] += report[name];
  callsToSettleMax = Math.max(callsToSettleMax, report.callsToSettle);
  if (report.violations.length > 0) failed.push(report);
  if (values.trace || report.violations.length > 0) console.log(report.trace.join("\n"));
  for (const violation of report.violations) console.log(`\nseed ${seed}: ${violation}`);
}
const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
console.log(
  `${done} seeds in ${seconds} s: ${sums.steps} steps, ${sums.calls} calls, ${sums.faults} faults, ${sums.kills} kills, ` +
    `${sums.processes} processes; at most ${callsToSettleMax} calls to the declared state. ${failed.length} failed${failed.length === 0 ? "." : `: ${failed.map(({ seed }) => seed).join(", ")}.`}`,
);
process.exitCode = failed.length === 0 ? 0 : 1;
