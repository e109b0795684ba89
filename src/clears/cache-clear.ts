// Decides the next step of one WafCacheClear: call, wait, give up, or nothing.
//
//   once per creation and per new trigger:  begun ──▶ due ──▶ attempt recorded ──▶ call ──▶ finished
//                                                      ▲                            │
//                                                      └─── failed, after a while ──┘
//
// Each call is recorded before it is made. Clearing twice is harmless, so a clear with an unknown outcome is repeated.
import { type BackOff, exponentialMs } from "../async/back-off.ts";
import type { DeclaredCacheClear } from "../model/declared.ts";
import type { HandledTrigger } from "../model/inventory.ts";
import type { WafFault } from "../model/waf-result.ts";

const retries: BackOff = { baseMs: 2_000, maxMs: 60_000 };
/** The pause after a rate limit without `Retry-After`. */
const rateLimitedMs = 10_000;

/** Represents a missing `spec.trigger`. */
const noTrigger = "";

export type ClearFinish =
  /**
   * `with` is the `namespace/name` of another object whose call did it. Without it and without attempts, an object of the same name handled
   * the trigger.
   */
  | {
      readonly state: "Cleared";
      readonly atMs: number;
      readonly clearedAtMs: number;
      readonly with?: string | undefined;
    }
  | { readonly state: "Failed"; readonly atMs: number; readonly message: string };

/** The progress of one object with one trigger. */
export interface ClearRecord {
  /** The trigger of this record. */
  readonly trigger: string;
  /** When its deadline started to run; undefined while it is suspended. */
  readonly startedMs: number | undefined;
  /** Calls that were begun, each recorded before it was sent, without those that the API postponed. */
  readonly attempts: number;
  readonly lastAttemptMs: number | undefined;
  /** The result of the last attempt; empty before the first one. */
  readonly message: string;
  readonly finish: ClearFinish | undefined;
}

/** A problem that stops all work on the instance. */
export interface ClearTrouble {
  readonly isPermanent: boolean;
  readonly message: string;
}

export interface ClearSituation {
  readonly clear: DeclaredCacheClear;
  readonly record: ClearRecord | undefined;
  /** The handled trigger that the inventory has recorded for an object of this name. */
  readonly handled: HandledTrigger | undefined;
  readonly instanceSuspended: boolean;
  readonly trouble: ClearTrouble | undefined;
  /** No call for the instance before this time, because the API requested a pause or the last call was too recent. */
  readonly notBeforeMs: number;
  readonly nowMs: number;
}

export interface AdvancedClear {
  readonly record: ClearRecord;
  /** Whether a call is due or not due yet, it has just finished, or it must be deleted. Undefined if nothing follows. */
  readonly group: "due" | "waiting" | "finished" | "outlived" | undefined;
  /** When this changes without a change of the object; infinite if it does not. */
  readonly nextMs: number;
}

/** The minimum time between two clears of those whose name counts. */
export interface ClearInterval {
  readonly ms: number;
  readonly counts: (cacheClear: string) => boolean;
}

/**
 * The next clear of a guest namespace, or after a rollout, has a minimum time since the last one, including clears by the calls for
 * other objects. A time that is further ahead than this minimum was recorded before the clock was set back, and does not count.
 */
export function notBeforeMs(handled: readonly HandledTrigger[], { ms, counts }: ClearInterval, nowMs: number): number {
  if (ms === 0) return 0;
  const times = handled.filter(({ cacheClear, handledAtMs }) => counts(cacheClear) && handledAtMs <= nowMs + ms);
  return times.reduce((latestMs, { handledAtMs }) => Math.max(latestMs, handledAtMs + ms), 0);
}

/** The current trigger of an object. */
export function triggerOf(clear: DeclaredCacheClear): string {
  return clear.trigger ?? noTrigger;
}

/** The record if it is about the current trigger. */
export function currentRecord(clear: DeclaredCacheClear, record: ClearRecord | undefined): ClearRecord | undefined {
  return record?.trigger === triggerOf(clear) ? record : undefined;
}

/** Decides what follows for the clear. A call changes its record only through `withAttempt`. */
export function advanceClear(situation: ClearSituation): AdvancedClear {
  const { clear, handled, nowMs, trouble } = situation;
  const known = startedRecord(clear, situation.record);
  const { ttlAfterFinishedMs: ttlMs = Number.POSITIVE_INFINITY } = clear;
  if (known.finish !== undefined) {
    const deleteAtMs = known.finish.atMs + ttlMs;
    return deleteAtMs <= nowMs
      ? { record: known, group: "outlived", nextMs: Number.POSITIVE_INFINITY }
      : { record: known, group: undefined, nextMs: deleteAtMs };
  }
  const finished = (record: ClearRecord): AdvancedClear => ({ record, group: "finished", nextMs: nowMs + ttlMs });
  if (handled?.trigger === triggerOf(clear)) {
    // With attempts, the object's own call cleared the cache, and the process was killed before it could report that.
    const finish: ClearFinish = { state: "Cleared", atMs: nowMs, clearedAtMs: handled.handledAtMs };
    return finished({ ...known, message: "", finish });
  }
  if (clear.suspend || situation.instanceSuspended) {
    return { record: { ...known, startedMs: undefined }, group: undefined, nextMs: Number.POSITIVE_INFINITY };
  }
  // Times in the future come from a clock that was ahead. They must not cause a longer wait, and not with every decision again.
  const { lastAttemptMs } = known;
  const startedMs = Math.min(known.startedMs ?? nowMs, nowMs);
  const attemptedMs = lastAttemptMs === undefined ? undefined : Math.min(lastAttemptMs, nowMs);
  const record = { ...known, startedMs, lastAttemptMs: attemptedMs };
  const failed = (message: string): AdvancedClear =>
    finished({ ...record, finish: { state: "Failed", atMs: nowMs, message } });
  // A clear after a rollout waits until the trouble is over.
  if (trouble?.isPermanent === true && clear.workload === undefined) return failed(trouble.message);
  const deadlineMs = startedMs + clear.activeDeadlineMs;
  if (deadlineMs <= nowMs) {
    const why = known.message || (trouble?.message ?? "No attempt was made.");
    return failed(`The cache clear took longer than ${Math.round(clear.activeDeadlineMs / 1000)} s. ${why}`);
  }
  const dueMs =
    trouble === undefined ? Math.max(situation.notBeforeMs, nextAttemptMs(record, nowMs)) : Number.POSITIVE_INFINITY;
  return dueMs <= nowMs
    ? { record, group: "due", nextMs: nowMs }
    : { record, group: "waiting", nextMs: Math.min(dueMs, deadlineMs) };
}

/**
 * An attempt without a recorded end was begun by a process that was killed. Whether it cleared anything is unknown, so it is
 * repeated even if it was the last allowed one. The deadline still ends it.
 */
function nextAttemptMs({ attempts, lastAttemptMs }: ClearRecord, nowMs: number): number {
  return lastAttemptMs === undefined || attempts === 0 ? nowMs : lastAttemptMs + exponentialMs(retries, attempts);
}

/** The record if it is about the current trigger, or else a new one. */
export function startedRecord(clear: DeclaredCacheClear, record: ClearRecord | undefined): ClearRecord {
  const nothing = { startedMs: undefined, attempts: 0, lastAttemptMs: undefined, message: "", finish: undefined };
  return currentRecord(clear, record) ?? { trigger: triggerOf(clear), ...nothing };
}

/** The record to save before a call. */
export function withAttempt(record: ClearRecord, nowMs: number): ClearRecord {
  return { ...record, attempts: record.attempts + 1, lastAttemptMs: nowMs, message: "" };
}

/** The record of an object after a failed call for it. `record` is the one before the call, with the attempt. */
export function afterFault(
  { backoffLimit }: DeclaredCacheClear,
  record: ClearRecord,
  { code, message }: WafFault,
  nowMs: number,
): ClearRecord {
  const { attempts } = record;
  const failed = (why: string): ClearRecord => {
    return { ...record, message, finish: { state: "Failed", atMs: nowMs, message: why } };
  };
  if (code === "BadApiKey") return failed(message);
  if (code === "Rejected") return failed(`The API rejected the cache clear: "${message}".`);
  // The API has only postponed it.
  if (code === "RateLimited") return { ...record, attempts: attempts - 1, message };
  if (attempts <= backoffLimit) return { ...record, message };
  return failed(`${attempts === 1 ? "The attempt failed" : `All ${attempts} attempts failed`}. ${message}`);
}

/** For how long the instance makes no further call after the fault. */
export function pauseMsAfter({ code, retryAfterMs }: WafFault): number {
  return retryAfterMs ?? (code === "RateLimited" ? rateLimitedMs : 0);
}

// The handled triggers, recorded with the instance: an object that is deleted and created again with the same trigger clears
// nothing. Only successful clears count; after a failure, a user can create the object again to retry it.

/** The number of recorded objects; beyond it, those that were handled first are dropped. */
const handledMax = 2_000;

/**
 * Adds handled triggers to the record of the instance, each replacing an earlier one of the same object. Returns the same array if
 * nothing changes. `Now`: they have just been handled. `Recalled`: they were read from a status, and count only if they are newer.
 */
export function withHandled(
  handled: readonly HandledTrigger[],
  additions: readonly HandledTrigger[],
  when: "Now" | "Recalled",
): readonly HandledTrigger[] {
  const byObject = new Map(handled.map((item) => [item.cacheClear, item]));
  for (const item of additions) {
    const before = byObject.get(item.cacheClear);
    const isNewer = before === undefined || when === "Now" || before.handledAtMs < item.handledAtMs;
    if (isNewer && before?.trigger !== item.trigger) byObject.set(item.cacheClear, item);
  }
  // The workloads come first: there are few of them, and each must be remembered.
  const rank = ({ cacheClear, handledAtMs }: HandledTrigger): number =>
    isWorkload(cacheClear) ? Number.MAX_SAFE_INTEGER : handledAtMs;
  const next = [...byObject.values()].toSorted((a, b) => rank(b) - rank(a)).slice(0, handledMax);
  return sameOr(handled, next);
}

/** Whether the record is of a workload, and not of an object, whose name contains no space. */
export function isWorkload(cacheClear: string): boolean {
  return cacheClear.includes(" ");
}

/** The same array as before if `next` has the same items. */
export function sameOr<T>(before: readonly T[], next: readonly T[]): readonly T[] {
  const known = new Set(before);
  return next.length === before.length && next.every((item) => known.has(item)) ? before : next;
}
