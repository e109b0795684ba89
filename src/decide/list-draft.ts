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
import { lastDeclaredBy, remembering, unknownOwners } from "../model/entry-owners.ts";
import type { Inventory, Refusal } from "../model/inventory.ts";
import type { Observed, ObservedEntries } from "../model/observed.ts";
import { type Context, decide, intends, nothing, type Outcome } from "./decisions.ts";
import { leftOutOf } from "./room.ts";
import type { CompiledRule } from "./compiled-rule.ts";
import type { Contested } from "./disputes.ts";
import { RuleVersions, standingRefusal } from "./refusals.ts";
import { asksToAdopt, type EntryLine, isRetained, Records } from "./ownership.ts";
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
  /** Unrecorded entries that something may declare that can't be read. */
  readonly kept: readonly Entry[];
  /** Removals that wait for an entry that the WAF does not accept. */
  readonly waiting: readonly Entry[];
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
  readonly contested: readonly Contested[];
  readonly refusals: ReadonlyMap<string, Refusal>;
  readonly offOn: OffOn;
  /** Whether no obstacle prevents all removals. */
  readonly mayForget: boolean;
  readonly nowMs: number;
}

export function draftList(list: ListName, input: DraftInput): ListDraft {
  const { desired, observed, inventory, nowMs } = input;
  const live = observed.lists[list];
  const owned = inventory.entries[list];
  const declared = desired.lists[list];
  const { maxEntries } = desired.instance.lists[list];
  const exclusive = desired.instance.policies[list] === "Exclusive";
  const leftOut = leftOutOf({ target: declared, live, owned, maxEntries, exclusive, rules: desired.rules });
  const context = contextOf(list, input, leftOut);
  const records = new Records(context, desired.existingRules, nowMs);
  const { rows, adds, removing, stuck, blocked, kept } = decideRows(list, input, context, leftOut);
  const rules = desired.rules.filter((rule) => rule.list === list);
  const fitting = leftOut.size === 0 ? declared.keys() : [...declared.keys()].filter((entry) => !leftOut.has(entry));
  const sorted = sortRemovals(inOrderOf(live, [...removing, ...blocked]), rules, fitting, leftOut);
  const possible = new Set(removing);
  const waitsFor = stuck.length === 0 ? undefined : new NetworkIndex(stuck);
  const isWaiting = ({ entry }: Decided): boolean => waitsFor?.overlaps(entry) !== undefined;
  const isPossible = (row: Decided): boolean => possible.has(row) && !isWaiting(row);
  const countsOf = countsOverTime(desired.rules);
  const removals = sorted.lost.filter(isPossible).map(({ entry, recorded, outcome: { reason } }): Removal => {
    const owners = recorded?.owners ?? unknownOwners;
    return {
      entry,
      owners,
      reason,
      weight: sorted.weights.get(entry) ?? 1,
      endsByItself: hasEnded(entry, owners, desired),
      countsOverTime: recorded !== undefined && countsOf(owners),
    };
  });
  const planned = adds.map(({ entry }) => entry);
  // Only guards on removals ask for the size.
  const sizeWith = (added: readonly Entry[]): number =>
    removals.length === 0 ? 0 : sizeOf(rules, live, new Set(added), sorted);
  const size = sizeWith(planned);
  return {
    rows,
    records,
    adds,
    removals,
    replaced: [...sorted.replaced.values()].flatMap(({ row, cover }) =>
      input.mayForget && isPossible(row)
        ? [{ entry: row.entry, reason: `merged or split: ${cover} has its addresses` }]
        : [],
    ),
    kept: inOrderOf(live, kept).map(({ entry }) => entry),
    waiting: [...sorted.lost, ...[...sorted.replaced.values()].map(({ row }) => row)]
      .filter(isWaiting)
      .map(({ entry }) => entry),
    leftOut,
    before: inventory.allowed[list],
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
  const [adds, removing, blocked, kept]: [Decided[], Decided[], Decided[], Decided[]] = [[], [], [], []];
  const stuck: Entry[] = [];
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
    else if (kind === "SourceBroken") kept.push(row);
    else if (kind === "Refused" || kind === "Contested") {
      if (insteadOf === "Add") stuck.push(entry);
      else blocked.push(row);
    }
  }
  return { rows, adds, removing, kept, stuck, blocked };
}

function contextOf(list: ListName, input: DraftInput, leftOut: ReadonlySet<Entry>): Context<EntryLine> {
  const { desired, observed, contested, refusals, nowMs } = input;
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
    contestedUntil: ({ entry }) => pauses.get(entry),
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
 * @param fitting the declared entries that the list has room for
 */
function sortRemovals(
  removals: readonly Decided[],
  rules: readonly CompiledRule[],
  fitting: Iterable<Entry>,
  leftOut: ReadonlySet<Entry>,
): SortedRemovals {
  const lost: Decided[] = [];
  const replaced = new Map<Entry, { row: Decided; cover: Entry }>();
  const weights = new Map<Entry, number>();
  const linesOf = ({ recorded }: Decided): number => recorded?.lines ?? 1;
  const isMerging = rules.some(({ lines }) => lines.size > 0) || removals.some((row) => linesOf(row) > 1);
  const covering = isMerging ? new NetworkIndex(fitting) : undefined;
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
