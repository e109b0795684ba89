// When a finished rollout clears the cache of an instance: once for each revision, and not more often than every minInterval.
//
//   handled ──revision and content change──▶ begun ──complete──▶ pending ──minInterval is over──▶ attempt recorded
//      ▲                                                                                                 │ call
//      └────────────────────────────────── cleared, for all that are pending ◀──────────────────────────┘
//
// What is recorded as begun survives the process, so a rollout is never forgotten. Clearing twice does no harm.
import type { RolloutRecord, SeenWorkload, WorkloadSight } from "../../model/workload.ts";
import { workloadKey } from "../../model/workload.ts";

/** The delay before the second attempt; it doubles with each further one. */
const retryBaseMs = 2_000;
const retryMsMax = 300_000;

export interface RolloutSituation {
  readonly sights: readonly WorkloadSight[];
  readonly records: readonly RolloutRecord[];
  readonly minIntervalMs: number;
  /** No call of the instance before this time. */
  readonly notBeforeMs: number;
  readonly nowMs: number;
}

export interface RolloutDecision {
  /** What is to be remembered, whether or not a call is made; the very same array if nothing changes. */
  readonly records: readonly RolloutRecord[];
  /** Keys of the workloads whose rollout is complete and not cleared for. A call does for all of them. */
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

/** What is known about the workload after it was read. */
function look(workload: string, known: RolloutRecord | undefined, seen: SeenWorkload): RolloutRecord {
  const { uid, revision, content } = seen;
  if (known === undefined) {
    // What was complete before anybody asked for clears is not cleared for; what is under way is.
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
  // The same content in another object, or brought back while it was paused: no pod has run anything else.
  return { ...known, uid, revision, content };
}

/** An object that was created again has numbers of its own, so its content alone tells. */
function isAnother(known: RolloutRecord, { uid, revision, content }: SeenWorkload): boolean {
  return content !== known.content && (uid !== known.uid || revision !== known.revision);
}

function isPending(record: RolloutRecord, seen: SeenWorkload): boolean {
  return seen.isRolledOut && (record.hasBegun || isAnother(record, seen));
}

/**
 * A time in the future was written by a clock that was ahead. It becomes the present and is recorded as that: otherwise, the
 * wait would begin again at every look.
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

/** What is to be recorded before a call: an attempt for each workload that it is made for. */
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

/** What is to be recorded after a call that has cleared the cache: all that were pending when it began are handled. */
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
