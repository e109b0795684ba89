// The order of writes to a list that is nearly full: a removal makes room before an addition that would not fit. Removals that share
// no address with an addition go first. An entry is removed before its replacement is added only if the list is completely full and
// there is no other removal. Additions that still have no room are not sent.
import { eachList, type ListName, listNames } from "../model/declared.ts";
import { NetworkIndex } from "../address/ranges.ts";
import type { AddEntry, EntryWrite, RemoveEntry } from "./order.ts";
import type { Entry } from "../address/entry.ts";
import type { OwnedEntry } from "../model/inventory.ts";
import type { ObservedEntries } from "../model/observed.ts";
import type { CompiledRule } from "./compiled-rule.ts";
import type { Declarers } from "./book.ts";

export interface OrderedForRoom {
  readonly writes: readonly EntryWrite[];
  readonly noRoom: readonly AddEntry[];
}

/** @param shown the number of entries that each list shows */
export function orderForRoom(
  writes: readonly EntryWrite[],
  shown: Readonly<Record<ListName, number>>,
  limits: Readonly<Record<ListName, { readonly maxEntries: number | undefined }>>,
): OrderedForRoom {
  const maxOf = (list: ListName): number => limits[list].maxEntries ?? Number.POSITIVE_INFINITY;
  const isFull = (list: ListName): boolean => {
    if (maxOf(list) === Number.POSITIVE_INFINITY) return false;
    const adds = writes.filter((write) => write.list === list && write.kind === "AddEntry").length;
    return adds > 0 && shown[list] + adds > maxOf(list);
  };
  const full = listNames.filter(isFull);
  if (full.length === 0) return { writes, noRoom: [] };
  const makingRoom = eachList((list) => (full.includes(list) ? removalsMakingRoom(writes, list) : []).values());
  const sizes = { ...shown };
  const noRoom: AddEntry[] = [];
  const placed = new Set<EntryWrite>();
  const place = (write: EntryWrite): void => {
    placed.add(write);
    sizes[write.list] += write.kind === "AddEntry" ? 1 : -1;
  };
  for (const write of writes) {
    if (placed.has(write)) continue;
    const { kind, list } = write;
    const isWithoutRoom = (): boolean => kind === "AddEntry" && sizes[list] >= maxOf(list);
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
function removalsMakingRoom(writes: readonly EntryWrite[], list: ListName): readonly RemoveEntry[] {
  const ofList = writes.filter((write) => write.list === list);
  const added = new NetworkIndex(ofList.flatMap(({ kind, entry }) => (kind === "AddEntry" ? [entry] : [])));
  const removals = ofList.filter((write): write is RemoveEntry => write.kind === "RemoveEntry");
  const isHarmless = ({ entry }: RemoveEntry): boolean => added.overlaps(entry) === undefined;
  return [...removals.filter(isHarmless), ...removals.filter((removal) => !isHarmless(removal))];
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
