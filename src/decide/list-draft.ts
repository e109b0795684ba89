// The rows of one list whose columns disagree, and what the table of decisions says of them, before the guards decide about removals.
//
//   removal    why                                              guards apply
//   ---------  -----------------------------------------------  ----------------------------------------------------
//   lost       no rule declares it, or some of its addresses    yes: it counts as the declared entries that it uncovers
//   evicted    the list has no room for it                      yes
//   replaced   aggregated networks have all of its addresses    no
//
// A removal waits while the WAF does not accept an entry that shares addresses with it: until then, it keeps these blocked.
import type { ListName } from "../model/declared.ts";
import { type Entry, isOpaque } from "../address/entry.ts";
import { countWithout, NetworkIndex } from "../address/ranges.ts";
import { lastDeclaredBy, remembering } from "../model/entry-owners.ts";
import type { Inventory, OwnedEntry, Refusal } from "../model/inventory.ts";
import type { Observed, ObservedEntries } from "../model/observed.ts";
import { type Context, decide, intends, nothing, type Outcome } from "./decisions.ts";
import { leftOutOf } from "./room.ts";
import type { CompiledRule } from "./compiled-rule.ts";
import type { Contested } from "./disputes.ts";
import { RuleVersions, standingRefusal } from "./refusals.ts";
import { asksToAdopt, type EntryLine, isRetained, Records } from "./ownership.ts";
import type { DesiredState } from "./desired.ts";

/** A row, and its outcome. */
export interface Decided extends EntryLine {
  outcome: Outcome;
}

export interface ListDraft {
  /** The rows whose columns disagree, with the outcome of each. */
  readonly rows: readonly Decided[];
  readonly records: Records;
  readonly adds: readonly EntryLine[];
  /** Before the guards. */
  readonly removals: readonly Entry[];
  /** How many declared entries each removal uncovers, unless it is one. */
  readonly weights: ReadonlyMap<Entry, number>;
  /** Replaced entries, each with the entry that covers its addresses. */
  readonly replaced: ReadonlyMap<Entry, Entry>;
  /** Unrecorded entries that something may declare that can't be read. */
  readonly kept: readonly Entry[];
  /** Removals that wait for an entry that the WAF does not accept. */
  readonly waiting: readonly Entry[];
  /** Declared entries that the list has no room for. */
  readonly leftOut: ReadonlySet<Entry>;
  /** How many declared entries the list stands for once the additions are done, for the guards. */
  readonly size: number;
  /** The same including declared entries that are not planned. */
  readonly sizeMax: number;
}

export interface DraftInput {
  readonly desired: DesiredState;
  readonly observed: Observed;
  readonly inventory: Inventory;
  readonly contested: readonly Contested[];
  readonly refusals: ReadonlyMap<string, Refusal>;
  readonly existingRules: ReadonlySet<string>;
  /** Why a part of the WAF is not written to; undefined if it is. */
  readonly offOn: (part: ListName) => string | undefined;
  readonly mayForget: boolean;
  readonly nowMs: number;
}

export function draftList(list: ListName, input: DraftInput): ListDraft {
  const { desired, observed, inventory, existingRules, nowMs } = input;
  const live = observed.lists[list];
  const owned = inventory.entries[list];
  const declared = desired.lists[list];
  const { maxEntries } = desired.instance.lists[list];
  const exclusive = desired.instance.policies[list] === "Exclusive";
  const leftOut = leftOutOf({ target: declared, live, owned, maxEntries, exclusive, rules: desired.rules });
  const context = contextOf(list, input, leftOut);
  const records = new Records(context, existingRules, nowMs);
  const { rows, adds, removing, stuck, blocked, kept } = decideRows(list, input, context, leftOut);
  const removable = removing.map(({ entry }) => entry);
  const rules = desired.rules.filter((rule) => rule.list === list);
  const fitting = leftOut.size === 0 ? declared.keys() : [...declared.keys()].filter((entry) => !leftOut.has(entry));
  const possible = new Set(removable);
  const sorted = sortRemovals(inOrderOf(live, [...removable, ...blocked]), { rules, target: fitting, leftOut, owned });
  const waitsFor = stuck.length === 0 ? undefined : new NetworkIndex(stuck);
  const isWaiting = (entry: Entry): boolean => waitsFor?.overlaps(entry) !== undefined;
  const isPossible = (entry: Entry): boolean => possible.has(entry) && !isWaiting(entry);
  const removals = sorted.lost.filter(isPossible);
  const planned = adds.map(({ entry }) => entry);
  // Only guards on removals ask for the size.
  const sizeWith = (added: readonly Entry[]): number =>
    removals.length === 0 ? 0 : sizeOf({ rules, live, added: new Set(added), sorted });
  const size = sizeWith(planned);
  return {
    rows,
    records,
    adds,
    removals,
    weights: sorted.weights,
    replaced: new Map([...sorted.replaced].filter(([entry]) => isPossible(entry))),
    kept: inOrderOf(live, kept),
    waiting: [...sorted.lost, ...sorted.replaced.keys()].filter(isWaiting),
    leftOut,
    size,
    // Networks that a declared one replaces are on the list, too: otherwise, they would take it below the threshold of the share.
    sizeMax: Math.max(live.size + adds.length, stuck.length === 0 ? size : sizeWith([...planned, ...stuck])),
  };
}

/** Decides the rows whose columns disagree, and those without room. */
function decideRows(
  list: ListName,
  { desired, observed, inventory }: DraftInput,
  context: Context<EntryLine>,
  leftOut: ReadonlySet<Entry>,
) {
  const [live, owned, declared] = [observed.lists[list], inventory.entries[list], desired.lists[list]];
  const rows: Decided[] = [];
  const [adds, removing]: [Decided[], Decided[]] = [[], []];
  const [kept, stuck, blocked]: [Entry[], Entry[], Entry[]] = [[], [], []];
  const book = desired.books[list];
  book.listRead(live);
  book.recordSaved(owned);
  for (const entry of leftOut.size === 0 ? book.open : new Set([...book.open, ...leftOut])) {
    const declarers = declared.get(entry);
    const columns = { declared: declarers !== undefined, shown: live.has(entry), recorded: owned.get(entry) };
    const row: Decided = { list, entry, declarers, rules: declarers?.rules ?? [], ...columns, outcome: nothing };
    row.outcome = decide(row, context);
    rows.push(row);
    const { kind, insteadOf } = row.outcome;
    if (intends(row.outcome, "Add")) adds.push(row);
    else if (intends(row.outcome, "Remove")) removing.push(row);
    else if (kind === "SourceBroken") kept.push(entry);
    else if (kind === "Refused" || kind === "Contested") (insteadOf === "Add" ? stuck : blocked).push(entry);
  }
  return { rows, adds, removing, kept, stuck, blocked };
}

function contextOf(list: ListName, input: DraftInput, leftOut: ReadonlySet<Entry>): Context<EntryLine> {
  const { desired, observed, contested, refusals, existingRules, nowMs } = input;
  const { policies, consistencyWindowMs } = desired.instance;
  const pauses = new Map(contested.flatMap((one) => (one.list === list ? [[one.entry, one.untilMs] as const] : [])));
  const versions = new RuleVersions();
  const standing = (operation: string, wantedBy: () => string): Refusal[] => {
    const refusal = standingRefusal(refusals, operation, wantedBy, nowMs);
    return refusal === undefined ? [] : [refusal];
  };
  return {
    off: input.offOn(list),
    exclusive: policies[list] === "Exclusive",
    mayForget: input.mayForget,
    isUnread: desired.unread[list] !== undefined,
    readAtMs: observed.readAtMs[list],
    windowMs: consistencyWindowMs,
    formerOf: remembering(lastDeclaredBy),
    isRetained: ({ recorded }) => recorded !== undefined && isRetained(recorded, existingRules, desired.unknownRules),
    // A remembered entry that leaves the record, since a deleted rule retains it, is no longer remembered.
    isAdopted: ({ entry, rules }) => rules.some((one) => asksToAdopt(one.rule.meta) && !one.remembered.has(entry)),
    hasRoom: ({ entry }) => leftOut.size === 0 || !leftOut.has(entry),
    isPrimary: () => false,
    refusalsOf: ({ entry, rules }, call) => {
      if (refusals.size === 0) return [];
      if (call === "Add") return standing(`${list} +${entry}`, () => versions.of(rules));
      const spellings = observed.lists[list].get(entry) ?? [];
      const found = spellings.flatMap((text) => standing(`${list} -${text}`, () => ""));
      return found.length === spellings.length ? found : [];
    },
    contestedUntil: ({ entry }) => pauses.get(entry),
  };
}

/** Plans and statuses show removals in the order of the list. */
function inOrderOf(live: ObservedEntries, entries: readonly Entry[]): readonly Entry[] {
  if (entries.length < 2) return entries;
  const all = new Set(entries);
  return [...live.keys()].filter((entry) => all.has(entry));
}

interface SortedRemovals {
  readonly lost: readonly Entry[];
  readonly replaced: ReadonlyMap<Entry, Entry>;
  readonly weights: ReadonlyMap<Entry, number>;
}

interface SortBasis {
  readonly rules: readonly CompiledRule[];
  readonly target: Iterable<Entry>;
  readonly leftOut: ReadonlySet<Entry>;
  readonly owned: ReadonlyMap<Entry, OwnedEntry>;
}

/** Only merging moves addresses between entries: otherwise, a removal is of one declared entry, and no address is looked up. */
function sortRemovals(removals: readonly Entry[], { rules, target, leftOut, owned }: SortBasis): SortedRemovals {
  const lost: Entry[] = [];
  const replaced = new Map<Entry, Entry>();
  const weights = new Map<Entry, number>();
  const linesOf = (entry: Entry): number => owned.get(entry)?.lines ?? 1;
  const isMerging = rules.some(({ lines }) => lines.size > 0) || removals.some((entry) => linesOf(entry) > 1);
  const covering = isMerging ? new NetworkIndex(target) : undefined;
  // An entry that was never merged, and that no rule declares, counts even inside a declared one, as without merging.
  const isWritten = (entry: Entry): boolean => rules.some((rule) => (rule.written ?? rule.entries).has(entry));
  for (const entry of removals) {
    const lines = linesOf(entry);
    const isKept = covering !== undefined && !leftOut.has(entry) && (lines > 1 || isWritten(entry));
    const [first, uncovered] = isKept ? uncoveredBy(entry, covering) : [];
    const weight = uncovered === undefined ? lines : uncovered < lines ? Number(uncovered) : lines;
    if (weight === 0 && first !== undefined) replaced.set(entry, first);
    else {
      lost.push(entry);
      if (weight > 1) weights.set(entry, weight);
    }
  }
  return { lost, replaced, weights };
}

/** The first entry that covers addresses of the removed one, and how many of these none covers. */
function uncoveredBy(entry: Entry, covering: NetworkIndex): readonly [Entry?, bigint?] {
  if (isOpaque(entry)) return [];
  const around = covering.containing(entry);
  if (around !== undefined) return [around, 0n];
  const inside = covering.inside(entry);
  const [first] = inside;
  return first === undefined ? [] : [first, countWithout(entry, inside)];
}

/** Each declared entry counts once, whether it is on the list itself, or merged, or both. */
function sizeOf({
  rules,
  live,
  added,
  sorted: { replaced, weights },
}: {
  /** Of this list. */
  readonly rules: readonly CompiledRule[];
  readonly live: ObservedEntries;
  /** Not on the list yet. */
  readonly added: ReadonlySet<Entry>;
  readonly sorted: SortedRemovals;
}): number {
  let size = live.size + added.size - replaced.size;
  for (const weight of weights.values()) size += weight - 1;
  const isListed = (entry: Entry): boolean => added.has(entry) || (live.has(entry) && !replaced.has(entry));
  const covered = new Set<Entry>();
  const merged = new Set<Entry>();
  for (const { lines, written = [] } of rules) {
    if (lines.size === 0) continue;
    // The removal of an evicted network counts all of its entries.
    const listed = [...lines.keys()].filter((network) => isListed(network) && !weights.has(network));
    const networks = new NetworkIndex(listed);
    for (const network of listed) {
      if (!rules.some((rule) => (rule.written ?? rule.entries).has(network))) merged.add(network);
    }
    for (const entry of written) if (!isListed(entry) && networks.containing(entry) !== undefined) covered.add(entry);
  }
  return size + covered.size - merged.size;
}
