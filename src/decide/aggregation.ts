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
import { asksToAdopt } from "./ownership.ts";

export interface ListsNow {
  /** The managed entries, if known. */
  readonly managed: Inventory["entries"] | undefined;
  /** The entries on the lists, if known. */
  readonly shown: Observed["lists"] | undefined;
}

interface Done {
  readonly entries: ReadonlySet<Entry>;
  readonly widest: PrefixLengths;
  readonly others: NetworkIndex;
  readonly adopted: ReadonlySet<Entry>;
  readonly result: Pick<CompiledRule, "entries" | "written" | "lines">;
}

/** Aggregates the rules of one instance, and caches the latest results. */
export class Aggregation {
  readonly #done = new Map<string, Done>();
  readonly #others = new Map<
    ListName,
    { readonly sets: readonly ReadonlySet<Entry>[]; readonly index: NetworkIndex }
  >();

  apply(rules: readonly CompiledRule[], now: ListsNow): readonly CompiledRule[] {
    if (rules.every(({ widest }) => widest === undefined)) return rules;
    return rules.map((rule) => {
      const { widest, entries } = rule;
      if (widest === undefined || entries.size === 0) return rule;
      return { ...rule, ...this.#resultFor(rule, widest, now, this.#othersOf(rule.list, rules)) };
    });
  }

  #resultFor(
    { id, list, rule, entries, parts, remembered, lines }: CompiledRule,
    widest: PrefixLengths,
    now: ListsNow,
    others: NetworkIndex,
  ): Done["result"] {
    const adopted = asksToAdopt(rule.meta) ? adoptedAmong(entries, list, now) : noEntries;
    const known = this.#done.get(id);
    const isSame =
      known?.entries === entries &&
      known.others === others &&
      known.widest.ipv4 === widest.ipv4 &&
      known.widest.ipv6 === widest.ipv6 &&
      known.adopted.size === adopted.size &&
      [...adopted].every((entry) => known.adopted.has(entry));
    if (isSame) return known.result;
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
    const made = {
      entries: new Set([...kept, ...merged.entries]),
      written: entries,
      lines: joined(lines, merged.lines),
    };
    this.#done.set(id, { entries, widest, others, adopted, result: made });
    return made;
  }

  /** The entries of the other list. */
  #othersOf(list: ListName, rules: readonly CompiledRule[]): NetworkIndex {
    const sets = rules.flatMap((rule) => (rule.list !== list && rule.entries.size > 0 ? [rule.entries] : []));
    const known = this.#others.get(list);
    if (known?.sets.length === sets.length && known.sets.every((set, index) => set === sets[index])) return known.index;
    const index = new NetworkIndex(sets.flatMap((set) => [...set]));
    this.#others.set(list, { sets, index });
    return index;
  }
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
export class SentAs {
  readonly #owned: ReadonlyMap<Entry, OwnedEntry>;
  #merged: NetworkIndex | undefined;

  constructor(owned: ReadonlyMap<Entry, OwnedEntry>) {
    this.#owned = owned;
  }

  of(entry: Entry): readonly Entry[] {
    this.#merged ??= new NetworkIndex(mergedIn(this.#owned));
    const isMerged = this.#merged.overlaps(entry) !== undefined;
    const around = isMerged ? networksAround(entry).filter((one) => this.#owned.get(one)?.lines !== undefined) : [];
    return this.#owned.has(entry) ? [entry, ...around] : around;
  }
}

function* mergedIn(owned: ReadonlyMap<Entry, OwnedEntry>): Generator<Entry, void> {
  for (const [entry, { lines }] of owned) if (lines !== undefined) yield entry;
}
