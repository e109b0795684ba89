// Converts the findings for one object into conditions. The same rules apply to every kind, so that kubectl, Flux and Argo CD
// interpret them in the same way:
//
// Ready is False only after failures, and Unknown while work is pending; Reconciling is present while work is in progress or will
// be retried, and never while Ready is True; Stalled is present when only a person can resolve the problem.
import { type Condition, findCondition, type NewConditions, seeReady, withConditions } from "../../kinds/conditions.ts";
import type { AcceptedReason, ReasonOf, SyncedReason } from "../../kinds/reasons.ts";
import type { ListName } from "../../model/declared.ts";
import type { ResourceMeta } from "../../model/resource.ts";
import type { WafFault } from "../../model/waf-result.ts";
import type { Blocker, RunFacts } from "../facts.ts";

const idLengthMin = 6;

export interface AcceptedFinding {
  readonly status: "True" | "False";
  readonly reason: AcceptedReason;
  readonly message: string;
}

/** Whether the object has taken effect. */
export interface Finding<Reason extends string> {
  readonly status: "True" | "False" | "Unknown";
  readonly reason: Reason;
  readonly message: string;
  /** The message without the next step, for objects with a different next step; undefined if it is the same as `message`. */
  readonly cause?: string;
  /** The message contains the API's error: differences between attempts, such as a request ID, are not a change. */
  readonly quotesApi?: true;
  /** Who acts next: no one (`Settled`), wafsync immediately or later, a person, or the person who suspended the object. */
  readonly next: "Settled" | "Working" | "Retrying" | "Person" | "Paused";
}

export type SyncedFinding = Finding<SyncedReason>;

/** The condition that reports whether an object has taken effect. Its type depends on the kind. */
type EffectType = "Synced" | "Fetched" | "Complete";

interface Assessment<Type extends EffectType> {
  readonly accepted: AcceptedFinding;
  readonly found: Finding<ReasonOf<Type>>;
  /** Conditions that only this kind of object has. */
  readonly others?: NewConditions;
}

export const accepted: AcceptedFinding = {
  status: "True",
  reason: "Accepted",
  message: "The object is valid and attached.",
};

/**
 * Returns the status with the conditions for an assessment. Ready says in detail why the object is as ready as it is; the others point
 * to it. Keeps other conditions, and the transition times of unchanged ones.
 */
export function withFindings<Status extends { readonly conditions?: readonly Condition[] }, Type extends EffectType>(
  status: Status,
  { generation }: Pick<ResourceMeta, "generation">,
  type: Type,
  { accepted, found, others }: Assessment<Type>,
  nowMs: number,
): Status & { observedGeneration: number; conditions: Condition[] } {
  const before = status.conditions ?? [];
  const { reason, message, next } = withKnownWords(before, found);
  const isWorking = next === "Working" || next === "Retrying";
  const isAccepted = accepted.status === "True";
  const isReadyAccepted = !isAccepted && next !== "Working";
  const stalled = isAccepted ? next === "Person" : !isWorking;
  const details = isReadyAccepted ? accepted : { status: readyStatuses[next], reason, message };
  const isSynced = type === "Synced" && found.status === "True";
  const known = isSynced ? "The WAF matches what the object declares." : seeReady;
  const conditions = {
    Accepted: isReadyAccepted ? { ...accepted, message: seeReady } : accepted,
    [type]: { status: found.status, reason, message: message === details.message ? known : message },
    Ready: details,
    Reconciling: isWorking ? { status: "True", reason, message: seeReady } : undefined,
    Stalled: stalled ? { ...(isAccepted ? { reason } : accepted), status: "True", message: seeReady } : undefined,
    ...others,
  } as NewConditions;
  const after = withConditions(before, conditions, generation, nowMs);
  return { ...status, observedGeneration: generation, conditions: [...after] };
}

const readyStatuses = {
  Settled: "True",
  Working: "Unknown",
  Paused: "Unknown",
  Retrying: "False",
  Person: "False",
} as const;

/** Keeps the current message if the new one differs only in IDs. */
function withKnownWords<Reason extends string>(before: readonly Condition[], found: Finding<Reason>): Finding<Reason> {
  if (found.quotesApi !== true) return found;
  const known = findCondition(before, "Ready");
  const isKnown = known?.reason === found.reason && withoutIds(known.message) === withoutIds(found.message);
  return isKnown ? { ...found, message: known.message } : found;
}

/** Words with a digit and at least six characters: IDs, times, addresses. Status codes and durations are shorter, and URLs name WAFs. */
function withoutIds(message: string): string {
  const isId = (word: string): boolean => word.length >= idLengthMin && !word.includes("://");
  return message.replaceAll(/[\w.:+/=-]*\d[\w.:+/=-]*/gu, (word) => (isId(word) ? "#" : word));
}

// The problem that prevents the sync of a whole instance: one finding, which the instance and all attached objects show.

/** The finding that overrides everything else, or undefined if the WAF can be reconciled. */
export function troubleOf({ result, desired }: Pick<RunFacts, "result" | "desired">): SyncedFinding | undefined {
  if (result?.kind === "Failed") return faultFinding(result.fault);
  if (result?.kind === "Blocked") return blockerFinding(result.blocker, result.message);
  if (result?.kind === "Unsettled") {
    return retrying("Contested", "The lists keep changing while they are written: another writer is active.");
  }
  const [fault] = desired.instanceFaults;
  if (fault === undefined) return undefined;
  return forPerson("Blocked", `A guard of the instance can't be read, so wafsync writes nothing. ${fault}`);
}

/** The finding for all objects until the WAF has been read. It says nothing of the result for an earlier generation. */
export const reading = pendingFinding("The WAF is being read.");

function faultFinding({ code, message }: WafFault): SyncedFinding {
  if (code === "BadApiKey") {
    const store = `Store the correct key in the Secret that spec.apiKeySecretRef names; wafsync reads it again before each attempt.`;
    return { ...forPerson("BadApiKey", `${message} ${store}`), quotesApi: true };
  }
  if (code === "TooLarge") return forPerson("ApiUnavailable", `${message} wafsync retries.`);
  return { ...retrying("ApiUnavailable", message), quotesApi: true };
}

function blockerFinding(blocker: Blocker, message: string): SyncedFinding {
  if (blocker === "InventoryUnwritable" || blocker === "Unconfirmed") return retrying("Blocked", message);
  return forPerson(blocker === "MissingApiKey" ? "BadApiKey" : "Blocked", message);
}

function retrying(reason: SyncedReason, cause: string): SyncedFinding {
  return { status: "False", reason, message: `${cause} wafsync retries.`, cause, next: "Retrying" };
}

/** The finding for what is not on the WAF yet, or still. @param so the beginning of the message, without a full stop */
export function unwrittenFinding(part: ListName | "origins", so: string, facts: RunFacts): SyncedFinding {
  const { policies, suspend } = facts.gathered.instance;
  if (suspend) {
    return { status: "Unknown", reason: "Suspended", message: `${so}; the instance is suspended.`, next: "Paused" };
  }
  if (policies[part] === "Observe") {
    const message = `${so}; the policy Observe of the ${part} writes nothing.`;
    return { status: "False", reason: "Observed", message, next: "Settled" };
  }
  return pendingFinding(`${so}.${waitingInWords(facts)}`);
}

/** The finding for what only a person can resolve. */
export function forPerson<Reason extends string>(reason: Reason, message: string): Finding<Reason> {
  return { status: "False", reason, message, next: "Person" };
}

/** The finding for what is still to be written. */
export function pendingFinding(message: string): Finding<"Pending"> {
  return { status: "Unknown", reason: "Pending", message, next: "Working" };
}

/** Why the run is currently waiting; empty if it is not. */
export function waitingInWords({ waiting }: RunFacts): string {
  return waiting === undefined ? "" : ` Waiting: ${waiting}.`;
}
