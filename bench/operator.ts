// Measures the operator, as its image runs it, with one WAF and with many on a real API server: start, memory, and the time until
// everything is synced. API server, simulator and operator share the machine. scripts/measure-operator.ts measures other sizes
// and long runs.
import type { FleetSize } from "../test/support/fleet/fleet.ts";
import { measureOperator, type OperatorFigures } from "../test/support/fleet/measure.ts";
import type { Bench, BenchOutcome } from "./bench.ts";
import { inMilliseconds, inSeconds } from "./bench.ts";

const latencyMs = 5;
const sizes: readonly FleetSize[] = [
  { instances: 1, rules: 1, addresses: 1 },
  { instances: 200, rules: 5, addresses: 10 },
  { instances: 1_000, rules: 10, addresses: 5 },
];

const columns = [
  "Instances × rules × addresses",
  "Ready after the start",
  "All objects Ready",
  "CPU time",
  "Memory when Ready",
  "Memory when idle",
  "Most status writes per instance, per rule",
];

async function measure(report: (line: string) => void): Promise<BenchOutcome> {
  const rows: (readonly string[])[] = [];
  for (const size of sizes) {
    const figures = await measureOperator({ ...size, latencyMs, report });
    if (figures === undefined) return { state: "Skipped", problem: "no control plane is available" };
    rows.push(rowOf(figures));
  }
  return { state: "Measured", tables: { many: { columns, rows } } };
}

function rowOf({ size, statusWritesMax, ...figures }: OperatorFigures): readonly string[] {
  const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(0)} MB`;
  return [
    [size.instances, size.rules, size.addresses].map((count) => count.toLocaleString("en-US")).join(" × "),
    inMilliseconds(figures.readyMs),
    inSeconds(figures.syncedMs),
    inSeconds(figures.cpuSeconds * 1000),
    megabytes(figures.memorySynced.now),
    megabytes(figures.memoryIdle.now),
    `${statusWritesMax.instance}, ${statusWritesMax.rule}`,
  ];
}

export const operatorBench: Bench = {
  name: "operator",
  title: `the operator with one WAF and with many, ${latencyMs} ms per call`,
  measure,
};
