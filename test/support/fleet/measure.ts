// Measures an operator with many WAFs: start, memory, CPU time and requests to the API server.
import { setTimeout as sleep } from "node:timers/promises";
import type { AuditedRequest } from "../control-plane/audit-log.ts";
import { countByVerb, mostForOneObject, requestsOf } from "../control-plane/audit-log.ts";
import type { Fleet, FleetSize } from "./fleet.ts";
import { operatorUser } from "../worlds/operator-world.ts";
import { objectsIn, startFleet } from "./fleet.ts";
import type { MeasuredOperator, MeasuredStart, Memory } from "./measured-operator.ts";
import { startMeasured } from "./measured-operator.ts";

export interface OperatorFigures {
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
  /** Until everything was Ready, by verb and resource. */
  readonly requests: ReadonlyMap<string, number>;
  /** The maximum number for one object until everything was Ready. */
  readonly statusWritesMax: { readonly instance: number; readonly rule: number };
}

export interface MeasureOptions extends FleetSize, Omit<MeasuredStart, "kubeconfig"> {
  readonly latencyMs?: number;
  /** The number of starts that are measured. */
  readonly starts?: number;
  readonly idleMs?: number;
  /** Receives messages about the progress. */
  readonly report?: (line: string) => void;
}

const idleMsDefault = 30_000;
const pollMs = 250;
const syncMsMax = 1_200_000;

/** Returns undefined if no control plane is available. */
export async function measureOperator(options: MeasureOptions): Promise<OperatorFigures | undefined> {
  const { latencyMs = 5, starts = 5, idleMs = idleMsDefault, report = () => undefined, ...start } = options;
  report(`creating ${objectsIn(options)} objects`);
  await using fleet = await startFleet({ ...options, latencyMs });
  if (fleet === undefined) return undefined;
  report("starting the operator");
  const measured = { ...start, kubeconfig: fleet.kubeconfig };
  const startedMs = performance.now();
  const operator = await startMeasured(measured);
  const figures = await measureRun(fleet, options, operator, startedMs, idleMs);
  await operator[Symbol.asyncDispose]();
  const readyMs = [operator.readyMs];
  while (readyMs.length < starts) {
    await using again = await startMeasured(measured);
    readyMs.push(again.readyMs);
  }
  return { ...figures, readyMs: readyMs.toSorted((a, b) => a - b)[Math.floor(readyMs.length / 2)] ?? 0 };
}

async function measureRun(
  fleet: Fleet,
  size: FleetSize,
  operator: MeasuredOperator,
  startedMs: number,
  idleMs: number,
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
    requests: countByVerb(requests),
    statusWritesMax: statusWritesIn(requests),
  };
}

export async function allReady(fleet: Fleet, size: FleetSize, operator: MeasuredOperator): Promise<void> {
  const giveUpMs = performance.now() + syncMsMax;
  while ((await fleet.countReady()) < objectsIn(size)) {
    await operator.memory();
    if (performance.now() > giveUpMs) throw new Error("not everything became Ready");
    await sleep(pollMs);
  }
}

export function statusWritesIn(requests: readonly AuditedRequest[]): OperatorFigures["statusWritesMax"] {
  return {
    instance: mostForOneObject(requests, "patch", "wafinstances/status"),
    rule: mostForOneObject(requests, "patch", "wafiprules/status"),
  };
}
