// How long a plan takes, from declared resources to ordered operations.
import type { Bench, BenchOutcome } from "./bench.ts";
import { inMilliseconds } from "./bench.ts";
import { measurePlans } from "./plan-time.ts";

const counts = [1_000, 10_000, 100_000];

// oxlint-disable-next-line typescript/require-await -- the other benches wait for processes
async function measure(): Promise<BenchOutcome> {
  const rows = counts.map((count) => {
    const { coldMs, unchangedMs } = measurePlans(count);
    return [count.toLocaleString("en-US"), inMilliseconds(coldMs), inMilliseconds(unchangedMs)];
  });
  return { state: "Measured", tables: { growth: { columns: ["Entries", "All new", "Nothing changed"], rows } } };
}

export const planBench: Bench = {
  name: "plan",
  title: "a plan from scratch: compile what is declared, compare, order (best of 5)",
  measure,
};
