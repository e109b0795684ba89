// Sets of entries: what a list shows, and which networks cover or touch an address. Entries are canonical, so sets compare
// strings; only what is not known already is ever parsed.
import { type AddressFamily, type Network, firstAddress, lastAddress, readCanonical } from "./network.ts";
import { type Entry, isOpaque, readObservedEntry } from "./entry.ts";

/** Each entry of a list with its spellings there, in the list's order: the same network may be shown more than once. */
export type ObservedList = ReadonlyMap<Entry, readonly string[]>;

/**
 * Reads the texts of a list. A text that `known` has is taken for canonical as it stands and not parsed: pass the declared
 * entries, and a synced list of 100,000 costs 100,000 look-ups.
 */
export function observeSpellings(
  spellings: readonly string[],
  known: { has(text: string): boolean } = new Set<string>(),
): ObservedList {
  const observed = new Map<Entry, string[]>();
  for (const spelling of spellings) {
    const entry = known.has(spelling) ? (spelling as Entry) : readObservedEntry(spelling);
    const others = observed.get(entry);
    if (others === undefined) observed.set(entry, [spelling]);
    else others.push(spelling);
  }
  return observed;
}

/** A network as the interval of its addresses, written so that `<` on strings orders addresses: one character a part. */
interface Interval {
  readonly entry: Entry;
  readonly first: string;
  readonly last: string;
}

/**
 * Answers which of many networks cover or touch an entry, each in logarithmic time. IPv4 and IPv6 never overlap, and
 * opaque entries overlap nothing.
 */
export class NetworkIndex {
  /** By family: disjoint and in order. Networks inside another one are left out, since that one answers for them. */
  readonly #widest: Readonly<Record<AddressFamily, readonly Interval[]>>;

  constructor(entries: Iterable<Entry>) {
    const intervals: Record<AddressFamily, Interval[]> = { ipv4: [], ipv6: [] };
    for (const entry of entries) {
      if (isOpaque(entry)) continue;
      const network = readCanonical(entry);
      intervals[network.family].push(intervalOf(entry, network));
    }
    this.#widest = { ipv4: widestOf(intervals.ipv4), ipv6: widestOf(intervals.ipv6) };
  }

  /** An indexed entry that shares an address with this one: the widest, if it lies inside several. */
  overlaps(entry: Entry): Entry | undefined {
    if (isOpaque(entry)) return undefined;
    const network = readCanonical(entry);
    const asked = intervalOf(entry, network);
    const candidate = firstEndingAtOrAfter(this.#widest[network.family], asked.first);
    return candidate !== undefined && candidate.first <= asked.last ? candidate.entry : undefined;
  }

  /** The widest indexed entry that contains this one whole; it may be this one. */
  containing(entry: Entry): Entry | undefined {
    if (isOpaque(entry)) return undefined;
    const network = readCanonical(entry);
    const asked = intervalOf(entry, network);
    const candidate = firstEndingAtOrAfter(this.#widest[network.family], asked.first);
    const contains = candidate !== undefined && candidate.first <= asked.first && asked.last <= candidate.last;
    return contains ? candidate.entry : undefined;
  }
}

function intervalOf(entry: Entry, network: Network): Interval {
  const first = String.fromCharCode(...firstAddress(network));
  return { entry, first, last: String.fromCharCode(...lastAddress(network)) };
}

/**
 * For each entry the narrowest other one of them that contains it whole; the ones that lie in no other, and opaque ones,
 * are left out. Takes as long as sorting them.
 */
export function narrowestContainers(entries: Iterable<Entry>): ReadonlyMap<Entry, Entry> {
  const intervals: Record<AddressFamily, Interval[]> = { ipv4: [], ipv6: [] };
  for (const entry of new Set(entries)) {
    if (isOpaque(entry)) continue;
    const network = readCanonical(entry);
    intervals[network.family].push(intervalOf(entry, network));
  }
  const containers = new Map<Entry, Entry>();
  for (const family of ["ipv4", "ipv6"] as const) {
    const open: Interval[] = [];
    for (const interval of sortParentsFirst(intervals[family])) {
      while ((open.at(-1)?.last ?? interval.first) < interval.first) open.pop();
      const container = open.at(-1);
      if (container !== undefined) containers.set(interval.entry, container.entry);
      open.push(interval);
    }
  }
  return containers;
}

/** Two networks are nested or disjoint, so in order of their first address, the wider one first, parents precede. */
function sortParentsFirst(intervals: Interval[]): Interval[] {
  return intervals.sort((a, b) => compareText(a.first, b.first) || compareText(b.last, a.last));
}

function widestOf(intervals: Interval[]): readonly Interval[] {
  sortParentsFirst(intervals);
  const widest: Interval[] = [];
  for (const interval of intervals) {
    const previous = widest.at(-1);
    if (previous === undefined || interval.first > previous.last) widest.push(interval);
  }
  return widest;
}

function firstEndingAtOrAfter(intervals: readonly Interval[], address: string): Interval | undefined {
  let low = 0;
  let high = intervals.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const interval = intervals[middle];
    if (interval !== undefined && interval.last < address) low = middle + 1;
    else high = middle;
  }
  return intervals[low];
}

function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
