// Decides when a finished rollout clears the cache of an instance: once for each revision, at most once per minInterval.
//
//   handled ──revision and content change──▶ begun ──complete──▶ pending ──after minInterval──▶ attempt recorded
//      ▲                                                                                                 │ call
//      └────────────────────────────────── cleared, for all pending rollouts ◀──────────────────────────┘
//
// A rollout that is recorded as begun survives the process, so it is never forgotten. Clearing twice does no harm.
import type { RolloutRecord, SeenWorkload, WorkloadSight } from "../../model/workload.ts";
import { workloadKey } from "../../model/workload.ts";

/** The delay before the second attempt; it doubles with each further one. */
const retryBaseMs = 2_000;
const retryMsMax = 300_000;

export interface RolloutSituation {
  readonly sights: readonly WorkloadSight[];
  readonly records: readonly RolloutRecord[];
  readonly minIntervalMs: number;
  /** No call for the instance before this time. */
  readonly notBeforeMs: number;
  readonly nowMs: number;
}

export interface RolloutDecision {
  /** The records to save, whether or not a call is made; the same array if nothing changes. */
  readonly records: readonly RolloutRecord[];
  /** The keys of the workloads whose complete rollout still requires a clear. One call is enough for all of them. */
  readonly pending: readonly string[];
  /** When to call; undefined while nothing is pending. */
  readonly dueMs: number | undefined;
}

export function decideRollouts(situation: RolloutSituation): RolloutDecision {
  const { sights, records, minIntervalMs, notBeforeMs, nowMs } = situation;
  const before = new Map(records.map((record) => [record.workload, record]));
  const next: RolloutRecord[] = [];
  const pending: string[] = [];
  for (const sight of sights) {
    const workload = workloadKey(sight.workload);
    const known = before.get(workload);
    if (sight.state === "Unseen") {
      if (known !== undefined) next.push(notAhead(known, nowMs));
      continue;
    }
    const record = notAhead(look(workload, known, sight.seen), nowMs);
    next.push(record);
    if (isPending(record, sight.seen)) pending.push(workload);
  }
  const isSame = next.length === records.length && next.every((record) => before.get(record.workload) === record);
  const dueMs = Math.max(notBeforeMs, ...next.map((record) => notBefore(record, minIntervalMs)));
  return { records: isSame ? records : next, pending, dueMs: pending.length === 0 ? undefined : dueMs };
}

/** The record of the workload after it was read. */
function look(workload: string, known: RolloutRecord | undefined, seen: SeenWorkload): RolloutRecord {
  const { uid, revision, content } = seen;
  if (known === undefined) {
    // A rollout that was complete when clears were first requested needs no clear; a rollout in progress does.
    const hasBegun = seen.wasUnderWay || !seen.isRolledOut;
    return {
      workload,
      uid,
      revision,
      content,
      hasBegun,
      clearedAtMs: undefined,
      attempts: 0,
      attemptedAtMs: undefined,
    };
  }
  if (known.hasBegun) return known;
  if (isAnother(known, seen)) return seen.isPaused ? known : { ...known, hasBegun: true };
  if (!seen.isRolledOut || (known.uid === uid && known.revision === revision && known.content === content))
    return known;
  // The same content in another object, or restored during a pause: no pod has run anything else.
  return { ...known, uid, revision, content };
}

/** The revision of a re-created object is not comparable, so the content decides. */
function isAnother(known: RolloutRecord, { uid, revision, content }: SeenWorkload): boolean {
  return content !== known.content && (uid !== known.uid || revision !== known.revision);
}

function isPending(record: RolloutRecord, seen: SeenWorkload): boolean {
  return seen.isRolledOut && (record.hasBegun || isAnother(record, seen));
}

/**
 * A time in the future comes from a clock that was ahead. It is replaced by the present and recorded: otherwise, the
 * wait would start again with every decision.
 */
function notAhead(record: RolloutRecord, nowMs: number): RolloutRecord {
  const { clearedAtMs = 0, attemptedAtMs = 0 } = record;
  if (clearedAtMs <= nowMs && attemptedAtMs <= nowMs) return record;
  const past = (timeMs: number | undefined) => (timeMs === undefined ? undefined : Math.min(timeMs, nowMs));
  return { ...record, clearedAtMs: past(record.clearedAtMs), attemptedAtMs: past(record.attemptedAtMs) };
}

function notBefore({ clearedAtMs, attempts, attemptedAtMs }: RolloutRecord, minIntervalMs: number): number {
  const pauseMs = Math.min(retryMsMax, retryBaseMs * 2 ** Math.min(attempts - 1, 10));
  return Math.max(
    clearedAtMs === undefined ? 0 : clearedAtMs + minIntervalMs,
    attemptedAtMs === undefined || attempts === 0 ? 0 : attemptedAtMs + pauseMs,
  );
}

/** The records to save before a call: one more attempt for each workload that it is made for. */
export function withRolloutAttempt(
  records: readonly RolloutRecord[],
  pending: readonly string[],
  nowMs: number,
): readonly RolloutRecord[] {
  if (pending.length === 0) return records;
  return records.map((record) =>
    pending.includes(record.workload)
      ? { ...record, hasBegun: true, attempts: record.attempts + 1, attemptedAtMs: nowMs }
      : record,
  );
}

/** The records to save after a call that cleared the cache: all rollouts that were pending when it began are handled. */
export function withRolloutsCleared(
  records: readonly RolloutRecord[],
  pending: readonly string[],
  sights: readonly WorkloadSight[],
  nowMs: number,
): readonly RolloutRecord[] {
  if (pending.length === 0) return records;
  const seenByKey = new Map(
    sights.flatMap((sight) => (sight.state === "Seen" ? [[workloadKey(sight.workload), sight.seen]] : [])),
  );
  return records.map((record) => {
    const seen = seenByKey.get(record.workload);
    if (seen === undefined || !pending.includes(record.workload)) return record;
    const { uid, revision, content } = seen;
    const { workload } = record;
    return {
      workload,
      uid,
      revision,
      content,
      hasBegun: false,
      clearedAtMs: nowMs,
      attempts: 0,
      attemptedAtMs: undefined,
    };
  });
}
