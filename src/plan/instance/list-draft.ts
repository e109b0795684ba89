// The additions and removals of one list, before the guards decide about the removals.
//
//   removal    why                                                  guards and holds apply
//   ---------  ---------------------------------------------------  ----------------------
//   lost       no rule declares an entry that it stands for          yes
//   evicted    the list has no room for it                          yes
//   replaced   other entries cover all of its declared addresses    holds only, which postpone it
//
// A removal waits while the WAF does not accept a declared entry inside it, because it would uncover that entry.
import type { ListName } from "../../model/declared.ts";
import type { Entry } from "../../model/entry.ts";
import { NetworkIndex } from "../../model/entry-set.ts";
import type { Inventory, OwnedEntry, Refusal } from "../../model/inventory.ts";
import type { Observed, ObservedEntries } from "../../model/observed.ts";
import { leftOutOf } from "../lists/capacity.ts";
import type { CompactedList } from "../lists/compact-list.ts";
import type { CompiledRule } from "../lists/compiled-rule.ts";
import type { Contested } from "../lists/disputes.ts";
import type { HoldIndex } from "../lists/holds.ts";
import { type ListTarget, targetOf } from "../lists/list-target.ts";
import { missingKeys } from "../lists/missing-keys.ts";
import type { WantedAdd } from "../lists/order.ts";
import { removableEntries } from "../lists/ownership.ts";
import { standingRefusal, versionOfRules } from "../lists/refusals.ts";
import { keysOf } from "../lists/wanted-entries.ts";
import type { DesiredState } from "./desired.ts";

export interface ListDraft {
  /** The entries that belong on the list. */
  readonly target: ListTarget;
  /** The same including those that it has no room for: if they are managed, they stay so. */
  readonly whole: ListTarget;
  readonly adds: readonly WantedAdd[];
  /** Before the guards. */
  readonly removals: readonly Entry[];
  /** How many declared entries each removal represents, unless it is one. */
  readonly weights: ReadonlyMap<Entry, number>;
  /** Replaced entries, each with the entry that covers its addresses. */
  readonly replaced: ReadonlyMap<Entry, Entry>;
  /** Removals that wait for an entry that the WAF does not accept. */
  readonly waiting: readonly Entry[];
  readonly refused: ReadonlyMap<string, Refusal>;
  /** Declared entries that the list has no room for. */
  readonly leftOut: ReadonlySet<Entry>;
  /** How many declared entries the list represents once the additions are done, for the guards. */
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
  readonly holds: HoldIndex;
  readonly nowMs: number;
}

export function draftList(list: ListName, input: DraftInput): ListDraft {
  const { desired, observed, inventory, existingRules } = input;
  const live = observed.lists[list];
  const owned = inventory.entries[list];
  const declared = desired.declared[list];
  const compacted = desired.compacted[list];
  const exclusive = desired.instance.policies[list] === "Exclusive";
  const blockers = new Blockers(list, input);
  const whole = targetOf({
    compacted,
    declared,
    live,
    owned,
    isStuck: (entry, rules) => blockers.wouldBlock(entry, rules),
  });
  const { maxEntries } = desired.instance.lists[list];
  const leftOut = leftOutOf({ target: whole, live, owned, maxEntries, exclusive, rules: desired.rules });
  const target = leftOut.size === 0 ? whole : without(whole, leftOut);
  const { adds, stuck, missing } = additionsTo(target, list, live, desired, blockers);
  const removable = removableEntries({
    exclusive,
    owned,
    undeclared: undeclaredOn(live, target, missing),
    existingRules,
  });
  const sorted = sortRemovals(removable, { desired, list, target, leftOut, owned, live });
  const waitsFor = stuck.length === 0 ? undefined : new NetworkIndex(stuck);
  const isWaiting = (entry: Entry): boolean => waitsFor !== undefined && waitsFor.inside(entry).length > 0;
  const isPossible = (entry: Entry): boolean => !blockers.blocksRemoval(entry, live) && !isWaiting(entry);
  const removals = sorted.lost.filter(isPossible);
  const isHeld = (entry: Entry): boolean => input.holds.on(list, entry, owned.get(entry)).length > 0;
  const replaced = new Map([...sorted.replaced].filter(([entry]) => isPossible(entry) && !isHeld(entry)));
  const sizes = sizesOf({ live, adds, missing, compacted, sorted });
  return {
    target,
    whole,
    adds,
    removals,
    weights: sorted.weights,
    replaced,
    waiting: [...sorted.lost, ...sorted.replaced.keys()].filter(isWaiting),
    refused: blockers.refused,
    leftOut,
    ...sizes,
  };
}

/** What currently prevents writes. */
class Blockers {
  /** The refusals that still apply. */
  readonly refused = new Map<string, Refusal>();
  readonly #list: ListName;
  readonly #input: DraftInput;
  readonly #paused: ReadonlySet<Entry>;

  constructor(list: ListName, input: DraftInput) {
    this.#list = list;
    this.#input = input;
    this.#paused = new Set(input.contested.flatMap((item) => (item.list === list ? [item.entry] : [])));
  }

  /** The same as `blocksAddition`, for an entry that others may replace: its refusal is not reported. */
  wouldBlock(entry: Entry, rules: readonly CompiledRule[]): boolean {
    if (this.#paused.has(entry)) return true;
    const { refusals, nowMs } = this.#input;
    const operation = `${this.#list} +${entry}`;
    return refusals.size > 0 && standingRefusal(refusals, operation, () => versionOfRules(rules), nowMs) !== undefined;
  }

  blocksAddition(entry: Entry, rules: readonly CompiledRule[]): boolean {
    if (this.#paused.has(entry)) return true;
    return this.#input.refusals.size > 0 && this.#stands(`${this.#list} +${entry}`, () => versionOfRules(rules));
  }

  blocksRemoval(entry: Entry, live: ObservedEntries): boolean {
    if (this.#paused.has(entry)) return true;
    return (live.get(entry) ?? []).every((text) => this.#stands(`${this.#list} -${text}`, () => ""));
  }

  #stands(operation: string, wantedBy: () => string): boolean {
    const refusal = standingRefusal(this.#input.refusals, operation, wantedBy, this.#input.nowMs);
    if (refusal !== undefined) this.refused.set(operation, refusal);
    return refusal !== undefined;
  }
}

function without(target: ListTarget, leftOut: ReadonlySet<Entry>): ListTarget {
  const fitting = new Map(target);
  for (const entry of leftOut) fitting.delete(entry);
  return fitting;
}

interface Additions {
  readonly adds: readonly WantedAdd[];
  /** Declared entries that can't be added now. */
  readonly stuck: readonly Entry[];
  /** How many entries are not on the list, whether or not they can be added now. */
  readonly missing: number;
}

function additionsTo(
  target: ListTarget,
  list: ListName,
  live: ObservedEntries,
  { compacted }: DesiredState,
  blockers: Blockers,
): Additions {
  const adds: WantedAdd[] = [];
  const stuck: Entry[] = [];
  const { standsFor } = compacted[list];
  const missing = missingKeys(keysOf(target), live);
  // On an empty list, all entries are missing, so none is looked up.
  for (const [entry, rules] of missing.size === target.size ? target : picked(target, missing)) {
    if (blockers.blocksAddition(entry, rules)) stuck.push(entry);
    else if (standsFor.size === 0) adds.push({ list, entry, rules });
    else {
      const standing = standsFor.get(entry);
      adds.push(standing === undefined ? { list, entry, rules } : { list, entry, rules, standsFor: standing });
    }
  }
  return { adds, stuck, missing: missing.size };
}

function* picked(
  target: ListTarget,
  entries: Iterable<Entry>,
): Generator<readonly [Entry, readonly CompiledRule[]], void> {
  for (const entry of entries) yield [entry, target.get(entry) ?? []];
}

/** In the order of the list, which the status shows. Usually a list contains only declared entries. */
function undeclaredOn(live: ObservedEntries, target: ListTarget, missing: number): Iterable<Entry> {
  if (live.size === target.size - missing) return [];
  const undeclared = missingKeys(live, keysOf(target));
  return undeclared.size === 1 ? undeclared : [...live.keys()].filter((entry) => undeclared.has(entry));
}

interface SortedRemovals {
  readonly lost: readonly Entry[];
  readonly replaced: ReadonlyMap<Entry, Entry>;
  readonly weights: ReadonlyMap<Entry, number>;
}

interface SortBasis {
  readonly desired: DesiredState;
  readonly list: ListName;
  readonly target: ListTarget;
  readonly leftOut: ReadonlySet<Entry>;
  readonly owned: ReadonlyMap<Entry, OwnedEntry>;
  readonly live: ObservedEntries;
}

function sortRemovals(removals: readonly Entry[], basis: SortBasis): SortedRemovals {
  const { desired, list, target, leftOut, owned } = basis;
  const declared = desired.declared[list];
  const lost: Entry[] = [];
  const replaced = new Map<Entry, Entry>();
  const weights = new Map<Entry, number>();
  for (const entry of removals) {
    const record = owned.get(entry);
    if (leftOut.has(entry)) {
      lost.push(entry);
      weights.set(entry, record?.standsFor?.length ?? 1);
      continue;
    }
    const parts = record?.standsFor ?? [entry];
    const left = parts.filter((part) => !declared.has(part));
    if (left.length > 0) {
      lost.push(entry);
      if (left.length > 1) weights.set(entry, left.length);
      continue;
    }
    const covers = parts.map((part) => coverIn(target, part, desired, list));
    const [first] = covers;
    // An entry that relies on an entry without room is removed with it.
    if (first === undefined || covers.includes(undefined)) lost.push(entry);
    // An adopted entry is only removed when no rule declares it.
    else if (record?.manner === "Added") replaced.set(entry, first);
  }
  return { lost, replaced, weights };
}

/** The entry of the target that covers a declared one. */
function coverIn(
  target: ListTarget,
  entry: Entry,
  { declared, compacted }: DesiredState,
  list: ListName,
): Entry | undefined {
  if (target.has(entry)) return entry;
  const covers = (declared[list].get(entry) ?? []).map((rule) => compacted[list].coverOf(rule, entry));
  return covers.every((cover) => cover !== undefined && target.has(cover)) ? covers[0] : undefined;
}

/** Each declared entry counts once, whether it is on the list itself, or covered, or both. */
function sizesOf({
  live,
  adds,
  missing,
  compacted,
  sorted,
}: {
  readonly live: ObservedEntries;
  readonly adds: readonly WantedAdd[];
  readonly missing: number;
  readonly compacted: CompactedList;
  readonly sorted: SortedRemovals;
}): Pick<ListDraft, "size" | "sizeMax"> {
  const { replaced, weights } = sorted;
  let size = live.size + adds.length - replaced.size;
  for (const weight of weights.values()) size += weight - 1;
  if (compacted.standsFor.size > 0) {
    const added = new Set(adds.map(({ entry }) => entry));
    const isListed = (entry: Entry): boolean => added.has(entry) || (live.has(entry) && !replaced.has(entry));
    const covered = new Set<Entry>();
    for (const [cover, entries] of compacted.standsFor) {
      if (!isListed(cover) || weights.has(cover)) continue;
      if (!entries.includes(cover)) size -= 1;
      for (const entry of entries) if (!isListed(entry)) covered.add(entry);
    }
    size += covered.size;
  }
  return { size, sizeMax: size + missing - adds.length };
}
