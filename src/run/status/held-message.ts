// The messages about removals on hold, and how to approve them, and about what stays because something can't be read.
import type { HeldGroup } from "../../kinds/waf-instance.ts";
import { approvalAnnotation, nameKey } from "../../model/resource.ts";
import { type ListName, listNames } from "../../model/declared.ts";
import { type EntryOwners, readOwners } from "../../model/entry-owners.ts";
import { asSentence, counted, inThousands, listed, shortened } from "../../model/sentence.ts";
import type { HeldRemoval, HeldRemovals, Obstacle, OriginRemoval } from "../../decide/removal-guard.ts";
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
    const why = held.obstacle === undefined ? limits : "";
    parts.push(`${countAndExamples(removals, list)} on hold${why}.${ownersSentence(removals)}`);
  }
  if (held.origins.length > 0) parts.push(originsSentence(held.origins));
  return [...parts, approvalSentence(facts, held)].filter((part) => part !== "").join(" ");
}

function obstacleSentence({ kind, reason }: Obstacle): string {
  if (kind === "Restored")
    return `${reason} wafsync removes nothing until you restore the newer inventory, or accept this one.`;
  return `${asSentence(reason)} wafsync removes nothing until it has read what is declared again.`;
}

/** Earlier removals matter only if there are any. */
function spanOf(recent: number, window: string): string {
  if (recent === 0) return "per plan";
  const were = recent === 1 ? "1 entry was" : `${inThousands(recent)} entries were`;
  return `per plan and within ${window}, and ${were} already removed in this time`;
}

/** The message about an approval that does not match; empty if there is none or it matches. */
export function mismatchSentence({ mismatch }: HeldRemovals): string {
  if (mismatch === undefined) return "";
  return `The annotation ${approvalAnnotation}: "${shortened(mismatch, mismatchLengthMax)}" does not match the removals on hold: it was already used, or it approves different removals.`;
}

function originsSentence(origins: readonly OriginRemoval[]): string {
  const hosts = listed(
    origins.map(({ host }) => host),
    namesShownMax,
  );
  const what =
    origins.length === 1
      ? `1 removal of an origin (${hosts}) is`
      : `${origins.length} removals of origins (${hosts}) are`;
  return `${what} on hold.${ownersSentence(origins)}`;
}

function ownersSentence(removals: readonly Pick<HeldRemoval, "owners">[]): string {
  const names = ownerNames(new Set(removals.map(({ owners }) => owners)));
  if (names.length === 0) return "";
  return ` ${removals.length === 1 ? "It was" : "They were"} last declared by ${listed(names, namesShownMax)}.`;
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

function countAndExamples(removals: readonly HeldRemoval[], list: ListName): string {
  const examples = removals.slice(0, examplesMax).map(({ entry }) => entry);
  const more = removals.length > examplesMax ? ", …" : "";
  const count = removals.length === 1 ? "1 removal" : `${removals.length} removals`;
  return `${count} from the ${list} (${examples.join(", ")}${more}) ${removals.length === 1 ? "is" : "are"}`;
}

const textLengthMax = 1024;
const byGuards = "The guards of the instance allow fewer removals at once.";

/** Groups removals on hold by list, last owners and reason, so that a person can decide about each group. The largest first. */
export function heldGroups({ removals, obstacle }: HeldRemovals, entriesMax = examplesMax): HeldGroup[] {
  const groups = new Map<string, { group: HeldGroup; examples: string[] }>();
  for (const list of listNames) {
    for (const { entry, owners } of removals[list]) {
      const reason = asSentence(obstacle?.reason ?? byGuards);
      const key = JSON.stringify([list, owners, reason]);
      const known = groups.get(key) ?? { group: emptyGroup(list, owners, reason), examples: [] };
      groups.set(key, known);
      known.group.count += 1;
      if (known.examples.length < entriesMax) known.examples.push(entry);
    }
  }
  const all = [...groups.values()].map(({ group, examples }) => ({ ...group, examples }));
  return all.toSorted((a, b) => b.count - a.count);
}

function emptyGroup(list: HeldGroup["list"], owners: EntryOwners, reason: string): HeldGroup {
  const names = [...new Set(readOwners(owners).map(({ kind, name }) => `${kind} ${name}`))].join(", ");
  return {
    list,
    owners: shortened(names, textLengthMax),
    count: 0,
    reason: shortened(reason, textLengthMax),
    examples: [],
  };
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
  const owners = ownerNames(new Set(largest.map((one) => one.owners)));
  const by = owners.length === 0 ? "may still be declared" : `last declared by ${listed(owners, namesShownMax)}`;
  const { reason, letGo } = first.broken;
  const left = (plan?.kept.length ?? 0) - largest.length;
  const more =
    left === 0
      ? ""
      : ` ${left} more ${left === 1 ? "stays" : "stay"} for ${counted(others.length, "other reason", "other reasons")}.`;
  const way = letGo === undefined ? "" : ` To let ${largest.length === 1 ? "it" : "them"} go, ${letGo}.`;
  return `wafsync keeps ${parts.join(" and ")}, ${by}: ${asSentence(reason)}${way}${more}`;
}
