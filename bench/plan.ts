// Measures how long a plan takes, from declared resources to ordered operations, for lists of increasing length.
import type { Bench, BenchOutcome } from "./bench.ts";
import { inMilliseconds } from "./bench.ts";
import { planCases } from "./plan-times.ts";

const counts = [1_000, 10_000, 100_000, 1_000_000];
const rounds = 5;
/** For the largest list, which would otherwise take minutes. */
const roundsOfLargest = 1;

const columns = [
  "Entries",
  "All new",
  "All new, declared by guests",
  "No change, list read again",
  "No change",
  "10 changed in one of many rules",
  "10 changed in one long text",
];

// oxlint-disable-next-line typescript/require-await -- the other benches wait for processes
async function measure(report: (line: string) => void): Promise<BenchOutcome> {
  const rows = counts.map((count) => {
    report(`${count.toLocaleString("en-US")} entries`);
    const roundsOf = count < 1_000_000 ? rounds : roundsOfLargest;
    const times = Object.values(planCases).map((measureMs) => inMilliseconds(measureMs(count, roundsOf)));
    return [count.toLocaleString("en-US"), ...times];
  });
  return { state: "Measured", tables: { growth: { columns, rows } } };
}

export const planBench: Bench = {
  name: "plan",
  title: `a plan: compile the declared state, compare, order (best of ${rounds})`,
  measure,
};
