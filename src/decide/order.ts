// The order of the writes of a plan.
//
// 1. Origins: few, and all urgent.
// 2. Additions, by rule: higher priority first, then the rule with fewer entries left, so that one urgent address never waits for
// ten thousand. Within a priority, namespaces take turns, one entry each, so that no guest of a shared WAF delays the others.
// Among equal rules, Allow goes before Block. A Block entry that overlaps an Allow entry still to be added waits for it: the
// exception must be in place before the block.
// 3. Removals from the blocklist, then from the allowlist, after everything that replaces them was added. Urgent ones go earlier:
//    see `orderWrites`. If a list is nearly full, a removal goes earlier to make room: see `orderForRoom`.
//
// So no address that is blocked (or allowed) both before and after is briefly unblocked in between, unless a list is completely full.
import type { Entry } from "../address/entry.ts";
import { eachList, type ListName, listNames } from "../model/declared.ts";
import { inThousands } from "../model/texts.ts";
import { narrowestContainers, NetworkIndex } from "../address/ranges.ts";
import type { Operation } from "../model/operation.ts";
import { ruleIdOfOwner, ruleLabel, readOwners, remembering, unknownOwners } from "../model/rule-id.ts";
import { type CompiledRule, noteOf } from "./compiled-rule.ts";
import type { OwnedEntry } from "../model/inventory.ts";

export type AddEntry = Extract<Operation, { kind: "AddEntry" }>;
export type RemoveEntry = Extract<Operation, { kind: "RemoveEntry" }>;
export type EntryWrite = AddEntry | RemoveEntry;

/** One entry to be added, with all rules that declare it: never an empty array. */
export interface WantedAdd {
  readonly list: ListName;
  readonly entry: Entry;
  readonly rules: readonly CompiledRule[];
}

/** Orders additions as described above, apart from exceptions. */
function orderAdds(adds: readonly WantedAdd[]): readonly AddEntry[] {
  const left = new Map<CompiledRule, number>();
  // Few combinations of rules declare many entries.
  const combinations = Map.groupBy(adds, ({ rules }) => rules);
  for (const [rules, { length }] of combinations) {
    for (const rule of rules) left.set(rule, (left.get(rule) ?? 0) + length);
  }
  const rank = rankRules(left);
  const groups = Map.groupBy(combinations, ([rules]) => leading(rules, rank));
  const byPriority = Map.groupBy(rank.keys(), ({ rule }) => rule.priority);
  return [...byPriority.values()].flatMap((some) => {
    const namespaces = Map.groupBy(some, ({ rule }) => rule.meta.namespace);
    const queues = [...namespaces.values()].map((rules) =>
      rules.flatMap((rule) => {
        const own = (groups.get(rule) ?? []).flatMap(([, declared]) => declared);
        return inOrderOf(rule, own).map(operationsFor(rule, left.get(rule) ?? 0));
      }),
    );
    return takingTurns(queues);
  });
}

/** As the rule lists them. */
function inOrderOf({ entries }: CompiledRule, adds: readonly WantedAdd[]): readonly WantedAdd[] {
  let place = 0;
  for (const entry of entries) if (adds[place]?.entry === entry) place += 1;
  // Nearly always.
  if (place === adds.length) return adds;
  const byEntry = new Map(adds.map((add) => [add.entry, add]));
  return [...entries].flatMap((entry) => byEntry.get(entry) ?? []);
}

/** Takes one item of each queue in turn, until all are empty. */
function takingTurns<T>(queues: readonly (readonly T[])[]): readonly T[] {
  const [only] = queues;
  if (queues.length === 1 && only !== undefined) return only;
  const taken: T[] = [];
  let waiting = queues;
  for (let turn = 0; waiting.length > 0; turn += 1) {
    waiting = waiting.filter(({ length }) => length > turn);
    for (const queue of waiting) taken.push(queue[turn] as T);
  }
  return taken;
}

function rankRules(left: ReadonlyMap<CompiledRule, number>): ReadonlyMap<CompiledRule, number> {
  const sorted = [...left.keys()].toSorted(
    (a, b) =>
      b.rule.priority - a.rule.priority ||
      (left.get(a) ?? 0) - (left.get(b) ?? 0) ||
      (a.list === b.list ? 0 : a.list === "allowlist" ? -1 : 1) ||
      (a.id < b.id ? -1 : 1),
  );
  return new Map(sorted.map((rule, index) => [rule, index]));
}

function leading(rules: readonly CompiledRule[], rank: ReadonlyMap<CompiledRule, number>): CompiledRule {
  return rules.reduce((best, rule) => ((rank.get(rule) ?? 0) < (rank.get(best) ?? 0) ? rule : best));
}

/** Creates the operations for additions of the same first rule. Entries of the same rules share the names and the reason. */
function operationsFor(first: CompiledRule, left: number): (add: WantedAdd) => AddEntry {
  const { priority } = first.rule;
  const counts = `(${inThousands(left)} to add${priority === 0 ? "" : `, priority ${priority}`})`;
  const known = new Map<readonly CompiledRule[], Pick<AddEntry, "rules" | "reason">>();
  return ({ list, entry, rules }) => {
    let shared = known.get(rules);
    if (shared === undefined) {
      const others = rules.flatMap((rule) => (rule === first ? [] : [rule.id]));
      const also = others.length === 0 ? "" : ` and ${others.length} more`;
      shared = { rules: [first.id, ...others], reason: `declared by ${ruleLabel(first.id)}${also} ${counts}` };
      known.set(rules, shared);
    }
    const note = noteOf(first, entry);
    return { kind: "AddEntry", list, entry, ...shared, ...(note !== undefined && { note }) };
  };
}

/** Moves each Allow entry in front of the first Block entry that shares an address with it, and keeps all others in place. */
function exceptionsFirst(ordered: readonly AddEntry[]): readonly AddEntry[] {
  const placesOn = (list: ListName): ReadonlyMap<Entry, number> =>
    new Map(ordered.flatMap((add, place) => (add.list === list ? [[add.entry, place] as const] : [])));
  const allows = placesOn("allowlist");
  if (allows.size === 0 || allows.size === ordered.length) return ordered;
  const blocks = placesOn("blocklist");
  const containers = narrowestContainers(ordered.map(({ entry }) => entry));
  const places = [...ordered.keys()];
  const moveFront = (allow: number | undefined, block: number | undefined): void => {
    if (allow !== undefined && block !== undefined) places[allow] = Math.min(places[allow] ?? allow, block - 0.5);
  };
  for (const [place, { list, entry }] of ordered.entries()) {
    // Networks are nested or disjoint, so two of them overlap if one contains the other.
    for (let around = containers.get(entry); around !== undefined; around = containers.get(around)) {
      if (list === "allowlist") moveFront(place, blocks.get(around));
      else moveFront(allows.get(around), place);
    }
  }
  return inPlaces(ordered, places);
}

function inPlaces<T>(items: readonly T[], places: readonly number[]): readonly T[] {
  const sorted = [...items.keys()].toSorted((a, b) => (places[a] ?? a) - (places[b] ?? b));
  return sorted.map((index) => items[index] as T);
}

/** Further removals wait for the additions, because comparing all of them with overlapping additions would take too long. */
const urgentMax = 200;

/**
 * The additions, interleaved with equally urgent removals from the blocklist; all other removals follow. Lifting an urgent block, manually
 * or by expiry, takes no longer than setting one. This applies only to the blocklist, because lifting a block early takes access away
 * from no one. A removal stays behind every addition that shares an address with it, so that nothing is unblocked in between.
 * @param owned the record of the blocklist
 */
export function orderWrites(
  wanted: readonly WantedAdd[],
  removals: readonly RemoveEntry[],
  rules: readonly CompiledRule[],
  owned: ReadonlyMap<Entry, OwnedEntry>,
): readonly EntryWrite[] {
  const ordered = orderAdds(wanted);
  const priorities = new Map(
    rules.flatMap(({ id, rule: { priority } }) => (priority > 0 ? [[id, priority] as const] : [])),
  );
  const priorityOf = remembering((owners) =>
    Math.max(0, ...readOwners(owners).map((owner) => priorities.get(ruleIdOfOwner(owner) ?? "") ?? 0)),
  );
  const urgencyOf = (entry: Entry): number => priorityOf(owned.get(entry)?.owners ?? unknownOwners);
  const isUrgent = ({ list, entry }: RemoveEntry): boolean => list === "blocklist" && urgencyOf(entry) > 0;
  const urgent = ordered.length === 0 || priorities.size === 0 ? [] : removals.filter(isUrgent).slice(0, urgentMax);
  if (urgent.length === 0) return [...exceptionsFirst(ordered), ...removals];
  const near = new NetworkIndex(urgent.map(({ entry }) => entry));
  const lessUrgentIn = (some: readonly AddEntry[], urgency: number): number => {
    const place = some.findIndex(({ rules: [first = ""] }) => (priorities.get(first) ?? 0) < urgency);
    return place === -1 ? some.length : place;
  };
  const due = new Map(urgent.map(({ entry }) => [entry, lessUrgentIn(ordered, urgencyOf(entry))]));
  // An addition that must precede lifting a block is as urgent as lifting it.
  const early = ordered.map(({ list, entry }, place) => {
    const lifted = list === "blocklist" ? near.containing(entry) : undefined;
    return lifted === undefined ? place : Math.min(place, (due.get(lifted) ?? place) - 0.5);
  });
  const adds = exceptionsFirst(inPlaces(ordered, early));
  // Usually, there are none.
  const overlapping = [...adds.entries()].filter(
    ([, { list, entry }]) => list === "blocklist" && near.overlaps(entry) !== undefined,
  );
  const placeOf = (removal: RemoveEntry): number => {
    const index = new NetworkIndex([removal.entry]);
    const [last] = overlapping.findLast(([, { entry }]) => index.overlaps(entry) !== undefined) ?? [-1];
    return Math.max(lessUrgentIn(adds, urgencyOf(removal.entry)), 1 + last) - 0.5;
  };
  const placed = new Set(urgent);
  const others = removals.filter((removal) => !placed.has(removal));
  const places = [...adds.keys(), ...urgent.map(placeOf), ...others.map(() => adds.length)];
  return inPlaces([...adds, ...urgent, ...others], places);
}

/**
 * On a list that is nearly full, a removal makes room before an addition that would not fit. Removals that share no address with an
 * addition go first. An entry is removed before its replacement is added only if the list is completely full and there is no other
 * removal. Additions that still have no room are not sent.
 * @param shown the number of entries that each list shows
 */
export function orderForRoom(
  writes: readonly EntryWrite[],
  shown: Readonly<Record<ListName, number>>,
  limits: Readonly<Record<ListName, { readonly maxEntries: number | undefined }>>,
): { readonly writes: readonly EntryWrite[]; readonly noRoom: readonly AddEntry[] } {
  if (listNames.every((list) => limits[list].maxEntries === undefined)) return { writes, noRoom: [] };
  const sizes = { ...shown };
  const makingRoom = eachList((list) => removalsMakingRoom(writes, list));
  const noRoom: AddEntry[] = [];
  const placed = new Set<EntryWrite>();
  const place = (write: EntryWrite): void => {
    placed.add(write);
    sizes[write.list] += write.kind === "AddEntry" ? 1 : -1;
  };
  for (const write of writes) {
    if (placed.has(write)) continue;
    const { kind, list } = write;
    const { maxEntries = Number.POSITIVE_INFINITY } = limits[list];
    const isWithoutRoom = (): boolean => kind === "AddEntry" && sizes[list] >= maxEntries;
    while (isWithoutRoom()) {
      const { value: removal } = makingRoom[list].next();
      if (removal === undefined) break;
      if (!placed.has(removal)) place(removal);
    }
    if (kind === "AddEntry" && isWithoutRoom()) noRoom.push(write);
    else place(write);
  }
  return { writes: [...placed], noRoom };
}

/** The removals from a list: first those that share no address with an addition. */
function* removalsMakingRoom(writes: readonly EntryWrite[], list: ListName): Generator<RemoveEntry, undefined> {
  const ofList = writes.filter((write) => write.list === list);
  const added = new NetworkIndex(ofList.flatMap(({ kind, entry }) => (kind === "AddEntry" ? [entry] : [])));
  const removals = ofList.filter((write) => write.kind === "RemoveEntry");
  const isHarmless = ({ entry }: RemoveEntry): boolean => added.overlaps(entry) === undefined;
  yield* removals.filter(isHarmless);
  yield* removals.filter((removal) => !isHarmless(removal));
  return undefined;
}
