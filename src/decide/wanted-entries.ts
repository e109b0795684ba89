// Determines which rules declare each entry of a list. If a list was compiled before, only the entries of changed rules are checked.
import type { ListName } from "../model/declared.ts";
import type { Entry } from "../address/entry.ts";
import { withChanges } from "../model/overlaid-map.ts";
import type { CompiledRule } from "./compiled-rule.ts";

export type WantedEntries = ReadonlyMap<Entry, readonly CompiledRule[]>;

/** The IDs of the rules that declare an entry: the same object for all entries of the same rules. */
export type Wanting = readonly string[];

/** The part that depends only on the IDs and entries of the rules. */
export interface WantedNames {
  /** The IDs are in any order. */
  readonly byEntry: ReadonlyMap<Entry, Wanting>;
  /** By the ID of the rule; without rules that have no entries. */
  readonly sets: ReadonlyMap<string, ReadonlySet<Entry>>;
  readonly combinations: Combinations;
  /** If there are more combinations, the list is compiled from scratch. */
  readonly combinationsMax: number;
}

/** Compiles the lists of one instance, and caches the latest results. */
export class WantedLists {
  readonly #last = new Map<ListName, WantedNames>();

  /** `rules` are ordered oldest first. */
  on(list: ListName, rules: readonly CompiledRule[]): WantedEntries {
    const wanting = rules.filter((rule) => rule.list === list && rule.entries.size > 0);
    const sets = new Map(wanting.map(({ id, entries }) => [id, entries]));
    const last = this.#last.get(list);
    const names = (last === undefined ? undefined : changedNames(last, sets)) ?? freshNames(sets);
    this.#last.set(list, names);
    return new Wanted(names, wanting);
  }
}

/** A map with the same keys, which is the same object as long as the keys are the same. */
export function keysOf(wanted: WantedEntries): ReadonlyMap<Entry, unknown> {
  return wanted instanceof Wanted ? wanted.names.byEntry : wanted;
}

/** The rules that declare any of the entries. */
export function rulesIn(wanted: WantedEntries): Iterable<CompiledRule> {
  return wanted instanceof Wanted ? wanted.rules : new Set([...wanted.values()].flat());
}

/** The lists that `WantedLists` returned; undefined for another map. */
export function compiledIn(wanted: WantedEntries): Wanted | undefined {
  return wanted instanceof Wanted ? wanted : undefined;
}

/** Combinations of rules that no longer exist are dropped when the list is compiled from scratch. */
const spareCombinationsMax = 1_000;

/** One shared object for each combination of rules, so that entries are compared by identity. */
class Combinations {
  #size = 0;
  readonly #single = new Map<string, Wanting>();
  readonly #joined = new Map<Wanting, Map<string, Wanting>>();

  of(id: string): Wanting {
    const known = this.#single.get(id);
    if (known !== undefined) return known;
    const only = [id];
    this.#size += 1;
    this.#single.set(id, only);
    return only;
  }

  with(wanting: Wanting | undefined, id: string): Wanting {
    if (wanting === undefined) return this.of(id);
    const known = this.#joined.get(wanting)?.get(id);
    if (known !== undefined) return known;
    const joined = [...wanting, id];
    this.#size += 1;
    const ofWanting = this.#joined.get(wanting) ?? new Map<string, Wanting>();
    this.#joined.set(wanting, ofWanting.set(id, joined));
    return joined;
  }

  get size(): number {
    return this.#size;
  }

  /** Undefined if no rule is left. */
  without(wanting: Wanting, id: string): Wanting | undefined {
    let left: Wanting | undefined;
    for (const other of wanting) if (other !== id) left = this.with(left, other);
    return left;
  }
}

function freshNames(sets: WantedNames["sets"]): WantedNames {
  const combinations = new Combinations();
  const byEntry = new Map<Entry, Wanting>();
  for (const [id, entries] of sets) {
    const only = combinations.of(id);
    for (const entry of entries) {
      const others = byEntry.get(entry);
      byEntry.set(entry, others === undefined ? only : combinations.with(others, id));
    }
  }
  return { byEntry, sets, combinations, combinationsMax: combinations.size * 2 + spareCombinationsMax };
}

/** Undefined if so much has changed that compiling from scratch is as fast. */
function changedNames(last: WantedNames, sets: WantedNames["sets"]): WantedNames | undefined {
  const { byEntry, combinations, combinationsMax } = last;
  const ids = [...new Set([...last.sets.keys(), ...sets.keys()])].filter((id) => last.sets.get(id) !== sets.get(id));
  if (ids.length === 0) return last;
  const changes = new Map<Entry, Wanting | undefined>();
  const changesMax = byEntry.size;
  const now = (entry: Entry): Wanting | undefined => (changes.has(entry) ? changes.get(entry) : byEntry.get(entry));
  for (const id of ids) {
    const before = last.sets.get(id);
    const after = sets.get(id);
    for (const entry of before ?? []) {
      const wanting = now(entry);
      if (after?.has(entry) !== true && wanting !== undefined) changes.set(entry, combinations.without(wanting, id));
    }
    for (const entry of after ?? []) {
      if (before?.has(entry) !== true) changes.set(entry, combinations.with(now(entry), id));
    }
    if (changes.size > changesMax || combinations.size > combinationsMax) return undefined;
  }
  return { ...last, byEntry: withChanges(byEntry, changes), sets };
}

export class Wanted implements WantedEntries {
  readonly names: WantedNames;
  /** By ID, oldest first. */
  readonly #rules: ReadonlyMap<string, CompiledRule>;
  readonly #known = new Map<Wanting, readonly CompiledRule[]>();

  constructor(names: WantedNames, rules: readonly CompiledRule[]) {
    this.names = names;
    this.#rules = new Map(rules.map((rule) => [rule.id, rule]));
  }

  /** Oldest first. */
  get rules(): Iterable<CompiledRule> {
    return this.#rules.values();
  }

  get size(): number {
    return this.names.byEntry.size;
  }

  has(entry: Entry): boolean {
    return this.names.byEntry.has(entry);
  }

  get(entry: Entry): readonly CompiledRule[] | undefined {
    const wanting = this.names.byEntry.get(entry);
    return wanting === undefined ? undefined : this.rulesOf(wanting);
  }

  keys(): MapIterator<Entry> {
    return this.names.byEntry.keys();
  }

  *values(): MapIterator<readonly CompiledRule[]> {
    for (const wanting of this.names.byEntry.values()) yield this.rulesOf(wanting);
  }

  *entries(): MapIterator<[Entry, readonly CompiledRule[]]> {
    for (const [entry, wanting] of this.names.byEntry) yield [entry, this.rulesOf(wanting)];
  }

  [Symbol.iterator](): MapIterator<[Entry, readonly CompiledRule[]]> {
    return this.entries();
  }

  forEach(act: (rules: readonly CompiledRule[], entry: Entry, map: WantedEntries) => void): void {
    for (const [entry, wanting] of this.names.byEntry) act(this.rulesOf(wanting), entry, this);
  }

  /** Oldest first, without rules that no longer declare anything. */
  rulesOf(wanting: Wanting): readonly CompiledRule[] {
    const known = this.#known.get(wanting);
    if (known !== undefined) return known;
    const [only] = wanting;
    const rule = only === undefined || wanting.length > 1 ? undefined : this.#rules.get(only);
    const rules = rule === undefined ? this.#inOrder(wanting) : [rule];
    this.#known.set(wanting, rules);
    return rules;
  }

  #inOrder(wanting: Wanting): readonly CompiledRule[] {
    const wanted = new Set(wanting);
    return [...this.#rules.values()].filter(({ id }) => wanted.has(id));
  }
}
