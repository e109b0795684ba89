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
import type { Entry } from "../address/entry.ts";
import { NetworkIndex, uncoveredBy } from "../address/ranges.ts";
import { lastDeclaredBy, remembering, unknownOwners } from "../model/rule-id.ts";
import type { Inventory, Refusal } from "../model/inventory.ts";
import type { Observed, ObservedEntries } from "../model/observed.ts";
import { type Call, type Context, decide, intends, nothing, type Outcome } from "./decisions.ts";
import type { CompiledRule } from "./compiled-rule.ts";
import { contestedNow } from "./disputes.ts";
import { RuleVersions, standingRefusal, asksToAdopt, type EntryLine, isRetained, Records } from "./ownership.ts";
import type { DesiredState } from "./desired.ts";
import { countsOverTime, hasEnded, type Removal, type RemovalRequest } from "./removal-guard.ts";

/** A row, and its outcome. */
export interface Decided extends EntryLine {
  outcome: Outcome;
}

export interface ListDraft extends RemovalRequest {
  /** The rows whose columns disagree, with the outcome of each. */
  readonly rows: readonly Decided[];
  readonly records: Records;
  readonly adds: readonly EntryLine[];
  /** The removals of replaced entries. */
  readonly replaced: readonly Pick<Removal, "entry" | "reason">[];
  /** Declared entries that the list has no room for. */
  readonly leftOut: ReadonlySet<Entry>;
}

/** Why a part of the WAF is not written to; undefined if it is. */
export type OffOn = (part: ListName | "origins") => string | undefined;

/** What lists and origins are decided from. */
export interface DraftInput {
  readonly desired: DesiredState;
  readonly observed: Observed;
  readonly inventory: Inventory;
  readonly refusals: ReadonlyMap<string, Refusal>;
  readonly offOn: OffOn;
  /** Whether no obstacle prevents all removals. */
  readonly mayForget: boolean;
  readonly nowMs: number;
}

export function draftList(list: ListName, input: DraftInput): ListDraft {
  const { desired, observed, inventory, nowMs } = input;
  const leftOut = leftOutOf(list, input);
  const context = contextOf(list, input, leftOut);
  const rows = decideRows(list, input, context, leftOut);
  const stuck = rows.filter(({ outcome }) => isPaused(outcome, "Add")).map(({ entry }) => entry);
  const waitsFor = stuck.length === 0 ? undefined : new NetworkIndex(stuck);
  const live = observed.lists[list];
  const undeclared = inOrderOf(
    live,
    rows.filter(({ outcome }) => intends(outcome, "Remove") || isPaused(outcome, "Remove")),
  );
  for (const row of undeclared) {
    if (waitsFor?.overlaps(row.entry) !== undefined && intends(row.outcome, "Remove")) row.outcome = waiting;
  }
  const adds = rows.filter(({ outcome }) => intends(outcome, "Add"));
  const rules = desired.rules.filter((rule) => rule.list === list);
  const sorted = sortRemovals(undeclared, rules, desired.lists[list].keys(), leftOut);
  const countsOf = countsOverTime(desired.rules);
  const removals = sorted.lost.flatMap(({ entry, recorded, outcome }): readonly Removal[] => {
    if (!intends(outcome, "Remove")) return [];
    const owners = recorded?.owners ?? unknownOwners;
    return [
      {
        entry,
        owners,
        reason: outcome.reason,
        weight: sorted.weights.get(entry) ?? 1,
        endsByItself: hasEnded(entry, owners, desired),
        countsOverTime: recorded !== undefined && countsOf(owners),
      },
    ];
  });
  // Only guards on removals ask for the size.
  const sizeWith = (added: readonly Entry[]): number =>
    removals.length === 0 ? 0 : sizeOf(rules, live, new Set(added), sorted);
  const planned = adds.map(({ entry }) => entry);
  const size = sizeWith(planned);
  return {
    rows,
    records: new Records(context, desired.existingRules, nowMs),
    adds,
    removals,
    replaced: [...sorted.replaced.values()].flatMap(({ row, cover }) =>
      input.mayForget && intends(row.outcome, "Remove")
        ? [{ entry: row.entry, reason: `merged or split: ${cover} has its addresses` }]
        : [],
    ),
    leftOut,
    before: inventory.allowed[list],
    size,
    // Networks that a declared one replaces are on the list, too: otherwise, they would take it below the threshold of the share.
    sizeMax: Math.max(live.size + adds.length, stuck.length === 0 ? size : sizeWith([...planned, ...stuck])),
  };
}

const waiting: Outcome = {
  kind: "Waiting",
  reason: "the API refuses an entry that shares addresses with it",
  insteadOf: "Remove",
};

/** Whether wafsync does not make the call for now, although it is planned. */
function isPaused({ kind, insteadOf }: Outcome, call: Call): boolean {
  return insteadOf === call && (kind === "Refused" || kind === "Contested");
}

/** Decides the rows whose columns disagree, and those without room. */
function decideRows(
  list: ListName,
  { desired, observed, inventory }: DraftInput,
  context: Context<EntryLine>,
  leftOut: ReadonlySet<Entry>,
): readonly Decided[] {
  const [live, owned, declared] = [observed.lists[list], inventory.entries[list], desired.lists[list]];
  const book = desired.books[list];
  book.listRead(live);
  book.recordSaved(owned);
  const open = leftOut.size === 0 ? book.open : book.open.union(leftOut);
  return Array.from(open, (entry) => {
    const declarers = declared.get(entry);
    const columns = { declared: declarers !== undefined, shown: live.has(entry), recorded: owned.get(entry) };
    const row: Decided = { list, entry, declarers, rules: declarers?.rules ?? [], ...columns, outcome: nothing };
    row.outcome = decide(row, context);
    return row;
  });
}

const nothingLeftOut: ReadonlySet<Entry> = new Set();

/**
 * The declared entries that do not fit. A list accepts a limited number of entries. If not all of them fit, it gets, in this order:
 *
 * 1. entries of other writers, which wafsync does not remove;
 * 2. entries with higher priority;
 * 3. entries that are already on the list, so that a new rule with the same priority unblocks nothing;
 * 4. entries of older rules.
 */
function leftOutOf(list: ListName, { desired, observed, inventory }: DraftInput): ReadonlySet<Entry> {
  const { maxEntries } = desired.instance.lists[list];
  if (maxEntries === undefined) return nothingLeftOut;
  const [live, owned, declared] = [observed.lists[list], inventory.entries[list], desired.lists[list]];
  const isForeign = (entry: Entry): boolean => live.has(entry) && !owned.has(entry);
  let room = maxEntries;
  if (desired.instance.policies[list] !== "Exclusive") {
    for (const entry of live.keys()) if (!declared.has(entry) && isForeign(entry)) room -= 1;
  }
  if (declared.size <= room) return nothingLeftOut;
  const ages = new Map(desired.rules.map((rule, index) => [rule, index]));
  const ranked = [...declared]
    .map(([entry, { rules }]) => ({
      entry,
      isFixed: isForeign(entry),
      priority: Math.max(...rules.map(({ rule }) => rule.priority)),
      isLive: live.has(entry),
      age: Math.min(...rules.map((rule) => ages.get(rule) ?? 0)),
    }))
    .toSorted(
      (a, b) =>
        Number(b.isFixed) - Number(a.isFixed) ||
        b.priority - a.priority ||
        Number(b.isLive) - Number(a.isLive) ||
        a.age - b.age ||
        (a.entry < b.entry ? -1 : 1),
    );
  return new Set(ranked.slice(Math.max(0, room)).flatMap(({ entry, isFixed }) => (isFixed ? [] : [entry])));
}

function contextOf(list: ListName, input: DraftInput, leftOut: ReadonlySet<Entry>): Context<EntryLine> {
  const { desired, observed, inventory, refusals, nowMs } = input;
  const { policies, consistencyWindowMs } = desired.instance;
  const contested = contestedNow(inventory.disputes, nowMs)[list];
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
    isRetained: ({ recorded }) => recorded !== undefined && isRetained(recorded, desired),
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
    contestedUntil: ({ entry }) => contested.get(entry),
  };
}

/** Plans and statuses show removals in the order of the list. */
function inOrderOf(live: ObservedEntries, rows: readonly Decided[]): readonly Decided[] {
  if (rows.length < 2) return rows;
  const byEntry = new Map(rows.map((row) => [row.entry, row]));
  return [...live.keys()].flatMap((entry) => byEntry.get(entry) ?? []);
}

interface SortedRemovals {
  readonly lost: readonly Decided[];
  /** Each with the entry that covers its addresses. */
  readonly replaced: ReadonlyMap<Entry, { readonly row: Decided; readonly cover: Entry }>;
  /** How many declared entries each removal uncovers, unless it is one. */
  readonly weights: ReadonlyMap<Entry, number>;
}

/**
 * Only merging moves addresses between entries: otherwise, a removal is of one declared entry, and no address is looked up.
 * @param declared for the list
 */
function sortRemovals(
  removals: readonly Decided[],
  rules: readonly CompiledRule[],
  declared: Iterable<Entry>,
  leftOut: ReadonlySet<Entry>,
): SortedRemovals {
  const lost: Decided[] = [];
  const replaced = new Map<Entry, { row: Decided; cover: Entry }>();
  const weights = new Map<Entry, number>();
  const linesOf = ({ recorded }: Decided): number => recorded?.lines ?? 1;
  const isMerging = rules.some(({ lines }) => lines.size > 0) || removals.some((row) => linesOf(row) > 1);
  const covering = isMerging ? new NetworkIndex(new Set(declared).difference(leftOut)) : undefined;
  for (const row of removals) {
    const { entry } = row;
    const lines = linesOf(row);
    // An entry that was never merged, and that no rule declares, counts even inside a declared one, as without merging.
    const isKept = covering !== undefined && !leftOut.has(entry) && (lines > 1 || isWritten(entry, rules));
    const [cover, uncovered] = isKept ? uncoveredBy(entry, covering) : [];
    const weight = uncovered === undefined ? lines : uncovered < lines ? Number(uncovered) : lines;
    if (weight === 0 && cover !== undefined) replaced.set(entry, { row, cover });
    else {
      lost.push(row);
      if (weight > 1) weights.set(entry, weight);
    }
  }
  return { lost, replaced, weights };
}

function isWritten(entry: Entry, rules: readonly CompiledRule[]): boolean {
  return rules.some((rule) => (rule.written ?? rule.entries).has(entry));
}

/**
 * Each declared entry counts once, whether it is on the list itself, or merged, or both.
 * @param rules of this list
 * @param added the entries that are not on the list yet
 */
function sizeOf(
  rules: readonly CompiledRule[],
  live: ObservedEntries,
  added: ReadonlySet<Entry>,
  { replaced, weights }: SortedRemovals,
): number {
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
    for (const network of listed) if (!isWritten(network, rules)) merged.add(network);
    for (const entry of written) if (!isListed(entry) && networks.containing(entry) !== undefined) covered.add(entry);
  }
  return size + covered.size - merged.size;
}
