// The additions and removals of one list, before the guards decide about the removals.
//
//   removal    why                                              guards apply
//   ---------  -----------------------------------------------  ----------------------------------------------------
//   lost       no rule declares it, or some of its addresses    yes: it counts as the declared entries that it uncovers
//   evicted    the list has no room for it                      yes
//   replaced   aggregated networks have all of its addresses    no
//
// On a list with the policy Exclusive, an entry that no record assigns to a rule stays while something can't be read that may declare it.
// A removal waits while the WAF does not accept an entry that shares addresses with it: until then, it keeps these blocked.
import type { ListName } from "../../model/declared.ts";
import type { Entry } from "../../address/entry.ts";
import { countWithout } from "../../address/ranges.ts";
import { NetworkIndex } from "../../address/ranges.ts";
import { isOpaque } from "../../address/entry.ts";
import { unknownOwners } from "../../model/entry-owners.ts";
import type { Inventory, OwnedEntry, Refusal } from "../../model/inventory.ts";
import type { Observed, ObservedEntries } from "../../model/observed.ts";
import { leftOutOf } from "../lists/capacity.ts";
import type { CompiledRule } from "../lists/compiled-rule.ts";
import type { Contested } from "../lists/disputes.ts";
import { missingKeys } from "../lists/missing-keys.ts";
import type { WantedAdd } from "../lists/order.ts";
import { removableEntries } from "../lists/ownership.ts";
import { standingRefusal, versionOfRules } from "../lists/refusals.ts";
import { keysOf, type WantedEntries } from "../lists/wanted-entries.ts";
import type { DesiredState } from "./desired.ts";

export interface ListDraft {
  /** The entries that belong on the list. */
  readonly target: WantedEntries;
  /** The same including those that it has no room for: if they are managed, they stay so. */
  readonly whole: WantedEntries;
  readonly adds: readonly WantedAdd[];
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
  readonly refused: ReadonlyMap<string, Refusal>;
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
  readonly nowMs: number;
}

export function draftList(list: ListName, input: DraftInput): ListDraft {
  const { desired, observed, inventory, existingRules } = input;
  const live = observed.lists[list];
  const owned = inventory.entries[list];
  const exclusive = desired.instance.policies[list] === "Exclusive";
  const blockers = new Blockers(list, input);
  const whole = desired.lists[list];
  const { maxEntries } = desired.instance.lists[list];
  const leftOut = leftOutOf({ target: whole, live, owned, maxEntries, exclusive, rules: desired.rules });
  const target = leftOut.size === 0 ? whole : without(whole, leftOut);
  const { adds, stuck, missing } = additionsTo(target, list, live, blockers);
  const { unknownRules, unread } = desired;
  const undeclared = undeclaredOn(live, target, missing);
  const all = removableEntries({ exclusive, owned, undeclared, existingRules, unknownRules });
  const isUnknown = (entry: Entry): boolean => (owned.get(entry)?.owners ?? unknownOwners) === unknownOwners;
  const kept = unread[list] === undefined ? [] : all.filter(isUnknown);
  const removable = kept.length === 0 ? all : all.filter((entry) => !isUnknown(entry));
  const rules = desired.rules.filter((rule) => rule.list === list);
  const sorted = sortRemovals(removable, { rules, target, leftOut, owned });
  const waitsFor = stuck.length === 0 ? undefined : new NetworkIndex(stuck);
  const isWaiting = (entry: Entry): boolean => waitsFor?.overlaps(entry) !== undefined;
  const isPossible = (entry: Entry): boolean => !blockers.blocksRemoval(entry, live) && !isWaiting(entry);
  const removals = sorted.lost.filter(isPossible);
  const replaced = new Map([...sorted.replaced].filter(([entry]) => isPossible(entry)));
  // Only guards on removals ask for the size.
  const sizeWith = (added: Iterable<Entry>): number =>
    sizeOf({ rules: removals.length === 0 ? [] : rules, live, added: new Set(added), sorted });
  const planned = adds.map(({ entry }) => entry);
  const size = sizeWith(planned);
  return {
    target,
    whole,
    adds,
    removals,
    weights: sorted.weights,
    replaced,
    kept,
    waiting: [...sorted.lost, ...sorted.replaced.keys()].filter(isWaiting),
    refused: blockers.refused,
    leftOut,
    size,
    sizeMax: stuck.length === 0 ? size : sizeWith([...planned, ...stuck]),
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

function without(target: WantedEntries, leftOut: ReadonlySet<Entry>): WantedEntries {
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

function additionsTo(target: WantedEntries, list: ListName, live: ObservedEntries, blockers: Blockers): Additions {
  const adds: WantedAdd[] = [];
  const stuck: Entry[] = [];
  const missing = missingKeys(keysOf(target), live);
  // On an empty list, all entries are missing, so none is looked up.
  for (const [entry, rules] of missing.size === target.size ? target : picked(target, missing)) {
    if (blockers.blocksAddition(entry, rules)) stuck.push(entry);
    else adds.push({ list, entry, rules });
  }
  return { adds, stuck, missing: missing.size };
}

function* picked(
  target: WantedEntries,
  entries: Iterable<Entry>,
): Generator<readonly [Entry, readonly CompiledRule[]], void> {
  for (const entry of entries) yield [entry, target.get(entry) ?? []];
}

/** In the order of the list, which the status shows. Usually a list contains only declared entries. */
function undeclaredOn(live: ObservedEntries, target: WantedEntries, missing: number): Iterable<Entry> {
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
  readonly rules: readonly CompiledRule[];
  readonly target: WantedEntries;
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
  const covering = isMerging ? new NetworkIndex(target.keys()) : undefined;
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
