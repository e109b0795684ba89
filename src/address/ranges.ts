// Ranges of addresses: which networks cover, overlap or contain an entry, the smallest set of networks with the same addresses, and
// what is left of a network without others. Two networks are nested or disjoint, so after sorting them by first address, wider
// networks first, each comes behind those that contain it.
import { type Entry, isOpaque, networkOf, readSpelling, toEntry } from "./entry.ts";
import { type Address, type AddressFamily, type Network, networkAt, prefixLengthMax } from "./network.ts";

const families = ["ipv4", "ipv6"] as const;

interface Item {
  readonly entry: Entry;
  readonly network: Network;
}

/** True if every address of `inner` is one of `outer`. */
export function contains(outer: Network, inner: Network): boolean {
  return outer.family === inner.family && outer.first <= inner.first && inner.last <= outer.last;
}

function overlap(a: Network, b: Network): boolean {
  return a.family === b.family && a.first <= b.last && b.first <= a.last;
}

/** By family, in order; without opaque entries, which have no addresses. */
function sortedItems(entries: Iterable<Entry>): Record<AddressFamily, Item[]> {
  const items: Record<AddressFamily, Item[]> = { ipv4: [], ipv6: [] };
  for (const entry of entries) {
    if (isOpaque(entry)) continue;
    const network = networkOf(entry);
    items[network.family].push({ entry, network });
  }
  for (const family of families) items[family].sort((a, b) => compareNetworks(a.network, b.network));
  return items;
}

function compareNetworks(a: Network, b: Network): number {
  return a.first < b.first ? -1 : a.first > b.first ? 1 : a.prefixLength - b.prefixLength;
}

/** Answers which of many networks cover or overlap an entry, each in logarithmic time. Opaque entries overlap nothing. */
export class NetworkIndex {
  /** By family: disjoint and in order. Networks inside another one are omitted, because the wider one answers for them. */
  readonly #widest: Readonly<Record<AddressFamily, readonly Item[]>>;

  constructor(entries: Iterable<Entry>) {
    const { ipv4, ipv6 } = sortedItems(entries);
    this.#widest = { ipv4: widestOf(ipv4), ipv6: widestOf(ipv6) };
  }

  /** The first indexed entry that overlaps this one: the widest, if it is inside several. */
  overlaps(asked: Entry | Network): Entry | undefined {
    return this.#first(asked, overlap);
  }

  /** The widest indexed entry that contains this one completely; it may be the entry itself. */
  containing(asked: Entry | Network): Entry | undefined {
    return this.#first(asked, contains);
  }

  /** The indexed entries inside this one, in order, without those inside another of them. */
  inside(asked: Entry | Network): readonly Entry[] {
    const network = asNetwork(asked);
    if (network === undefined) return [];
    const items = this.#widest[network.family];
    const found: Entry[] = [];
    for (let index = firstEndingAtOrAfter(items, network.first); index < items.length; index += 1) {
      const item = items[index];
      if (item === undefined || !contains(network, item.network)) break;
      found.push(item.entry);
    }
    return found;
  }

  #first(asked: Entry | Network, fits: (indexed: Network, asked: Network) => boolean): Entry | undefined {
    const network = asNetwork(asked);
    if (network === undefined) return undefined;
    const items = this.#widest[network.family];
    const candidate = items[firstEndingAtOrAfter(items, network.first)];
    return candidate !== undefined && fits(candidate.network, network) ? candidate.entry : undefined;
  }
}

function asNetwork(asked: Entry | Network): Network | undefined {
  if (typeof asked !== "string") return asked;
  return isOpaque(asked) ? undefined : networkOf(asked);
}

function widestOf(items: readonly Item[]): readonly Item[] {
  const widest: Item[] = [];
  for (const item of items) {
    const previous = widest.at(-1);
    if (previous === undefined || item.network.first > previous.network.last) widest.push(item);
  }
  return widest;
}

/** An index into `items`, which are disjoint and ordered; their number if all end before the address. */
function firstEndingAtOrAfter(items: readonly Item[], address: Address): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const item = items[middle];
    if (item !== undefined && item.network.last < address) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * For each entry, the narrowest other entry that contains it completely. Entries inside no other entry and opaque entries
 * are omitted. Takes as long as sorting them.
 */
export function narrowestContainers(entries: Iterable<Entry>): ReadonlyMap<Entry, Entry> {
  const items = sortedItems(new Set(entries));
  const containers = new Map<Entry, Entry>();
  for (const family of families) {
    const open: Item[] = [];
    for (const item of items[family]) {
      while ((open.at(-1)?.network.last ?? item.network.first) < item.network.first) open.pop();
      const container = open.at(-1);
      if (container !== undefined) containers.set(item.entry, container.entry);
      open.push(item);
    }
  }
  return containers;
}

/** The networks that contain an entry, without itself, narrowest first. */
export function networksAround(entry: Entry): Entry[] {
  if (isOpaque(entry)) return [];
  const { family, first, prefixLength } = networkOf(entry);
  return Array.from({ length: prefixLength }, (_, steps) =>
    toEntry(networkAt(family, first, prefixLength - 1 - steps)),
  );
}

/** Finds entries that cover one address or network among long lists of strings. */
export class AddressCover {
  readonly entry: Entry;
  readonly #network: Network;
  readonly #covering: ReadonlySet<string>;

  constructor(entry: Entry) {
    this.entry = entry;
    this.#network = networkOf(entry);
    this.#covering = new Set([entry, ...networksAround(entry)]);
  }

  /** Whether the entry contains the complete address or network. */
  has(entry: Entry): boolean {
    return this.#covering.has(entry);
  }

  /** The entry of a string if it contains the address, in any spelling; host bits are ignored. */
  find(text: string): Entry | undefined {
    if (this.#covering.has(text)) return text as Entry;
    const network = readSpelling(text);
    return network !== undefined && contains(network, this.#network) ? toEntry(network) : undefined;
  }
}

export interface Aggregated {
  /** The entries of the result, ordered by address. */
  readonly entries: readonly Entry[];
  /** How many of the given entries each entry of the result covers, unless it is one. */
  readonly lines: ReadonlyMap<Entry, number>;
}

interface Merged {
  readonly network: Network;
  /** Undefined for a merged network whose text is not made yet. */
  readonly entry: Entry | undefined;
  readonly lines: number;
}

/**
 * Merges networks into the smallest set with exactly the same addresses.
 * @param widest the shortest prefix lengths of merged networks
 */
export function aggregate(
  entries: Iterable<Entry>,
  widest: Readonly<Record<AddressFamily, number>> = { ipv4: 0, ipv6: 0 },
): Aggregated {
  const items = sortedItems(entries);
  const result: Entry[] = [];
  const lines = new Map<Entry, number>();
  for (const family of families) {
    for (const { network, entry = toEntry(network), lines: count } of mergedItems(items[family], widest[family])) {
      result.push(entry);
      if (count > 1) lines.set(entry, count);
    }
  }
  return { entries: result, lines };
}

function mergedItems(items: readonly Item[], widest: number): readonly Merged[] {
  const merged: Merged[] = [];
  for (const item of items) {
    const last = merged.at(-1);
    if (last !== undefined && last.network.last >= item.network.last) {
      merged[merged.length - 1] = { ...last, lines: last.lines + 1 };
      continue;
    }
    merged.push({ ...item, lines: 1 });
    while (mergeLast(merged, widest));
  }
  return merged;
}

function mergeLast(merged: Merged[], widest: number): boolean {
  const lower = merged.at(-2);
  const upper = merged.at(-1);
  if (lower === undefined || upper === undefined) return false;
  const { family, prefixLength, first } = lower.network;
  if (prefixLength !== upper.network.prefixLength || prefixLength <= widest) return false;
  const whole = networkAt(family, first, prefixLength - 1);
  if (whole.first !== first || whole.last !== upper.network.last) return false;
  merged.splice(-2, 2, { network: whole, entry: undefined, lines: lower.lines + upper.lines });
  return true;
}

/**
 * The rest of an entry without the given networks, ordered by address; empty if they cover all of it. Undefined if it needs more
 * than `piecesMax` networks. Opaque entries have no addresses, so they stay as they are.
 */
export function without(entry: Entry, cut: readonly Entry[], piecesMax: number): readonly Entry[] | undefined {
  if (isOpaque(entry)) return [entry];
  const pieces: Entry[] = [];
  const networks = cut.flatMap((other) => asNetwork(other) ?? []);
  return collectPieces(networkOf(entry), networks, pieces, piecesMax) ? pieces : undefined;
}

/** Halves the network until each part is either removed or kept. False as soon as there are too many parts. */
function collectPieces(network: Network, cut: readonly Network[], pieces: Entry[], piecesMax: number): boolean {
  const concerned = cut.filter((other) => overlap(other, network));
  if (concerned.length === 0) return pieces.push(toEntry(network)) <= piecesMax;
  if (concerned.some((other) => contains(other, network))) return true;
  // A network that contains another one is not a single address, so it can be halved.
  const { family, first, last, prefixLength } = network;
  const halves = [networkAt(family, first, prefixLength + 1), networkAt(family, last, prefixLength + 1)];
  return halves.every((half) => collectPieces(half, concerned, pieces, piecesMax));
}

/** The first network that covers addresses of the entry, and how many of these none covers. */
export function uncoveredBy(entry: Entry, covering: NetworkIndex): readonly [Entry?, bigint?] {
  if (isOpaque(entry)) return [];
  const around = covering.containing(entry);
  if (around !== undefined) return [around, 0n];
  const inside = covering.inside(entry);
  const [first] = inside;
  // They are disjoint.
  return first === undefined ? [] : [first, inside.reduce((count, other) => count - sizeOf(other), sizeOf(entry))];
}

function sizeOf(entry: Entry): bigint {
  const { family, prefixLength } = networkOf(entry);
  return 1n << BigInt(prefixLengthMax(family) - prefixLength);
}
