// Emits the events that people need to know about an object, each only once. They contain counts instead of one event per entry.
import { hexDigest } from "../../model/hex-digest.ts";
import type { CompiledRule } from "../../decide/compiled-rule.ts";
import type { DriftedEntry } from "../../decide/disputes.ts";
import { type RuleProgress, rowsWith } from "../../decide/progress.ts";
import { adoptAnnotation } from "../../decide/ownership.ts";
import { listNames, unblockedAtMs } from "../../model/declared.ts";
import type { Approval } from "../../model/inventory.ts";
import { asSentence, counted, examplesOf, inThousands, listed } from "../../model/texts.ts";
import type { Adoption } from "../../model/operation.ts";
import { approvalAnnotation, type ResourceMeta } from "../../model/resource.ts";
import { ruleIdOf, ruleLabel } from "../../model/rule-id.ts";
import { contestedMessage, heldMessage, keptMessage, overflowMessage, troubleOf } from "./messages.ts";
import type { RunFacts } from "../facts.ts";
import type { ObjectEvent } from "../ports.ts";
import type { World } from "../world.ts";

/** The run that emits them. */
type Emitting = Pick<World, "ports" | "memory" | "gathered">;

/** Emits events about changes by another writer that contradict the declared state. */
export function emitDrift({ ports, gathered }: Emitting, drift: readonly DriftedEntry[]): void {
  for (const [change, items] of Map.groupBy(drift, (item) => item.change)) {
    const entries = items.map(({ entry }) => entry);
    const what =
      change === "Vanished"
        ? `Another writer removed ${counted(entries.length, "declared entry", "declared entries")}, and wafsync adds ${entries.length === 1 ? "it" : "them"} again`
        : `Another writer added ${counted(entries.length, "entry", "entries")} to an Exclusive list`;
    const message = asSentence(`${what}: ${examplesOf(entries)}`);
    ports.status.event(gathered.instance.meta, { type: "Warning", reason: "DriftDetected", message });
  }
}

/** Emits an event about approved removals, so no other event needs to report that they are no longer on hold. */
export function emitApproval({ ports, memory, gathered }: Emitting, { hash, removals }: Approval): void {
  memory.emitted.delete("held");
  const count = counted(removals.blocklist.size + removals.allowlist.size, "removal is", "removals are");
  const { meta } = gathered.instance;
  const { approver, annotations } = meta;
  const by = approver === undefined ? "" : `, which ${approver.manager} set at ${approver.time}`;
  const isAnnotated = annotations[approvalAnnotation] === hash;
  const how = isAnnotated ? approvalAnnotation : "`apply --plan`";
  const message = `${count} approved by ${how}: "${hash}"${isAnnotated ? by : ""}.`;
  ports.status.event(meta, { type: "Normal", reason: "RemovalsApproved", message });
}

/** Reports a missing record and its consequences. */
export function unrecordedMessage({ unrecorded, desired }: RunFacts): string | undefined {
  if (unrecorded === 0) return undefined;
  const are = counted(unrecorded, "declared entry is", "declared entries are");
  const origins = desired.origins.size === 0 ? "" : " Annotate every WafOrigin whose host the WAF already has, too.";
  return `There is no record of earlier runs, and ${are} already on the lists. Entries without a record are unmanaged, and stay when no rule declares them. Restore the record, or adopt the entries with ${adoptAnnotation}: "true" on their rules.${origins}`;
}

/** What is to be reported about one subject, for as long as it lasts. */
interface Problem extends Pick<ObjectEvent, "reason" | "message"> {
  readonly type?: ObjectEvent["type"];
  /** If it changes, the problem is reported again. Without it, this is the message. */
  readonly identity?: string | undefined;
}

/** The events about subjects whose problem is solved. */
const solutions: Readonly<Record<string, readonly [reason: string, message: string]>> = {
  trouble: ["Recovered", "The WAF API is reachable again; reconciliation has resumed."],
  held: ["RemovalsResumed", "No removals are on hold any longer."],
  kept: ["SourceReadable", "Everything can be read again."],
  overflow: ["CapacityRestored", "All declared entries fit again."],
};

/** Emits an event if the problem of the subject is another one than before, or has been solved. */
export function emitChange(world: Emitting, object: ResourceMeta, subject: string, problem: Problem | undefined): void {
  const { status } = world.ports;
  const { emitted } = world.memory;
  const identity = problem && (problem.identity ?? problem.message);
  if (emitted.get(subject) === identity) return;
  if (identity === undefined) emitted.delete(subject);
  else emitted.set(subject, identity);
  const [reason = "", message = ""] = solutions[subject] ?? [];
  if (problem !== undefined) {
    status.event(object, { type: problem.type ?? "Warning", reason: problem.reason, message: problem.message });
  } else if (reason !== "") status.event(object, { type: "Normal", reason, message });
}

/** Emits the events at the end of a run: what has changed since the last run. */
export function emitOutcome(world: Emitting, facts: RunFacts): void {
  const { meta } = facts.gathered.instance;
  const change = (subject: string, reason: string, message = "", identity?: string): void =>
    emitChange(world, meta, subject, message === "" ? undefined : { reason, message, identity });
  const { result, plan } = facts;
  const trouble = troubleOf(facts);
  // The blocker is more specific than the reason of the condition.
  const reason = result?.kind === "Blocked" ? result.blocker : (trouble?.reason ?? "");
  change("unrecorded", "RecordMissing", unrecordedMessage(facts));
  change("trouble", reason, trouble?.message, trouble?.reason);
  // Without a plan, these subjects are unknown: they are neither new nor resolved.
  if (plan !== undefined) {
    const contested = rowsWith(plan, "Contested").map(({ list, entry }) => `${list} ${entry}`);
    // Only the number matters: other entries may take the place of these.
    const counts = listNames.map((list) => plan.leftOut[list].size).join(" ");
    change("held", "RemovalsHeld", heldMessage(facts));
    change("kept", "SourceBroken", keptMessage(facts));
    change("contested", "Contested", contestedMessage(plan), hexDigest(contested.join()));
    change("overflow", "CapacityExceeded", overflowMessage(facts), counts);
  }
  for (const rule of facts.desired.rules)
    if (!rule.rule.meta.deleting) emitRule(world, rule, facts.progress?.get(rule));
}

/** @param progress undefined if it is unknown: then refusals are neither new nor resolved */
function emitRule(world: Emitting, rule: CompiledRule, progress: RuleProgress | undefined): void {
  const { id, verdict, message } = rule;
  const { meta, expiresAtMs } = rule.rule;
  const change = (subject: string, problem: Problem | undefined): void =>
    emitChange(world, meta, `${subject} ${id}`, problem);
  if (progress !== undefined) change("refused", refusedOf(progress));
  change(
    "verdict",
    verdict === "Accepted" ? undefined : { reason: verdict, message, identity: `${verdict}: ${message}` },
  );
  const ended =
    expiresAtMs === unblockedAtMs
      ? { reason: "Ended", message: "`wafsync unblock` ended the rule." }
      : { reason: "Expired", message: "The rule has expired." };
  change("expired", rule.expired ? { type: "Normal", identity: "expired", ...ended } : undefined);
}

function refusedOf({ refused }: RuleProgress): Problem | undefined {
  const [first] = refused;
  if (first === undefined) return undefined;
  const message = `The API refused ${refused.length} of the rule's entries. ${first.entry}: ${asSentence(first.message)}`;
  return { reason: "Rejected", message, identity: String(refused.length) };
}

/** With more rules than this, the instance gets one event for all of them. */
const rulesOnInstanceMax = 5;
/** The maximum number of rules with separate events in one run, per type of change; the others are only in the summary. */
export const rulesWithEventMax = 20;
const entriesShownMax = 10;

/** An entry that a run changed, and the `namespace/name` of its rules, or of those that last declared it. */
export interface Changed extends Pick<Adoption, "entry" | "rules"> {
  readonly change: "Added" | "Removed" | "Adopted";
}

/** Emits events about the entries that a run changed. */
export function emitChanges(world: World): void {
  const changes = Map.groupBy(world.ledger.changed, ({ change }) => change);
  for (const [change, entries] of changes) emitEntries(world, change, entries);
}

/** One event per rule, with the first entries, on the rule and on the instance. If many rules changed, the instance gets only a summary. */
function emitEntries(
  { ports: { status }, gathered: { instance, rules } }: Emitting,
  change: Changed["change"],
  entries: readonly Changed[],
): void {
  const metas = new Map(rules.map(({ rule: { meta } }) => [ruleIdOf(meta), meta]));
  // If several rules declared an entry, it belongs to the first one that still exists.
  const byRule = Map.groupBy(entries, ({ rules: ids }) => ids.find((id) => metas.has(id)) ?? ids[0]);
  const isSummed = byRule.size > rulesOnInstanceMax;
  const common = { type: "Normal", reason: `Entries${change}` } as const;
  if (isSummed) status.event(instance.meta, { ...common, message: sumInWords(change, byRule) });
  for (const [rule, items] of [...byRule].slice(0, rulesWithEventMax)) {
    const all = items.map(({ entry }) => entry);
    const shown = all.slice(0, entriesShownMax);
    const details = { ...(rule === undefined ? {} : { rule }), entries: shown, count: all.length };
    const count = counted(all.length, "entry", "entries");
    const message = `${change} ${count} ${whoseInWords(change, rule)}: ${listed(all, entriesShownMax)}.`;
    const event = { ...common, message, details };
    const meta = rule === undefined ? undefined : metas.get(rule);
    if (!isSummed) status.event(instance.meta, event);
    if (meta !== undefined && !meta.deleting) status.event(meta, isSummed ? event : { ...event, isRepeated: true });
  }
}

const prepositions = { Added: "for", Removed: "of", Adopted: "for" } as const;

function whoseInWords(change: Changed["change"], rule: string | undefined): string {
  return rule === undefined ? "without a recorded rule" : `${prepositions[change]} ${ruleLabel(rule)}`;
}

function sumInWords(change: Changed["change"], byRule: ReadonlyMap<string | undefined, readonly Changed[]>): string {
  const counts = [...byRule].map(([rule, items]) => ({ rule, count: items.length }));
  const total = counts.reduce((sum, { count }) => sum + count, 0);
  const largest = counts.toSorted((a, b) => b.count - a.count).slice(0, rulesOnInstanceMax);
  const names = largest.map(({ rule, count }) => `${inThousands(count)} ${whoseInWords(change, rule)}`).join(", ");
  const of = prepositions[change];
  const left = inThousands(counts.length - largest.length);
  return `${change} ${counted(total, "entry", "entries")} ${of} ${inThousands(counts.length)} rules: ${names}, and the rest ${of} ${left} more.`;
}
