// Which of two rules for different lists has an entry. About the same canonical entry in Block and Allow, in this order:
//
// 1. a rule in the instance's own namespace takes precedence over a guest's;
// 2. Block, if the blocklist shows the entry or the record has it, so that no Allow rule lifts an existing block;
// 3. Allow, if the allowlist shows the entry or the record has it;
// 4. the older rule, then the first by name.
//
// The others report the conflict. Within a namespace, a narrower network inside a wider one on the other list is not a conflict:
// this is how exceptions are written. But only the owner can override what another namespace declared: if lists overlap, the WAF decides
// which one takes precedence for an address. An entry of a guest is therefore rejected if it overlaps an entry of another namespace on the
// other list:
//
// - a guest's Allow entry that overlaps a Block entry of the owner, or of another guest unless it is already on the allowlist;
// - a guest's Block entry inside an Allow entry of the owner. (A wider one leaves the exception in place.)
import { narrowestContainers, NetworkIndex, networksAround } from "../address/ranges.ts";
import { eachList, type ListName, listNames } from "../model/declared.ts";
import type { Entry } from "../address/entry.ts";
import { ruleLabel } from "../model/rule-id.ts";
import { type ListsNow, managedAround } from "./aggregation.ts";
import { type CompiledRule, describeRejected, faultsIn, placeOf, type RejectedEntry } from "./compiled-rule.ts";

/**
 * Removes the losing entries from their rules, oldest first. Returns the same array if no entry is declared for both lists; otherwise, the
 * result depends on which entries are managed.
 */
export function settleConflicts(rules: readonly CompiledRule[], now: ListsNow): readonly CompiledRule[] {
  const disputed = onBothLists(rules);
  if (disputed.size === 0) return rules;
  const declaring = new Map([...disputed].map((entry) => [entry, [] as CompiledRule[]]));
  for (const rule of rules) for (const entry of disputed.intersection(rule.entries)) declaring.get(entry)?.push(rule);
  const holderOf = holderIn(rules, now);
  const winners = new Map<Entry, CompiledRule | undefined>();
  for (const [entry, all] of declaring) {
    const owners = all.filter(({ isOwners }) => isOwners);
    const candidates = owners.length > 0 ? owners : all;
    const holding = holderOf(entry);
    winners.set(entry, candidates.find(({ list }) => list === holding) ?? candidates[0]);
  }
  return rules.map((rule) =>
    withoutLost(rule, (entry) => {
      const winner = winners.get(entry);
      return winner === undefined || winner.list === rule.list ? undefined : lostTo(entry, winner, rule);
    }),
  );
}

/** The entries that are declared for both lists. */
function onBothLists(rules: readonly CompiledRule[]): ReadonlySet<Entry> {
  const setsOf = (list: ListName) => rules.flatMap((rule) => (rule.list === list ? [rule.entries] : []));
  const allowed = new Set(setsOf("allowlist").flatMap((entries) => [...entries]));
  return new Set(setsOf("blocklist").flatMap((entries) => [...allowed.intersection(entries)]));
}

/**
 * Finds the list that holds a declared entry. It does not matter whether the entry on the list is managed: the record may be lost, or a
 * deleted rule may have retained the entry. A recorded entry need not be on the list: the read may be stale, or it was evicted.
 */
function holderIn(
  rules: readonly CompiledRule[],
  { managed, shown }: ListsNow,
): (entry: Entry) => ListName | undefined {
  if (managed === undefined) return () => undefined;
  const recorded = eachList((list) => managedAround(managed[list]));
  const aggregated = rules.filter(({ widest }) => widest !== undefined);
  const isShown = (list: ListName, entry: Entry): boolean => {
    if (shown === undefined || shown[list].has(entry)) return shown !== undefined;
    const isMerged = aggregated.some((rule) => rule.list === list && rule.entries.has(entry));
    return isMerged && networksAround(entry).some((network) => shown[list].has(network));
  };
  return (entry) => listNames.find((list) => isShown(list, entry) || recorded[list](entry).length > 0);
}

/** The rule without the entries that lose against another rule, which it reports as rejected. @param whyLost undefined if it stays */
function withoutLost(rule: CompiledRule, whyLost: (entry: Entry) => string | undefined): CompiledRule {
  const reported: RejectedEntry[] = [];
  for (const entry of rule.entries) {
    const message = whyLost(entry);
    if (message === undefined) continue;
    const source = placeOf(rule, entry);
    const isOfFeed = rule.parts.some((part) => part.isOfFeed === true && part.source === source);
    reported.push({ entry, source, message, ...(isOfFeed && { isOfFeed }) });
  }
  if (reported.length === 0) return rule;
  const gone = new Set<string>(reported.map(({ entry }) => entry));
  const entries = new Set([...rule.entries].filter((entry) => !gone.has(entry)));
  const rejected = [...rule.rejected, ...reported];
  if (rule.verdict === "InvalidEntries") {
    return { ...rule, entries, rejected, message: describeRejected(faultsIn(rejected)) };
  }
  const mine = faultsIn(reported);
  if (rule.verdict !== "Accepted" || mine.length === 0) return { ...rule, entries, rejected };
  return { ...rule, entries, rejected, verdict: "Conflict", message: describeRejected(mine) };
}

function lostTo(entry: Entry, { rule, id }: CompiledRule, loser: CompiledRule): string {
  const action = `with action ${rule.action}`;
  const mayName = loser.isOwners || rule.meta.namespace === loser.rule.meta.namespace;
  return mayName
    ? `${entry} is also in ${ruleLabel(id)} ${action}, which takes precedence: remove it from one of the two rules.`
    : `A rule of another namespace ${action} also declares ${entry} and takes precedence: remove it from this rule, or ask the owner of the instance.`;
}

/** Removes rejected entries from guests' rules. The rules are ordered oldest first, without conflicts about the same entry. */
export function protectOthers(rules: readonly CompiledRule[], { managed, shown }: ListsNow): readonly CompiledRule[] {
  if (rules.every(({ isOwners }) => isOwners)) return rules;
  const ofOwner = entriesOf(rules.filter(({ isOwners, list }) => isOwners && list === "allowlist"));
  const owners = new NetworkIndex(ofOwner);
  const allowed = entriesOf(rules.filter(({ isOwners, list }) => !isOwners && list === "allowlist"));
  const sentAs = managed === undefined ? () => [] : managedAround(managed.allowlist);
  const blocked = allowed.length === 0 ? undefined : blockedNear(allowed, rules);
  return rules.map((rule) => {
    if (rule.isOwners || rule.entries.size === 0) return rule;
    if (rule.list === "blocklist") {
      if (ofOwner.length === 0) return rule;
      return refusing(rule, (entry) => owners.containing(entry) !== undefined, "allowed");
    }
    const { namespace } = rule.rule.meta;
    const isHeld = (entry: Entry): boolean => sentAs(entry).some((sent) => shown?.allowlist.has(sent) !== false);
    const lifts = (entry: Entry): boolean =>
      blocked?.ofOwner.overlaps(entry) !== undefined ||
      (!isHeld(entry) && blocked?.isOfOthers(entry, namespace) === true);
    return refusing(rule, lifts, "blocked");
  });
}

interface Blocked {
  readonly ofOwner: NetworkIndex;
  readonly isOfOthers: ReturnType<typeof overlappingOthers>;
}

/** Block entries that overlap Allow entries of guests: few, regardless of the size of the lists. */
function blockedNear(allowed: readonly Entry[], rules: readonly CompiledRule[]): Blocked {
  const near = new NetworkIndex(allowed);
  const ofOwner: Entry[] = [];
  const ofGuests: EntryOf[] = [];
  for (const { list, isOwners, rule, entries } of rules) {
    if (list !== "blocklist") continue;
    for (const entry of entries) {
      if (near.overlaps(entry) === undefined) continue;
      if (isOwners) ofOwner.push(entry);
      else ofGuests.push({ entry, namespace: rule.meta.namespace });
    }
  }
  return { ofOwner: new NetworkIndex(ofOwner), isOfOthers: overlappingOthers(ofGuests, allowed) };
}

function refusing(rule: CompiledRule, isRefused: (entry: Entry) => boolean, how: "allowed" | "blocked"): CompiledRule {
  return withoutLost(rule, (entry) =>
    isRefused(entry)
      ? `Addresses in ${entry} are ${how} by a rule of another namespace: write entries that leave them out, or ask the owner of the instance.`
      : undefined,
  );
}

function entriesOf(rules: readonly CompiledRule[]): Entry[] {
  return rules.flatMap(({ entries }) => [...entries]);
}

export interface EntryOf {
  readonly entry: Entry;
  readonly namespace: string;
}

/**
 * Finds out whether entries of other namespaces share an address with an entry, at the cost of sorting them all once.
 * @param asked the entries that may be looked up
 */
export function overlappingOthers(
  entries: readonly EntryOf[],
  asked: readonly Entry[],
): (entry: Entry, namespace: string) => boolean {
  const containers = narrowestContainers([...asked, ...entries.map(({ entry }) => entry)]);
  /** The entry and all that contain it, narrowest first. */
  function* around(entry: Entry): Generator<Entry, void> {
    for (let at: Entry | undefined = entry; at !== undefined; at = containers.get(at)) yield at;
  }
  // The namespaces of the entry itself, and with those of all entries inside it. Two always include another one, so no more are kept.
  const own = new Map<Entry, Set<string>>();
  const inside = new Map<Entry, Set<string>>();
  for (const { entry, namespace } of entries) {
    keep(own, entry, namespace);
    // Whatever one entry keeps already, all those around it keep, too.
    for (const one of around(entry)) if (!keep(inside, one, namespace)) break;
  }
  return (entry, namespace) => {
    const isOther = (namespaces: Iterable<string> = []): boolean => [...namespaces].some((one) => one !== namespace);
    return around(entry).some((one) => isOther(own.get(one))) || isOther(inside.get(entry));
  };
}

/** False if that changes nothing. */
function keep(namespaces: Map<Entry, Set<string>>, entry: Entry, namespace: string): boolean {
  const kept = namespaces.get(entry) ?? new Set<string>();
  namespaces.set(entry, kept);
  if (kept.size === 2 || kept.has(namespace)) return false;
  kept.add(namespace);
  return true;
}
