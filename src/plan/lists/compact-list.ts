// The entries that belong on a list after compaction, and the declared entries that each of them represents.
//
// Each namespace is compacted separately, and so is each rule that retains its entries, as if there were no other rules. The list
// contains the union of the results. So no entry relies on declarations of another namespace, and none has to wait until an entry
// of another namespace is added again.
import type { Compaction, PrefixLengths } from "../../model/declared.ts";
import type { Entry } from "../../model/entry.ts";
import type { CompiledRule } from "./compiled-rule.ts";
import { type Covers, type Terms, compactEntries, noCovers } from "./compact-entries.ts";

type WantedEntries = ReadonlyMap<Entry, readonly CompiledRule[]>;

export interface CompactedList {
  /** The entries that belong on the list, with the rules that need them there: never an empty array. */
  readonly sent: WantedEntries;
  /** The declared entries that a sent entry stands for, itself included. Absent if it stands only for itself. */
  readonly standsFor: ReadonlyMap<Entry, readonly Entry[]>;
  /** The sent entry that an entry of the rule relies on; undefined if it is sent itself. */
  readonly coverOf: (rule: CompiledRule, entry: Entry) => Entry | undefined;
}

export interface ListCompaction {
  readonly mode: Compaction;
  /** All rules of the list, and all entries that they declare. */
  readonly rules: readonly CompiledRule[];
  readonly wanted: WantedEntries;
  /** The rules of the other list. */
  readonly others: readonly CompiledRule[];
  /** The widest merged networks of a namespace. */
  readonly widestOf: (namespace: string) => PrefixLengths;
}

/** The list as declared. */
export function uncompacted(wanted: WantedEntries): CompactedList {
  return { sent: wanted, standsFor: new Map(), coverOf: () => undefined };
}

export function compactList({ mode, rules, wanted, others, widestOf }: ListCompaction): CompactedList {
  if (mode === "None") return uncompacted(wanted);
  const groups = Map.groupBy(
    rules.filter(({ entries, judged }) => entries.size > 0 && judged === undefined),
    groupOf,
  );
  const otherSets = others.flatMap(({ entries }) => (entries.size > 0 ? [entries] : []));
  const covers = new Map<string, Covers>();
  for (const [group, members] of groups) {
    const namespace = members[0]?.rule.meta.namespace ?? "";
    const found = coversOf(members, { mode, others: otherSets, widest: widestOf(namespace) });
    if (found.size > 0) covers.set(group, found);
  }
  if (covers.size === 0) return uncompacted(wanted);
  const coverOf = (rule: CompiledRule, entry: Entry): Entry | undefined => covers.get(groupOf(rule))?.get(entry);
  return { ...sentEntries(wanted, covers.values(), coverOf), coverOf };
}

/** A rule that retains its entries may leave them orphaned, so they rely on no other rule. Automatic blocks end one by one. */
function groupOf({ rule, id, judged }: CompiledRule): string {
  if (judged !== undefined) return id;
  return rule.deletionPolicy === "Retain" ? id : rule.meta.namespace;
}

interface GroupInput {
  readonly mode: Compaction;
  readonly others: readonly ReadonlySet<Entry>[];
  readonly widest: PrefixLengths;
}

interface Answered extends GroupInput {
  readonly sets: readonly ReadonlySet<Entry>[];
  readonly terms: readonly Terms[];
  readonly covers: Covers;
}

/** The last result for each group, by its first rule: rules keep their sets of entries while nothing changes. */
const answered = new WeakMap<ReadonlySet<Entry>, Answered>();

function coversOf(rules: readonly CompiledRule[], input: GroupInput): Covers {
  const sets = rules.map(({ entries }) => entries);
  const intern = new TermsTable();
  const terms = rules.map((rule) => intern.of(endOf(rule), rule.rule.priority));
  const [first] = sets;
  if (first === undefined || (input.mode === "Covered" && !sets.some(hasNetwork))) return noCovers;
  const known = answered.get(first);
  if (known !== undefined && isSameQuestion(known, { ...input, sets, terms })) return known.covers;
  const covers = compactEntries({
    mode: input.mode,
    entries: sets.length === 1 ? first : new Set(sets.flatMap((set) => [...set])),
    termsOf: terms.every((one) => one === terms[0]) ? undefined : joinedTerms(rules, terms, intern),
    others: input.others.flatMap((set) => [...set]),
    widest: input.widest,
  });
  answered.set(first, { ...input, sets, terms, covers });
  return covers;
}

const withNetworks = new WeakMap<ReadonlySet<Entry>, boolean>();

/** Only networks can cover other entries. Cached, so that a change of one rule checks no entry of the others. */
function hasNetwork(entries: ReadonlySet<Entry>): boolean {
  const known = withNetworks.get(entries);
  if (known !== undefined) return known;
  let isFound = false;
  for (const entry of entries) isFound ||= entry.includes("/");
  withNetworks.set(entries, isFound);
  return isFound;
}

function isSameQuestion(known: Answered, { mode, others, widest, sets, terms }: Omit<Answered, "covers">): boolean {
  return (
    known.mode === mode &&
    known.widest.ipv4 === widest.ipv4 &&
    known.widest.ipv6 === widest.ipv6 &&
    areSame(known.sets, sets) &&
    areSame(known.terms.map(keyOf), terms.map(keyOf)) &&
    areSame(known.others, others)
  );
}

function areSame<T>(a: readonly T[], b: readonly T[]): boolean {
  return a.length === b.length && a.every((item, index) => item === b[index]);
}

function endOf({ expiresAtMs }: CompiledRule): number {
  return expiresAtMs ?? Number.POSITIVE_INFINITY;
}

/** An entry of several rules ends with the last of them, and has the highest of their priorities. */
function joinedTerms(
  rules: readonly CompiledRule[],
  terms: readonly Terms[],
  intern: TermsTable,
): (entry: Entry) => Terms {
  const byEntry = new Map<Entry, Terms>();
  for (const [index, { entries }] of rules.entries()) {
    const own = terms[index] ?? noTerms;
    for (const entry of entries) {
      const other = byEntry.get(entry);
      byEntry.set(entry, other === undefined || other === own ? own : intern.join(own, other));
    }
  }
  return (entry) => byEntry.get(entry) ?? noTerms;
}

const noTerms: Terms = { endsAtMs: 0, priority: 0 };

function keyOf({ endsAtMs, priority }: Terms): string {
  return `${endsAtMs} ${priority}`;
}

/** Equal terms are the same object. */
class TermsTable {
  readonly #known = new Map<string, Terms>();

  of(endsAtMs: number, priority: number): Terms {
    const terms = { endsAtMs, priority };
    const key = keyOf(terms);
    const known = this.#known.get(key) ?? terms;
    this.#known.set(key, known);
    return known;
  }

  join(a: Terms, b: Terms): Terms {
    return this.of(Math.max(a.endsAtMs, b.endsAtMs), Math.max(a.priority, b.priority));
  }
}

function sentEntries(
  wanted: WantedEntries,
  covers: Iterable<Covers>,
  coverOf: CompactedList["coverOf"],
): Pick<CompactedList, "sent" | "standsFor"> {
  const members = new Map<Entry, Set<Entry>>();
  const covered = new Set<Entry>();
  for (const group of covers) {
    for (const [entry, cover] of group) {
      covered.add(entry);
      const own = members.get(cover) ?? new Set(wanted.has(cover) ? [cover] : []);
      members.set(cover, own.add(entry));
    }
  }
  const combinations = new Combinations();
  const sent = new Map(wanted);
  for (const entry of covered) {
    const left = (wanted.get(entry) ?? []).filter((rule) => coverOf(rule, entry) === undefined);
    if (left.length === 0) sent.delete(entry);
    else sent.set(entry, combinations.of(left));
  }
  const standsFor = new Map<Entry, readonly Entry[]>();
  for (const [cover, entries] of members) {
    const needing = new Set(sent.get(cover));
    for (const entry of entries) {
      for (const rule of wanted.get(entry) ?? []) if (coverOf(rule, entry) === cover) needing.add(rule);
    }
    sent.set(cover, combinations.of([...needing]));
    standsFor.set(cover, [...entries]);
  }
  return { sent, standsFor };
}

/** Equal combinations of rules share one array, which later steps recognize by identity. */
class Combinations {
  readonly #known = new Map<string, readonly CompiledRule[]>();

  of(rules: readonly CompiledRule[]): readonly CompiledRule[] {
    const key = rules.map(({ id }) => id).join(" ");
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    this.#known.set(key, rules);
    return rules;
  }
}
