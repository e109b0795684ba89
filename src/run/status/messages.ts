// The messages about what only the whole list decides: removals on hold and how to approve them, what stays because something can't be
// read, and entries that a list has no room for.
import { formatTime, asSentence, counted, examplesOf, inThousands, listed, shortened } from "../../model/texts.ts";
import type { HeldGroup } from "../../kinds/waf-instance.ts";
import type { Plan } from "../../decide/plan.ts";
import { rowsWith } from "../../decide/progress.ts";
import { type ListName, listNames } from "../../model/declared.ts";
import { type EntryOwners, readOwners } from "../../model/rule-id.ts";
import { approvalAnnotation, nameKey, type ResourceMeta } from "../../model/resource.ts";
import { type HeldRemoval, type HeldRemovals, type Obstacle, hashOfPart, partsOf } from "../../decide/removal-guard.ts";
import type { Entry } from "../../address/entry.ts";
import type { RunFacts, Blocker } from "../facts.ts";
import { type Condition, findCondition, type NewConditions, seeReady, withConditions } from "../../kinds/conditions.ts";
import type { AcceptedReason, ReasonOf, SyncedReason } from "../../kinds/reasons.ts";
import type { WafFault } from "../../model/waf-result.ts";

const examplesMax = 5;
const namesShownMax = 3;
const mismatchLengthMax = 41;

/** Counts, reasons, last owners, and what to do. Empty if nothing is on hold. */
export function heldMessage(facts: Pick<RunFacts, "plan" | "gathered">): string {
  const held = facts.plan?.held;
  if (held === undefined) return "";
  const { maxRemovals, maxRemovalPercent, window } = facts.gathered.instance.guards;
  const lists = listNames.map((list) => {
    const span = spanOf(held.recent[list], window);
    const limits = `: guards allow at most ${maxRemovals} removals and ${maxRemovalPercent}% of a list ${span}`;
    const entries = held.removals[list].map(({ entry }) => entry);
    return heldSentences(`from the ${list}`, entries, held.removals[list], held.obstacle === undefined ? limits : "");
  });
  const hosts = held.origins.map(({ host }) => host);
  return [
    mismatchSentence(held),
    held.obstacle === undefined ? "" : obstacleSentence(held.obstacle),
    ...lists,
    heldSentences("from the origins", hosts, held.origins, ""),
    approvalSentence(facts, held),
  ]
    .filter((part) => part !== "")
    .join(" ");
}

/** How many removals are on hold in one part of the WAF, and who last declared them. Empty if there are none. */
function heldSentences(
  where: string,
  values: readonly string[],
  removals: readonly Pick<HeldRemoval, "owners">[],
  limits: string,
): string {
  if (values.length === 0) return "";
  const [are, were] = values.length === 1 ? ["is", "It was"] : ["are", "They were"];
  const what = `${counted(values.length, "removal", "removals")} ${where} (${examplesOf(values)}) ${are} on hold${limits}.`;
  const owners = ownerNames(removals.map((removal) => removal.owners));
  return owners === "" ? what : `${what} ${were} last declared by ${owners}.`;
}

function obstacleSentence({ kind, reason }: Obstacle): string {
  if (kind === "Restored")
    return `${reason} wafsync removes nothing until you restore the newer inventory, or accept this one.`;
  return `${asSentence(reason)} wafsync removes nothing until it has read what is declared again.`;
}

/** Earlier removals matter only if there are any. */
function spanOf(recent: number, window: string): string {
  if (recent === 0) return "per plan";
  return `per plan and within ${window}, and ${counted(recent, "entry was", "entries were")} already removed in this time`;
}

/** The message about an approval that does not match; empty if there is none or it matches. */
function mismatchSentence({ mismatch }: HeldRemovals): string {
  if (mismatch === undefined) return "";
  return `The annotation ${approvalAnnotation}: "${shortened(mismatch, mismatchLengthMax)}" does not match the removals on hold: it was already used, or it approves different removals.`;
}

function ownerNames(owners: readonly EntryOwners[], shownMax = namesShownMax): string {
  const names = [...new Set(owners)].flatMap((one) => readOwners(one)).map(({ kind, name }) => `${kind} ${name}`);
  return listed([...new Set(names)], shownMax);
}

/** How to approve the removals: with a command or, in a directory, also with a change to a file, for a pull request. */
function approvalSentence({ gathered }: Pick<RunFacts, "gathered">, { hash, obstacle }: HeldRemovals): string {
  if (hash === undefined) return "";
  const goal = obstacle === undefined ? "approve exactly these removals" : "accept this inventory";
  const { meta } = gathered.instance;
  if (meta.location !== "") {
    return `To ${goal}, run \`wafsync approve\`, or add to metadata.annotations of WafInstance ${nameKey(meta)} (${meta.location}): ${approvalAnnotation}: "${hash}"`;
  }
  return `To ${goal}: kubectl annotate --overwrite wafinstance -n ${meta.namespace} ${meta.name} ${approvalAnnotation}=${hash}`;
}

const textLengthMax = 1024;
const byGuards = "The guards of the instance allow fewer removals at once.";

/** Groups removals on hold by list, last owners and reason, so that a person can decide about each group. The largest first. */
export function heldGroups(held: HeldRemovals, entriesMax = examplesMax): HeldGroup[] {
  const reason = shortened(asSentence(held.obstacle?.reason ?? byGuards), textLengthMax);
  const groups = partsOf(held).map((part) => ({
    list: part.list,
    owners: shortened(ownerNames([part.owners], Infinity), textLengthMax),
    count: part.removals.length,
    reason,
    examples: part.removals.slice(0, entriesMax).map(({ entry }) => entry),
    hash: hashOfPart(part, held),
  }));
  return groups.toSorted((a, b) => b.count - a.count);
}

/** What stays because something can't be read: how much, what is broken, and how to let it go. Empty if nothing does. */
export function keptMessage({ plan }: Pick<RunFacts, "plan">): string {
  const kept = plan?.kept ?? [];
  const groups = [...Map.groupBy(kept, ({ part, broken }) => `${part} ${broken.reason}`).values()];
  const largest = groups.toSorted((a, b) => b.length - a.length)[0] ?? [];
  const [first] = largest;
  if (first === undefined) return "";
  const { part, broken } = first;
  const isOrigin = part === "origins";
  const count = counted(largest.length, isOrigin ? "origin" : "entry", isOrigin ? "origins" : "entries");
  const values = largest.map(({ value }) => value);
  const what = `${count}${isOrigin ? "" : ` on the ${part}`} (${listed(values, examplesMax)})`;
  const owners = ownerNames(largest.map((one) => one.owners));
  const by = owners === "" ? "may still be declared" : `last declared by ${owners}`;
  // Most reasons begin with the name of the rule, which may be the only owner.
  const why = broken.reason.startsWith(`${owners}: `) ? broken.reason.slice(owners.length + 2) : broken.reason;
  const way = broken.letGo === undefined ? "" : ` To let ${largest.length === 1 ? "it" : "them"} go, ${broken.letGo}.`;
  const left = kept.length - largest.length;
  const more = left === 0 ? "" : ` ${counted(left, "more stays", "more stay")} for other reasons.`;
  return `wafsync keeps ${what}, ${by}: ${asSentence(why)}${way}${more}`;
}

/** Another writer reverts declared entries. Empty if none is contested. */
export function contestedMessage(plan: Plan): string {
  const contested = rowsWith(plan, "Contested");
  if (contested.length === 0) return "";
  const examples = examplesOf(contested.map(({ entry }) => entry));
  const until = formatTime(Math.min(...contested.flatMap(({ outcome }) => outcome.untilMs ?? [])));
  return `Another writer keeps reverting ${inThousands(contested.length)} of the declared entries (${examples}). Corrections are paused until ${until}: look for a second cluster or script with the same API key.`;
}

/** The entries that one list has no room for. It names neither the limit nor other entries, which guests must not learn. */
export function overflowSentence(list: ListName, leftOut: readonly Entry[], { plan }: Pick<RunFacts, "plan">): string {
  const what = `${counted(leftOut.length, "entry", "entries")} (${examplesOf(leftOut)})`;
  const isOnHold = plan !== undefined && plan.lists[list].held > 0;
  const room = isOnHold
    ? " Removals that are on hold would make room: see the condition RemovalsHeld of the instance."
    : "";
  return `${what} ${leftOut.length === 1 ? "does" : "do"} not fit on the ${list}: see spec.${list}.maxEntries of the instance.${room}`;
}

/** The same for all lists; empty if everything fits. */
export function overflowMessage(facts: Pick<RunFacts, "plan">): string {
  const sentences = listNames.flatMap((list) => {
    const leftOut = [...(facts.plan?.leftOut[list] ?? [])];
    return leftOut.length === 0 ? [] : [overflowSentence(list, leftOut, facts)];
  });
  return sentences.join(" ");
}

/** Removals that wait for entries that the API does not accept; empty if there are none. */
export function waitingRemovals(plan: Plan): string {
  const waiting = rowsWith(plan, "Waiting").map(({ entry }) => entry);
  if (waiting.length === 0) return "";
  return ` ${counted(waiting.length, "removal waits", "removals wait")} for them (${examplesOf(waiting)}), because declared entries would otherwise lose their cover.`;
}

// Converts the findings for one object into conditions. The same rules apply to every kind, so that kubectl, Flux and Argo CD
// interpret them in the same way:
//
// Ready is False only after failures, and Unknown while work is pending; Reconciling is present while work is in progress or will
// be retried, and never while Ready is True; Stalled is present when only a person can resolve the problem.

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
