// The order of writes to a list that is nearly full: a removal makes room before an addition that would not fit. Removals that share
// no address with an addition go first. An entry is removed before its replacement is added only if the list is completely full and
// there is no other removal. Additions that still have no room are not sent.
import type { ListName } from "../model/declared.ts";
import { listNames } from "../model/declared.ts";
import { NetworkIndex } from "../address/ranges.ts";
import type { AddEntry } from "./order.ts";
import type { RemoveEntry } from "./urgent-removals.ts";

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
