// Clears the cache after rollouts: once for each, at most once per minInterval.
//
//   handled ──another rollout──▶ begun ──complete──▶ pending ──after minInterval──▶ call ──▶ handled, with all others that were pending
//
// A rollout is recorded when it has begun, so that its rollback counts too, and when it was handled. A process that is killed
// between a call and its record leaves the call to the next one: clearing twice does no harm.
import { formatTime } from "../kinds/conditions.ts";
import { type BackOff, exponentialMs } from "../async/back-off.ts";
import type { WafInstanceStatus } from "../kinds/waf-instance.ts";
import type { Gathered } from "../model/gathered.ts";
import type { Inventory } from "../model/inventory.ts";
import { shortened } from "../model/sentence.ts";
import type { WafFault } from "../model/waf-result.ts";
import type { RolloutRecord, WorkloadSight } from "../model/workload.ts";
import { workloadKey } from "../model/workload.ts";
import type { ClearTrouble } from "./cache-clear.ts";
import type { ClearMemory } from "./records.ts";

const retries: BackOff = { baseMs: 2_000, maxMs: 300_000 };
const messageLengthMax = 1024;

/** The last failed call for rollouts. */
export interface RolloutFault {
  readonly code: WafFault["code"];
  readonly message: string;
  /** Calls that have failed since the last successful one. */
  readonly failures: number;
  readonly atMs: number;
  readonly retryMs: number;
}

type RolloutMemory = Pick<ClearMemory, "notBefore" | "rolloutFault" | "unsavedRollouts">;

export interface RolloutSituation {
  readonly gathered: Gathered;
  /** As stored. */
  readonly records: Inventory["rollouts"];
  readonly trouble: ClearTrouble | undefined;
  readonly nowMs: number;
}

export interface RolloutClears {
  /** The records to store; the same array if nothing changes. */
  readonly records: readonly RolloutRecord[];
  /** The workloads whose complete rollout requires a clear. One call is enough for all of them. */
  readonly pending: readonly WorkloadSight[];
  /** When to call; undefined while nothing is pending. */
  readonly dueMs: number | undefined;
}

export function decideRollouts(
  memory: RolloutMemory,
  { gathered, records, trouble, nowMs }: RolloutSituation,
): RolloutClears {
  const { instance, workloads } = gathered;
  if (workloads === undefined) return { records, pending: [], dueMs: undefined };
  const stored = new Set(records);
  const before = new Map((memory.unsavedRollouts ?? records).map((record) => [record.workload, record]));
  const next = workloads.flatMap((sight) => recordOf(sight, before.get(workloadKey(sight.workload))) ?? []);
  const isSame = next.length === records.length && next.every((record) => stored.has(record));
  const handled = new Map(next.map((record) => [record.workload, record.handled]));
  const isHeld = instance.suspend || instance.meta.deleting || trouble !== undefined;
  const pending = workloads.filter(
    ({ workload, rollout }) =>
      !isHeld && rollout?.isComplete === true && rollout.id !== handled.get(workloadKey(workload)),
  );
  // A time in the future comes from a clock that was ahead: it must not delay anything.
  const clearedMs = next.map(({ clearedAtMs = 0 }) => clearedAtMs).filter((atMs) => atMs <= nowMs);
  const { rolloutFault: fault } = memory;
  const dueMs = Math.max(
    memory.notBefore(nowMs),
    ...clearedMs.map((atMs) => atMs + instance.cacheClear.minIntervalMs),
    fault === undefined || fault.atMs > nowMs ? 0 : fault.retryMs,
  );
  return { records: isSame ? records : next, pending, dueMs: pending.length === 0 ? undefined : dueMs };
}

/**
 * A rollout that was complete when the workload was first seen needs no clear; one in progress does. A changed annotation, such as
 * the consent of another namespace, is no rollout, but looks like one until the controller has observed it.
 */
function recordOf({ workload, rollout }: WorkloadSight, known: RolloutRecord | undefined): RolloutRecord | undefined {
  if (rollout === undefined || rollout.isUnobserved === true) return known;
  if (known === undefined) {
    return { workload: workloadKey(workload), handled: rollout.isComplete ? rollout.id : "", clearedAtMs: undefined };
  }
  const hasBegun = known.handled !== "" && known.handled !== rollout.id && !rollout.isComplete;
  return hasBegun ? { ...known, handled: "" } : known;
}

/** The records to store after a call that cleared the cache: all rollouts that were pending when it began are handled. */
export function withRolloutsCleared(
  records: readonly RolloutRecord[],
  { pending }: RolloutClears,
  clearedAtMs: number,
): readonly RolloutRecord[] {
  if (pending.length === 0) return records;
  const handled = new Map(pending.map(({ workload, rollout }) => [workloadKey(workload), rollout?.id]));
  return records.map((record) => {
    const id = handled.get(record.workload);
    return id === undefined ? record : { ...record, handled: id, clearedAtMs };
  });
}

/** What to remember of a failed call. It is retried with backoff, without a limit. */
export function rolloutFaultAfter(before: RolloutFault | undefined, fault: WafFault, nowMs: number): RolloutFault {
  const failures = (before?.failures ?? 0) + 1;
  const retryMs = nowMs + exponentialMs(retries, failures);
  return { code: fault.code, message: fault.message, failures, atMs: nowMs, retryMs };
}

export const rolloutsIgnored =
  "spec.cacheClear.afterRolloutOf has no effect without a cluster: there are no rollouts to follow. Use a WafCacheClear or wafsync clear-cache instead.";

type CacheClearStatus = NonNullable<WafInstanceStatus["cacheClear"]>;

/** `status.cacheClear` of the instance; undefined if no workload is listed. */
export function rolloutsStatus(memory: RolloutMemory, situation: RolloutSituation): CacheClearStatus | undefined {
  const { instance, workloads } = situation.gathered;
  if (instance.cacheClear.afterRolloutOf.length === 0) return undefined;
  if (workloads === undefined) return { message: rolloutsIgnored, workloads: [] };
  const { rolloutFault: fault } = memory;
  const { dueMs, records } = decideRollouts(memory, situation);
  const clearedMs = Math.max(...records.map(({ clearedAtMs }) => clearedAtMs ?? 0));
  const byKey = new Map(records.map((record) => [record.workload, record]));
  return {
    ...(clearedMs > 0 ? { lastClearTime: formatTime(clearedMs) } : {}),
    ...(fault === undefined
      ? {}
      : { failedAttempts: fault.failures, message: shortened(fault.message, messageLengthMax) }),
    workloads: workloads.map((sight) => workloadStatus(sight, byKey.get(workloadKey(sight.workload)), dueMs)),
  };
}

function workloadStatus(
  { workload: { kind, namespace, name }, rollout, message }: WorkloadSight,
  record: RolloutRecord | undefined,
  dueMs: number | undefined,
): CacheClearStatus["workloads"][number] {
  const ref = { kind, namespace, name };
  if (rollout === undefined) return { ...ref, state: "NotSeen", message };
  const seen = { ...ref, revision: rollout.id.slice(rollout.id.indexOf("/") + 1) };
  if (record?.handled === rollout.id) {
    const { clearedAtMs } = record;
    const handled =
      clearedAtMs === undefined
        ? "This revision was already rolled out, so the cache was not cleared for it."
        : `The cache was cleared for this revision at ${formatTime(clearedAtMs)}.`;
    return { ...seen, state: "Handled", message: handled };
  }
  if (!rollout.isComplete) return { ...seen, state: "RollingOut", message };
  const when =
    dueMs === undefined ? "The instance delays the clear: see its conditions." : `It is due at ${formatTime(dueMs)}.`;
  return {
    ...seen,
    state: "Pending",
    message: `The rollout is complete, but the cache has not been cleared yet. ${when}`,
  };
}
