// The book of one list has its rows: which rules declare each entry, what the list shows, and what the record says. It keeps the set of
// rows whose columns disagree, which are all that a plan has to visit. Three calls update it, and each visits only what it changes:
//
//   rulesChanged   the rules were compiled again
//   listRead       the list was read, or written to
//   recordSaved    the record was loaded or saved
import type { Entry } from "../address/entry.ts";
import { type EntryOwner, type EntryOwners, writeOwners, ownerOfRule } from "../model/rule-id.ts";
import type { OwnedEntry } from "../model/inventory.ts";
import type { ObservedEntries } from "../model/observed.ts";
import { type CompiledRule, isDerived } from "./compiled-rule.ts";

/** What the record must say of a declared entry. */
export interface WantedBy {
  readonly owners: EntryOwners;
  /** The rules that retain the entry, as in a record. */
  readonly retainedBy: string | undefined;
  /** How many declared entries it covers, as in a record. */
  readonly lines?: number;
}

/** Whether the record matches the declarations, and its entry does not count as missing. */
export function isOf(record: OwnedEntry, { owners, retainedBy, lines }: WantedBy): boolean {
  return (
    record.owners === owners &&
    record.retainedBy === retainedBy &&
    record.lines === lines &&
    record.missingSinceMs === undefined
  );
}

/** The retaining rules as in a record; undefined if there are none. */
export function joinRetainers(ids: readonly string[]): string | undefined {
  return ids.length === 0 ? undefined : [...new Set(ids)].toSorted().join(",");
}

/** The rules that declare an entry: one object for all entries that the same rules declare. */
export class Declarers {
  readonly ids: readonly string[];
  /** Oldest first. */
  rules: readonly CompiledRule[] = [];
  /** The number of its entries. */
  count = 0;
  /** By the sources that contain the entry, and the number of merged entries. */
  readonly #known = new Map<string, WantedBy>();
  /** If every rule has a single source, and nothing is merged, so that it is the same for all entries. */
  #always: WantedBy | undefined;

  /** @param ids of the rules, sorted */
  constructor(ids: readonly string[]) {
    this.ids = ids;
  }

  /** The same rules were compiled again. */
  compiled(rules: readonly CompiledRule[]): void {
    this.rules = rules;
    this.#known.clear();
    const isSimple = rules.every(({ parts, lines }) => parts.length <= 1 && lines.size === 0);
    this.#always = isSimple ? this.#wantedOf(rules.flatMap(ownersOf), 0) : undefined;
  }

  wantedBy(entry: Entry): WantedBy {
    if (this.#always !== undefined) return this.#always;
    // A network that is left of several entries, or merged, may come from any source of its rule, so all of them own it.
    const owners = this.rules.flatMap((rule) => {
      const { parts } = rule;
      return ownersOf(rule).filter((_, index) => isDerived(rule) || parts[index]?.entries.has(entry) === true);
    });
    const lines = Math.max(0, ...this.rules.map((rule) => rule.lines.get(entry) ?? 0));
    const key = `${lines} ${owners.map(({ name, source }) => `${name} ${source ?? ""}`).join("\n")}`;
    const known = this.#known.get(key) ?? this.#wantedOf(owners, lines);
    this.#known.set(key, known);
    return known;
  }

  #wantedOf(owners: readonly EntryOwner[], lines: number): WantedBy {
    const retainedBy = joinRetainers(
      this.rules.flatMap(({ id, rule }) => (rule.deletionPolicy === "Retain" ? [id] : [])),
    );
    return { owners: writeOwners(owners), retainedBy, ...(lines === 0 ? {} : { lines }) };
  }
}

function ownersOf({ id, parts }: CompiledRule): EntryOwner[] {
  return parts.map(({ source }) => ownerOfRule(id, source));
}

export class Book {
  readonly #declared = new Map<Entry, Declarers>();
  readonly #open = new Set<Entry>();
  /** The rules with entries, by ID, oldest first. */
  #rules: ReadonlyMap<string, CompiledRule> = new Map();
  #ages: ReadonlyMap<string, number> = new Map();
  #shown: ObservedEntries = new Map();
  #recorded: ReadonlyMap<Entry, OwnedEntry> = new Map();
  readonly #declarers = new Map<string, Declarers>();
  /** Entries of the same rules are nearly always adjacent. */
  #lastMove: readonly [from: Declarers | undefined, id: string, to: Declarers | undefined] | undefined;

  /** The rules that declare each entry. */
  get declared(): ReadonlyMap<Entry, Declarers> {
    return this.#declared;
  }

  /** The entries whose columns disagree: all but those that are declared, shown, and recorded as they must be. */
  get open(): ReadonlySet<Entry> {
    return this.#open;
  }

  /** @param rules of this list, oldest first */
  rulesChanged(rules: readonly CompiledRule[]): void {
    const before = this.#rules;
    const now = new Map(rules.flatMap((rule) => (rule.entries.size > 0 ? [[rule.id, rule] as const] : [])));
    this.#rules = now;
    this.#ages = new Map([...now.keys()].map((id, age) => [id, age]));
    for (const declarers of this.#declarers.values()) declarers.compiled(this.#rulesOf(declarers));
    for (const [id, { entries }] of before) {
      const kept = now.get(id)?.entries;
      if (kept === entries) continue;
      for (const entry of entries) if (kept?.has(entry) !== true) this.#move(entry, id, without);
    }
    for (const [id, rule] of now) {
      const { entries } = rule;
      const former = before.get(id);
      if (former?.entries !== entries) {
        for (const entry of entries) if (former?.entries.has(entry) !== true) this.#move(entry, id, withId);
      }
      if (former !== undefined && !isRecordedAlike(former, rule)) for (const entry of entries) this.#check(entry);
    }
    this.#lastMove = undefined;
    for (const [key, { count }] of this.#declarers) if (count === 0) this.#declarers.delete(key);
  }

  listRead(shown: ObservedEntries): void {
    const before = this.#shown;
    if (shown === before) return;
    this.#shown = shown;
    for (const entry of shown.keys()) if (!before.has(entry)) this.#check(entry);
    for (const entry of before.keys()) if (!shown.has(entry)) this.#check(entry);
  }

  recordSaved(recorded: ReadonlyMap<Entry, OwnedEntry>): void {
    const before = this.#recorded;
    if (recorded === before) return;
    this.#recorded = recorded;
    for (const [entry, record] of recorded) if (before.get(entry) !== record) this.#check(entry);
    for (const entry of before.keys()) if (!recorded.has(entry)) this.#check(entry);
  }

  #check(entry: Entry, declarers = this.#declared.get(entry)): void {
    const record = this.#recorded.get(entry);
    const isShown = this.#shown.has(entry);
    const agrees =
      declarers === undefined
        ? !isShown && record === undefined
        : isShown && record !== undefined && isOf(record, declarers.wantedBy(entry));
    if (agrees) this.#open.delete(entry);
    else this.#open.add(entry);
  }

  #move(entry: Entry, id: string, change: (ids: readonly string[], id: string) => readonly string[]): void {
    const from = this.#declared.get(entry);
    const last = this.#lastMove;
    const to = last?.[0] === from && last?.[1] === id ? last[2] : this.#declarersOf(change(from?.ids ?? [], id));
    this.#lastMove = [from, id, to];
    if (from !== undefined) from.count -= 1;
    if (to === undefined) this.#declared.delete(entry);
    else {
      to.count += 1;
      this.#declared.set(entry, to);
    }
    this.#check(entry, to);
  }

  #declarersOf(ids: readonly string[]): Declarers | undefined {
    if (ids.length === 0) return undefined;
    const key = ids.join(",");
    let declarers = this.#declarers.get(key);
    if (declarers === undefined) {
      declarers = new Declarers(ids);
      declarers.compiled(this.#rulesOf(declarers));
      this.#declarers.set(key, declarers);
    }
    return declarers;
  }

  /** Without those that are gone. */
  #rulesOf({ ids }: Declarers): readonly CompiledRule[] {
    const [only] = ids;
    const age = (id: string): number => this.#ages.get(id) ?? 0;
    const oldestFirst = ids.length === 1 && only !== undefined ? [only] : ids.toSorted((a, b) => age(a) - age(b));
    return oldestFirst.flatMap((id) => this.#rules.get(id) ?? []);
  }
}

function withId(ids: readonly string[], id: string): readonly string[] {
  return ids.length === 0 ? [id] : [...ids, id].toSorted();
}

function without(ids: readonly string[], id: string): readonly string[] {
  return ids.filter((other) => other !== id);
}

/** Whether the record of all entries of the rule stays the same. */
function isRecordedAlike(a: CompiledRule, b: CompiledRule): boolean {
  return (
    a.lines === b.lines &&
    isDerived(a) === isDerived(b) &&
    a.rule.deletionPolicy === b.rule.deletionPolicy &&
    a.parts.length === b.parts.length &&
    a.parts.every(({ source, entries }, index) => {
      const part = b.parts[index];
      // All entries of a single source have the same owner.
      return part !== undefined && part.source === source && (b.parts.length === 1 || part.entries === entries);
    })
  );
}
