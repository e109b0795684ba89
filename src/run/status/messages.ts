// The messages about what only the whole list decides: removals on hold and how to approve them, what stays because something can't be
// read, and entries that a list has no room for.
import { formatTime } from "../../model/time-text.ts";
import type { HeldGroup } from "../../kinds/waf-instance.ts";
import { disputesMax } from "../../decide/disputes.ts";
import type { Plan } from "../../decide/plan.ts";
import { type ListName, listNames } from "../../model/declared.ts";
import { type EntryOwners, readOwners } from "../../model/entry-owners.ts";
import { approvalAnnotation, nameKey } from "../../model/resource.ts";
import { asSentence, counted, examplesOf, inThousands, listed, shortened } from "../../model/sentence.ts";
import { type HeldRemoval, type HeldRemovals, type Obstacle, hashOfPart, partsOf } from "../../decide/removal-guard.ts";
import type { Entry } from "../../address/entry.ts";
import type { RunFacts } from "../facts.ts";

const examplesMax = 5;
const namesShownMax = 3;
const mismatchLengthMax = 41;

/** Counts, reasons, last owners, and what to do. Empty if nothing is on hold. */
export function heldMessage(facts: Pick<RunFacts, "plan" | "gathered">): string {
  const held = facts.plan?.held;
  if (held === undefined) return "";
  const { guards } = facts.gathered.instance;
  const parts = [held.obstacle === undefined ? mismatchSentence(held) : obstacleSentence(held.obstacle)];
  for (const list of listNames) {
    const removals = held.removals[list];
    if (removals.length === 0) continue;
    const limits = `: guards allow at most ${guards.maxRemovals} removals and ${guards.maxRemovalPercent}% of a list ${spanOf(held.recent[list], guards.window)}`;
    const examples = examplesOf(removals.map(({ entry }) => entry));
    const what = countedRemovals(removals, `from the ${list} (${examples})`);
    parts.push(`${what}${held.obstacle === undefined ? limits : ""}.`, ownersSentence(removals));
  }
  if (held.origins.length > 0) {
    const hosts = held.origins.map(({ host }) => host);
    const what = `of ${hosts.length === 1 ? "an origin" : "origins"} (${listed(hosts, namesShownMax)})`;
    parts.push(`${countedRemovals(hosts, what)}.`, ownersSentence(held.origins));
  }
  return [...parts, approvalSentence(facts, held)].filter((part) => part !== "").join(" ");
}

function countedRemovals({ length }: readonly unknown[], what: string): string {
  return `${counted(length, "removal", "removals")} ${what} ${length === 1 ? "is" : "are"} on hold`;
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
export function mismatchSentence({ mismatch }: HeldRemovals): string {
  if (mismatch === undefined) return "";
  return `The annotation ${approvalAnnotation}: "${shortened(mismatch, mismatchLengthMax)}" does not match the removals on hold: it was already used, or it approves different removals.`;
}

function ownersSentence(removals: readonly Pick<HeldRemoval, "owners">[]): string {
  const names = ownerNames(new Set(removals.map(({ owners }) => owners)));
  if (names.length === 0) return "";
  return `${removals.length === 1 ? "It was" : "They were"} last declared by ${listed(names, namesShownMax)}.`;
}

function ownerNames(owners: Iterable<EntryOwners>): string[] {
  const names = new Set<string>();
  for (const one of owners) for (const { kind, name } of readOwners(one)) names.add(`${kind} ${name}`);
  return [...names];
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
    owners: shortened(ownerNames([part.owners]).join(", "), textLengthMax),
    count: part.removals.length,
    reason,
    examples: part.removals.slice(0, entriesMax).map(({ entry }) => entry),
    hash: hashOfPart(part, held),
  }));
  return groups.toSorted((a, b) => b.count - a.count);
}

/** What stays because something can't be read: how much, what is broken, and how to let it go. Empty if nothing does. */
export function keptMessage({ plan }: Pick<RunFacts, "plan">): string {
  const byReason = [...Map.groupBy(plan?.kept ?? [], ({ broken }) => broken.reason).values()];
  const [largest, ...others] = byReason.toSorted((a, b) => b.length - a.length);
  const [first] = largest ?? [];
  if (largest === undefined || first === undefined) return "";
  const parts = ([...listNames, "origins"] as const).flatMap((part) => {
    const values = largest.flatMap((kept) => (kept.part === part ? [kept.value] : []));
    if (values.length === 0) return [];
    const what =
      part === "origins" ? counted(values.length, "origin", "origins") : counted(values.length, "entry", "entries");
    return [`${what}${part === "origins" ? "" : ` on the ${part}`} (${listed(values, examplesMax)})`];
  });
  const owners = listed(ownerNames(new Set(largest.map((one) => one.owners))), namesShownMax);
  const by = owners === "" ? "may still be declared" : `last declared by ${owners}`;
  const { reason, letGo } = first.broken;
  // Most reasons begin with the name of the rule, which may be the only owner.
  const why = reason.startsWith(`${owners}: `) ? reason.slice(owners.length + 2) : reason;
  const left = (plan?.kept.length ?? 0) - largest.length;
  const stay = counted(left, "more stays", "more stay");
  const more = left === 0 ? "" : ` ${stay} for ${counted(others.length, "other reason", "other reasons")}.`;
  const way = letGo === undefined ? "" : ` To let ${largest.length === 1 ? "it" : "them"} go, ${letGo}.`;
  return `wafsync keeps ${parts.join(" and ")}, ${by}: ${asSentence(why)}${way}${more}`;
}

/** Another writer reverts declared entries. Empty if none is contested. */
export function contestedMessage({ contested }: Plan): string {
  if (contested.length === 0) return "";
  const examples = examplesOf(contested.map(({ entry }) => entry));
  const until = formatTime(Math.min(...contested.map(({ untilMs }) => untilMs)));
  const others =
    contested.length >= disputesMax
      ? ` wafsync tracks no more than this number: it corrects other entries at each resync, without a pause.`
      : "";
  return `Another writer keeps reverting ${inThousands(contested.length)} of the declared entries (${examples}). Corrections are paused until ${until}: look for a second cluster or script with the same API key.${others}`;
}

/** This many additions refused in the same words suggest a limit. */
const refusalsFrom = 3;

/** The entries that the lists of the instance have no room for, as sentences; undefined if everything fits. */
export function overflowOfInstance({ plan, gathered }: RunFacts): string | undefined {
  const sentences = listNames.flatMap((list) => {
    const left = plan?.leftOut[list];
    if (left === undefined || left.size === 0) return [];
    const { maxEntries = 0 } = gathered.instance.lists[list];
    const what = `${counted(left.size, "entry", "entries")} (${examplesOf([...left])})`;
    return [
      `${what} ${left.size === 1 ? "does" : "do"} not fit on the ${list}, which has room for ${inThousands(maxEntries)} (spec.${list}.maxEntries).${roomOnHold(list, plan)}`,
    ];
  });
  return sentences.length === 0 ? undefined : sentences.join(" ");
}

/** The same for the entries of one rule. It names no limit and no entry of another namespace. */
export function overflowOfRule(list: ListName, leftOut: readonly Entry[], { plan }: Pick<RunFacts, "plan">): string {
  const what = `${counted(leftOut.length, "entry", "entries")} (${examplesOf(leftOut)})`;
  return `${what} ${leftOut.length === 1 ? "does" : "do"} not fit on the ${list}: the WAF accepts a limited number of entries.${roomOnHold(list, plan)}`;
}

function roomOnHold(list: ListName, plan: RunFacts["plan"]): string {
  const isOnHold = plan !== undefined && plan.lists[list].held > 0;
  return isOnHold ? " Removals that are on hold would make room: see the condition RemovalsHeld of the instance." : "";
}

/** Removals that wait for entries that the API does not accept; empty if there are none. */
export function waitingRemovals({ plan }: Pick<RunFacts, "plan">): string {
  const waiting = listNames.flatMap((list) => plan?.waiting[list] ?? []);
  if (waiting.length === 0) return "";
  return ` ${counted(waiting.length, "removal waits", "removals wait")} for them (${examplesOf(waiting)}), because declared entries would otherwise lose their cover.`;
}

/** Suggests that the size of the list may be the WAF's limit; empty unless additions were refused in the same words. */
export function limitSuggestion({ plan, observed, gathered }: RunFacts): string {
  if (plan === undefined || observed === undefined) return "";
  for (const list of listNames) {
    if (gathered.instance.lists[list].maxEntries !== undefined) continue;
    const words = plan.outcomes[list].flatMap(({ entry, outcome: { insteadOf, refusals = [] } }) =>
      insteadOf === "Add" ? refusals.map(({ message }) => message.replaceAll(entry, "")) : [],
    );
    const { size } = observed.lists[list];
    if (![...Map.groupBy(words, (text) => text).values()].some(({ length }) => length >= refusalsFrom)) continue;
    return ` If ${inThousands(size)} entries are the WAF's limit, set spec.${list}.maxEntries to ${size}.`;
  }
  return "";
}
