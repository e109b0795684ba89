// The order of writes to a list that is nearly full: a removal makes room before an addition that would not fit. Removals that share
// no address with an addition go first. An entry is removed before its replacement is added only if the list is completely full and
// there is no other removal. Additions that still have no room are not sent.
import { type ListName, listNames } from "../model/declared.ts";
import { NetworkIndex } from "../address/ranges.ts";
import type { AddEntry, RemoveEntry } from "./order.ts";
import type { Entry } from "../address/entry.ts";
import type { OwnedEntry } from "../model/inventory.ts";
import type { ObservedEntries } from "../model/observed.ts";
import type { CompiledRule } from "./compiled-rule.ts";
import type { Declarers } from "./book.ts";

type EntryWrite = AddEntry | RemoveEntry;

export interface ListRoom {
  /** The number of entries that the list shows. */
  readonly shown: number;
  readonly maxEntries: number | undefined;
}

export interface OrderedForRoom {
  readonly writes: readonly EntryWrite[];
  readonly noRoom: readonly AddEntry[];
}

export function orderForRoom(
  writes: readonly EntryWrite[],
  rooms: Readonly<Record<ListName, ListRoom>>,
): OrderedForRoom {
  const full = listNames.filter((list) => {
    const { shown, maxEntries } = rooms[list];
    if (maxEntries === undefined) return false;
    const adds = writes.filter((write) => write.list === list && write.kind === "AddEntry").length;
    return adds > 0 && shown + adds > maxEntries;
  });
  return full.reduce<OrderedForRoom>((ordered, list) => orderForList(ordered, list, rooms[list]), {
    writes,
    noRoom: [],
  });
}

function orderForList(
  { writes, noRoom }: OrderedForRoom,
  list: ListName,
  { shown, maxEntries = Number.POSITIVE_INFINITY }: ListRoom,
): OrderedForRoom {
  const left = [...noRoom];
  const adds = writes.flatMap((write) => (write.list === list && write.kind === "AddEntry" ? [write.entry] : []));
  const added = new NetworkIndex(adds);
  const removals = writes.filter((write): write is RemoveEntry => write.list === list && write.kind === "RemoveEntry");
  const isHarmless = ({ entry }: RemoveEntry): boolean => added.overlaps(entry) === undefined;
  const makingRoom = [...removals.filter(isHarmless), ...removals.filter((removal) => !isHarmless(removal))].values();
  const placed = new Set<EntryWrite>();
  let size = shown;
  for (const write of writes) {
    if (write.list !== list || placed.has(write)) {
      placed.add(write);
      continue;
    }
    if (write.kind === "AddEntry") {
      while (size >= maxEntries) {
        const { value: removal } = makingRoom.next();
        if (removal === undefined) break;
        if (placed.has(removal)) continue;
        placed.add(removal);
        size -= 1;
      }
      if (size >= maxEntries) {
        left.push(write);
        continue;
      }
    }
    size += write.kind === "AddEntry" ? 1 : -1;
    placed.add(write);
  }
  return { writes: [...placed], noRoom: left };
}

export interface CapacityInput {
  readonly target: ReadonlyMap<Entry, Declarers>;
  readonly live: ObservedEntries;
  readonly owned: ReadonlyMap<Entry, OwnedEntry>;
  readonly maxEntries: number | undefined;
  /** Whether wafsync removes the entries of other writers. */
  readonly exclusive: boolean;
  /** Oldest first. */
  readonly rules: readonly CompiledRule[];
}

const nothingLeftOut: ReadonlySet<Entry> = new Set();

/**
 * The entries of the target that do not fit. A list accepts a limited number of entries. If not all of them fit, it gets, in this order:
 *
 * 1. entries of other writers, which wafsync does not remove;
 * 2. entries with higher priority;
 * 3. entries that are already on the list, so that a new rule with the same priority unblocks nothing;
 * 4. entries of older rules.
 */
export function leftOutOf({ target, live, owned, maxEntries, exclusive, rules }: CapacityInput): ReadonlySet<Entry> {
  if (maxEntries === undefined) return nothingLeftOut;
  const isForeign = (entry: Entry): boolean => live.has(entry) && !owned.has(entry);
  let room = maxEntries;
  if (!exclusive) for (const entry of live.keys()) if (!target.has(entry) && isForeign(entry)) room -= 1;
  if (target.size <= room) return nothingLeftOut;
  const ages = new Map(rules.map((rule, index) => [rule, index]));
  const ranked = [...target]
    .map(([entry, { rules: wantedBy }]) => ({
      entry,
      isFixed: isForeign(entry),
      priority: Math.max(...wantedBy.map(({ rule }) => rule.priority)),
      isLive: live.has(entry),
      age: Math.min(...wantedBy.map((rule) => ages.get(rule) ?? 0)),
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
