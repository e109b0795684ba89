// The last step of compiling rules: the entries of a rule with `aggregate: true` are merged into the smallest set of networks with
// exactly the same addresses. Guards and conflicts have checked the entries as they are written. Some entries stay as they are:
//
// - those that share addresses with an entry of the other list, because a WAF may let the narrower entry decide;
// - those that expire by themselves, as in a CrowdSec feed: their neighbors may not expire with them;
// - those that the rule adopts, because they are on the list already;
// - those that only the record says it declares: they may be merged networks.
import { aggregate, NetworkIndex, networksAround } from "../address/ranges.ts";
import type { ListName, PrefixLengths } from "../model/declared.ts";
import type { Entry } from "../address/entry.ts";
import type { Inventory, OwnedEntry } from "../model/inventory.ts";
import type { Observed } from "../model/observed.ts";
import type { CompiledRule } from "./compiled-rule.ts";
import type { Books } from "./desired.ts";
import { asksToAdopt } from "./ownership.ts";

export interface ListsNow {
  /** The managed entries, if known. */
  readonly managed: Inventory["entries"] | undefined;
  /** The entries on the lists, if known. */
  readonly shown: Observed["lists"] | undefined;
}

/** What aggregating one rule gives. */
export type Aggregated = Pick<CompiledRule, "entries" | "written" | "lines">;

export function aggregateRules(
  rules: readonly CompiledRule[],
  now: ListsNow,
  { aggregated, others }: Pick<Books, "aggregated" | "others">,
): readonly CompiledRule[] {
  if (rules.every(({ widest }) => widest === undefined)) return rules;
  const othersOf = (list: ListName): NetworkIndex => {
    const sets = rules.flatMap((rule) => (rule.list !== list && rule.entries.size > 0 ? [rule.entries] : []));
    return others.of(list, sets, () => new NetworkIndex(sets.flatMap((set) => [...set])));
  };
  return rules.map((rule) => {
    const { id, list, widest, entries } = rule;
    if (widest === undefined || entries.size === 0) return rule;
    const adopted = asksToAdopt(rule.rule.meta) ? adoptedAmong(entries, list, now) : noEntries;
    const index = othersOf(list);
    const inputs = [entries, index, widest.ipv4, widest.ipv6, ...adopted];
    return { ...rule, ...aggregated.of(id, inputs, () => aggregateRule(rule, widest, index, adopted)) };
  });
}

/** @param others the entries of the other list */
function aggregateRule(
  { entries, parts, remembered, lines }: CompiledRule,
  widest: PrefixLengths,
  others: NetworkIndex,
  adopted: ReadonlySet<Entry>,
): Aggregated {
  const ends = parts.flatMap(({ ending }) => ending ?? []);
  const stays = (entry: Entry): boolean =>
    adopted.has(entry) ||
    remembered.has(entry) ||
    ends.some((ending) => ending.has(entry)) ||
    others.overlaps(entry) !== undefined;
  const { true: kept = [], false: merging = [] } = Object.groupBy(entries, (entry) =>
    stays(entry) ? "true" : "false",
  );
  const merged = aggregate(merging, widest);
  return { entries: new Set([...kept, ...merged.entries]), written: entries, lines: joined(lines, merged.lines) };
}

function joined(a: CompiledRule["lines"], b: CompiledRule["lines"]): CompiledRule["lines"] {
  return a.size === 0 ? b : new Map([...a, ...b]);
}

const noEntries: ReadonlySet<Entry> = new Set();

/** Entries that another writer put on the list, and that become or are managed where they are. */
function adoptedAmong(entries: ReadonlySet<Entry>, list: ListName, { managed, shown }: ListsNow): ReadonlySet<Entry> {
  const isAdopted = (entry: Entry): boolean => {
    const manner = managed?.[list].get(entry)?.manner;
    return manner === "Adopted" || (manner === undefined && shown?.[list].has(entry) === true);
  };
  return new Set([...entries].filter(isAdopted));
}

/** Finds the managed entries that contain a declared one: itself, or networks that it was merged into. */
export function managedAround(owned: ReadonlyMap<Entry, OwnedEntry>): (entry: Entry) => readonly Entry[] {
  let merged: NetworkIndex | undefined;
  return (entry) => {
    merged ??= new NetworkIndex(mergedIn(owned));
    const isMerged = merged.overlaps(entry) !== undefined;
    const around = isMerged ? networksAround(entry).filter((one) => owned.get(one)?.lines !== undefined) : [];
    return owned.has(entry) ? [entry, ...around] : around;
  };
}

function* mergedIn(owned: ReadonlyMap<Entry, OwnedEntry>): Generator<Entry, void> {
  for (const [entry, { lines }] of owned) if (lines !== undefined) yield entry;
}
