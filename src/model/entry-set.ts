// Sets of entries: what a list shows, and which networks cover or overlap an entry. Entries are canonical, so sets compare
// strings; only unknown strings are parsed.
import { type AddressRange, covers, rangeOf } from "./address-range.ts";
import { type Entry, readObservedEntry } from "./entry.ts";
import { type EntryHead, headOf } from "./entry-head.ts";
import type { AddressFamily } from "./network.ts";
import type { ObservedEntries } from "./observed.ts";
import { observeAgain } from "./observed-again.ts";

/**
 * Reads the strings of a list, in order; the list may show the same network more than once. A string that `known` contains is
 * canonical and not parsed: pass the declared entries, and a synced list of 100,000 entries costs 100,000 look-ups. `last` is
 * the result of an earlier read, which is returned if nothing has changed since.
 */
export function observeSpellings(
  spellings: readonly string[],
  known: { has(text: string): boolean } = new Set<string>(),
  last?: ObservedEntries,
): ObservedEntries {
  const entryOf = (spelling: string): Entry =>
    known.has(spelling) ? (spelling as Entry) : readObservedEntry(spelling);
  const again = last === undefined ? undefined : observeAgain(spellings, last, entryOf);
  if (again !== undefined) return again;
  const observed = new Map<Entry, string[]>();
  for (const spelling of spellings) {
    const entry = entryOf(spelling);
    const others = observed.get(entry);
    if (others === undefined) observed.set(entry, [spelling]);
    else others.push(spelling);
  }
  return observed;
}

/**
 * Answers which of many networks cover or overlap an entry, each in logarithmic time. IPv4 and IPv6 never overlap, and
 * opaque entries overlap nothing.
 */
export class NetworkIndex {
  /** By family: disjoint and in order. Networks inside another one are omitted, because the wider one answers for them. */
  readonly #widest: Readonly<Record<AddressFamily, readonly AddressRange[]>>;
  /** The heads of the same networks. */
  readonly #heads: Readonly<Record<AddressFamily, readonly EntryHead[]>>;

  constructor(entries: Iterable<Entry>) {
    const ranges = rangesByFamily(entries);
    this.#widest = { ipv4: widestOf(ranges.ipv4), ipv6: widestOf(ranges.ipv6) };
    const headsOf = (widest: readonly AddressRange[]): EntryHead[] => widest.map(({ entry }) => headOf(entry));
    this.#heads = { ipv4: headsOf(this.#widest.ipv4), ipv6: headsOf(this.#widest.ipv6) };
  }

  /** False if no indexed entry overlaps the one with this head. If true, a full check is necessary. */
  mayOverlap({ family, firstBits, lastBits }: EntryHead): boolean {
    const heads = this.#heads[family];
    let low = 0;
    let high = heads.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const head = heads[middle];
      if (head !== undefined && head.lastBits < firstBits) low = middle + 1;
      else high = middle;
    }
    const candidate = heads[low];
    return candidate !== undefined && candidate.firstBits <= lastBits;
  }

  /** The first indexed entry that overlaps this one: the widest, if it is inside several. */
  overlaps(entry: Entry): Entry | undefined {
    const range = rangeOf(entry);
    if (range === undefined) return undefined;
    const ranges = this.#widest[range.family];
    const candidate = ranges[firstEndingAtOrAfter(ranges, range.first)];
    return candidate !== undefined && candidate.first <= range.last ? candidate.entry : undefined;
  }

  /** The widest indexed entry that contains this one completely; it may be the entry itself. */
  containing(entry: Entry): Entry | undefined {
    const range = rangeOf(entry);
    if (range === undefined) return undefined;
    const ranges = this.#widest[range.family];
    const candidate = ranges[firstEndingAtOrAfter(ranges, range.first)];
    return candidate !== undefined && covers(candidate, range) ? candidate.entry : undefined;
  }

  /** The indexed entries inside this one, in order, without those inside another of them. */
  inside(entry: Entry): readonly Entry[] {
    const range = rangeOf(entry);
    if (range === undefined) return [];
    const ranges = this.#widest[range.family];
    const found: Entry[] = [];
    for (let index = firstEndingAtOrAfter(ranges, range.first); index < ranges.length; index += 1) {
      const candidate = ranges[index];
      if (candidate === undefined || !covers(range, candidate)) break;
      found.push(candidate.entry);
    }
    return found;
  }
}

function rangesByFamily(entries: Iterable<Entry>): Record<AddressFamily, AddressRange[]> {
  const ranges: Record<AddressFamily, AddressRange[]> = { ipv4: [], ipv6: [] };
  for (const entry of entries) {
    const range = rangeOf(entry);
    if (range !== undefined) ranges[range.family].push(range);
  }
  return ranges;
}

/**
 * For each entry, the narrowest other entry that contains it completely. Entries inside no other entry and opaque entries
 * are omitted. Takes as long as sorting them.
 */
export function narrowestContainers(entries: Iterable<Entry>): ReadonlyMap<Entry, Entry> {
  const ranges = rangesByFamily(new Set(entries));
  const containers = new Map<Entry, Entry>();
  for (const family of ["ipv4", "ipv6"] as const) {
    const open: AddressRange[] = [];
    for (const range of sortParentsFirst(ranges[family])) {
      while ((open.at(-1)?.last ?? range.first) < range.first) open.pop();
      const container = open.at(-1);
      if (container !== undefined) containers.set(range.entry, container.entry);
      open.push(range);
    }
  }
  return containers;
}

/** Two networks are nested or disjoint. So if they are sorted by first address, wider networks first, parents come first. */
function sortParentsFirst(ranges: AddressRange[]): AddressRange[] {
  return ranges.sort((a, b) => compareText(a.first, b.first) || compareText(b.last, a.last));
}

function widestOf(ranges: AddressRange[]): readonly AddressRange[] {
  sortParentsFirst(ranges);
  const widest: AddressRange[] = [];
  for (const range of ranges) {
    const previous = widest.at(-1);
    if (previous === undefined || range.first > previous.last) widest.push(range);
  }
  return widest;
}

/** An index into `ranges`, which are disjoint and ordered; the number of ranges if all end before the address. */
function firstEndingAtOrAfter(ranges: readonly AddressRange[], address: string): number {
  let low = 0;
  let high = ranges.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const range = ranges[middle];
    if (range !== undefined && range.last < address) low = middle + 1;
    else high = middle;
  }
  return low;
}

function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
