// How long a plan takes, from declared resources to ordered operations, for growing lists.
import type { Bench, BenchOutcome } from "./bench.ts";
import { inMilliseconds } from "./bench.ts";
import { planCases } from "./plan-times.ts";

const counts = [1_000, 10_000, 100_000, 1_000_000];
const rounds = 5;
/** Of the largest list, which takes minutes otherwise. */
const roundsOfLargest = 1;

const columns = [
  "Entries",
  "All new",
  "Of guests, all new",
  "Nothing changed, list read again",
  "Nothing changed at all",
  "10 changed, in one of the rules",
  "10 changed, in one long text",
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
  title: `a plan: compile what is declared, compare, order (best of ${rounds})`,
  measure,
};
