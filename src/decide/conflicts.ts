// Resolves conflicts of the same canonical entry in Block and Allow. In this order:
//
// 1. a rule in the instance's own namespace takes precedence over a guest's;
// 2. Block, if the blocklist shows the entry or the record has it, so that no Allow rule lifts an existing block;
// 3. Allow, if the allowlist shows the entry or the record has it;
// 4. the older rule, then the first by name.
//
// The others report the conflict. Within a namespace, a narrower network inside a wider one on the other list is not a conflict:
// this is how exceptions are written. For other namespaces, see `protectOthers`.
import { networksAround } from "../address/ranges.ts";
import { eachList, type ListName, listNames } from "../model/declared.ts";
import type { Entry } from "../address/entry.ts";
import { ruleLabel } from "../model/rule-id.ts";
import { type ListsNow, SentAs } from "./aggregation.ts";
import { type CompiledRule, describeRejected, faultsIn, placeOf } from "./compiled-rule.ts";
import type { RejectedEntry } from "./rule-entries.ts";

export interface SettledConflicts {
  readonly rules: readonly CompiledRule[];
  /** True if an entry is declared for both lists: then the result depends on which entries are managed. */
  readonly hasConflicts: boolean;
}

interface Winner {
  readonly rule: CompiledRule;
  /** Why it takes precedence over a rule of the other list. */
  readonly why: "Owner" | "Holder" | "First";
}

/** Removes the losing entries from their rules. `rules` and the result are ordered oldest first. */
export function settleConflicts(rules: readonly CompiledRule[], now: ListsNow): SettledConflicts {
  const actions = new Set(rules.map((rule) => rule.list));
  if (actions.size < 2) return { rules, hasConflicts: false };
  const disputed = onBothLists(rules);
  const winners = new Map<Entry, Winner>();
  const holderOf = holderIn(rules, now);
  let hasConflicts = false;
  for (const rule of disputed.size === 0 ? [] : rules) {
    const first: Winner = { rule, why: "First" };
    for (const entry of rule.entries) {
      if (!disputed.has(entry)) continue;
      const other = winners.get(entry);
      if (other === undefined) winners.set(entry, first);
      // The owner's rule represents both: a guest's rule would not count against another rule of the owner.
      else if (rule.isOwners && !other.rule.isOwners && other.rule.list === rule.list) winners.set(entry, first);
      if (other === undefined || other.rule.list === rule.list) continue;
      hasConflicts = true;
      if (rule.isOwners !== other.rule.isOwners) {
        winners.set(entry, { rule: rule.isOwners ? rule : other.rule, why: "Owner" });
        continue;
      }
      const holding = holderOf(entry);
      if (holding === undefined) continue;
      winners.set(entry, { rule: holding === rule.list ? rule : other.rule, why: "Holder" });
    }
  }
  if (!hasConflicts) return { rules, hasConflicts };
  const settled = rules.map((rule) =>
    withoutLost(rule, (entry) => {
      const winner = winners.get(entry);
      return winner === undefined || winner.rule.list === rule.list ? undefined : lostTo(entry, winner, rule);
    }),
  );
  return { rules: settled, hasConflicts };
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
  const recorded = eachList((list) => new SentAs(managed[list]));
  const aggregated = rules.filter(({ widest }) => widest !== undefined);
  const isShown = (list: ListName, entry: Entry): boolean => {
    if (shown === undefined || shown[list].has(entry)) return shown !== undefined;
    const isMerged = aggregated.some((rule) => rule.list === list && rule.entries.has(entry));
    return isMerged && networksAround(entry).some((network) => shown[list].has(network));
  };
  return (entry) => listNames.find((list) => isShown(list, entry) || recorded[list].of(entry).length > 0);
}

/** The rule without the entries that lose against another rule, which it reports as rejected. @param whyLost undefined if it stays */
export function withoutLost(rule: CompiledRule, whyLost: (entry: Entry) => string | undefined): CompiledRule {
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

function lostTo(entry: Entry, { rule: winner, why }: Winner, loser: CompiledRule): string {
  const mayName = loser.isOwners || winner.rule.meta.namespace === loser.rule.meta.namespace;
  if (!mayName) {
    const { action } = winner.rule;
    return `A rule of another namespace with action ${action} also declares ${entry} and takes precedence: remove it from this rule, or ask the owner of the instance.`;
  }
  const isOlder = (winner.rule.meta.createdAtMs ?? 0) < (loser.rule.meta.createdAtMs ?? 0);
  const name = `${ruleLabel(winner.id)} with action ${winner.rule.action}`;
  const remedy = "remove it from one of the two rules.";
  if (why === "Owner")
    return `${entry} is also in ${name} of the instance's own namespace, which takes precedence: ${remedy}`;
  if (why === "Holder") return `${name} already has ${entry} on the ${winner.list}: ${remedy}`;
  return `${entry} is also in ${isOlder ? "the older " : ""}${name}${isOlder ? "" : ", whose name sorts first"}: ${remedy}`;
}
