// Converts the findings for one object into conditions. The same rules apply to every kind, so that kubectl, Flux and Argo CD
// interpret them in the same way:
//
// Ready is False only after failures, and Unknown while work is pending; Reconciling is present while work is in progress or will
// be retried, and never while Ready is True; Stalled is present when only a person can resolve the problem.
import type { Condition } from "../../kinds/conditions.ts";
import { findCondition, removeCondition, setCondition } from "../../kinds/conditions.ts";
import type { AcceptedReason, SyncedReason } from "../../kinds/reasons.ts";

const idLengthMin = 6;

export interface AcceptedFinding {
  readonly status: "True" | "False";
  readonly reason: AcceptedReason;
  readonly message: string;
}

export interface SyncedFinding {
  readonly status: "True" | "False" | "Unknown";
  readonly reason: SyncedReason;
  readonly message: string;
  /** The message without the next step, for objects with a different next step; undefined if it is the same as `message`. */
  readonly cause?: string;
  /** The message contains the API's error: differences between attempts, such as a request ID, are not a change. */
  readonly quotesApi?: true;
  /** Who acts next: no one (`Settled`), wafsync immediately or later, a person, or the person who suspended the object. */
  readonly next: "Settled" | "Working" | "Retrying" | "Person" | "Paused";
}

export interface Assessment {
  readonly accepted: AcceptedFinding;
  readonly synced: SyncedFinding;
}

export const accepted: AcceptedFinding = {
  status: "True",
  reason: "Accepted",
  message: "The object is valid and attached.",
};

/** Returns the conditions for an assessment. Keeps other conditions, and the transition times of unchanged ones. */
export function conditionsOf(
  before: readonly Condition[],
  { accepted, synced: found }: Assessment,
  observedGeneration: number,
  nowMs: number,
): readonly Condition[] {
  const synced = withKnownWords(before, found);
  let conditions = setCondition(before, { type: "Accepted", ...accepted, observedGeneration }, nowMs);
  const { status, reason, message } = synced;
  conditions = setCondition(conditions, { type: "Synced", status, reason, message, observedGeneration }, nowMs);
  conditions = setCondition(conditions, { type: "Ready", ...readyOf(accepted, synced), observedGeneration }, nowMs);
  conditions = withReconciling(conditions, synced, observedGeneration, nowMs);
  return withStalled(conditions, { accepted, synced }, observedGeneration, nowMs);
}

/** Keeps the current message if the new one differs only in IDs. */
function withKnownWords(before: readonly Condition[], synced: SyncedFinding): SyncedFinding {
  if (synced.quotesApi !== true) return synced;
  const known = findCondition(before, "Synced");
  const isKnown = known?.reason === synced.reason && withoutIds(known.message) === withoutIds(synced.message);
  return isKnown ? { ...synced, message: known.message } : synced;
}

/** Words with a digit and at least six characters: IDs, times, addresses. Status codes and durations are shorter, and URLs name WAFs. */
function withoutIds(message: string): string {
  const isId = (word: string): boolean => word.length >= idLengthMin && !word.includes("://");
  return message.replaceAll(/[\w.:+/=-]*\d[\w.:+/=-]*/gu, (word) => (isId(word) ? "#" : word));
}

function readyOf(accepted: AcceptedFinding, synced: SyncedFinding) {
  const { reason, message, next } = synced;
  if (next === "Working") return { status: "Unknown", reason, message } as const;
  if (accepted.status === "False") return accepted;
  return { status: readyStatuses[next], reason, message } as const;
}

const readyStatuses = { Settled: "True", Paused: "Unknown", Retrying: "False", Person: "False" } as const;

function withReconciling(
  conditions: readonly Condition[],
  synced: SyncedFinding,
  observedGeneration: number,
  nowMs: number,
): readonly Condition[] {
  const { reason, message, next } = synced;
  if (next !== "Working" && next !== "Retrying") return removeCondition(conditions, "Reconciling");
  return setCondition(conditions, { type: "Reconciling", status: "True", reason, message, observedGeneration }, nowMs);
}

function withStalled(
  conditions: readonly Condition[],
  { accepted, synced }: Assessment,
  observedGeneration: number,
  nowMs: number,
): readonly Condition[] {
  const common = { type: "Stalled", status: "True", observedGeneration } as const;
  const isWorking = synced.next === "Working" || synced.next === "Retrying";
  if (accepted.status === "False" && !isWorking) {
    return setCondition(conditions, { ...common, reason: accepted.reason, message: accepted.message }, nowMs);
  }
  if (synced.next === "Person") {
    return setCondition(conditions, { ...common, reason: synced.reason, message: synced.message }, nowMs);
  }
  return removeCondition(conditions, "Stalled");
}
