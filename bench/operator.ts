// Measures the operator, as its image runs it, with one WAF and with many on a real API server: start, memory, and the time until
// everything is synced. API server, simulator and operator share the machine.
import { setTimeout as sleep } from "node:timers/promises";
import { requestsOf } from "../test/support/control-plane/audit-log.ts";
import {
  allReady,
  type Fleet,
  type FleetSize,
  objectsIn,
  startFleet,
  statusWritesIn,
} from "../test/support/fleet/fleet.ts";
import { type MeasuredOperator, type Memory, startMeasured } from "../test/support/fleet/measured-operator.ts";
import { operatorUser } from "../test/support/worlds/operator-world.ts";
import type { Bench, BenchOutcome } from "./bench.ts";
import { inMilliseconds, inSeconds } from "./bench.ts";

const latencyMs = 5;
/** The number of starts that are measured. */
const starts = 5;
const idleMs = 30_000;
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

interface OperatorFigures {
  readonly size: FleetSize;
  /** From the start of the process until /readyz succeeds: the median of several starts. */
  readonly readyMs: number;
  /** From the start until every object is Ready. */
  readonly syncedMs: number;
  readonly cpuSeconds: number;
  /** At the moment when everything was Ready for the first time. */
  readonly memorySynced: Memory;
  /** After a while without changes. */
  readonly memoryIdle: Memory;
  /** The maximum number for one object until everything was Ready. */
  readonly statusWritesMax: ReturnType<typeof statusWritesIn>;
}

/** Returns undefined if no control plane is available. */
async function measureOperator(size: FleetSize, report: (line: string) => void): Promise<OperatorFigures | undefined> {
  report(`creating ${objectsIn(size)} objects`);
  await using fleet = await startFleet({ ...size, latencyMs });
  if (fleet === undefined) return undefined;
  report("starting the operator");
  const { kubeconfig } = fleet;
  const startedMs = performance.now();
  const operator = await startMeasured({ kubeconfig });
  const figures = await measureRun(fleet, size, operator, startedMs);
  await operator[Symbol.asyncDispose]();
  const readyMs = [operator.readyMs];
  while (readyMs.length < starts) {
    await using again = await startMeasured({ kubeconfig });
    readyMs.push(again.readyMs);
  }
  return { ...figures, readyMs: readyMs.toSorted((a, b) => a - b)[Math.floor(readyMs.length / 2)] ?? 0 };
}

async function measureRun(
  fleet: Fleet,
  size: FleetSize,
  operator: MeasuredOperator,
  startedMs: number,
): Promise<Omit<OperatorFigures, "readyMs">> {
  await allReady(fleet, size, operator);
  const syncedMs = performance.now() - startedMs;
  const memorySynced = await operator.memory();
  const cpuSeconds = await operator.metric("process_cpu_seconds_total");
  const requests = await requestsOf(operatorUser, fleet.cluster.directory);
  await sleep(idleMs);
  return {
    size,
    syncedMs,
    cpuSeconds,
    memorySynced,
    memoryIdle: await operator.memory(),
    statusWritesMax: statusWritesIn(requests),
  };
}

async function measure(report: (line: string) => void): Promise<BenchOutcome> {
  const rows: (readonly string[])[] = [];
  for (const size of sizes) {
    const figures = await measureOperator(size, report);
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
