// Sorts by entry, as strings. Uses a radix sort for IPv4, because comparing 100,000 strings takes longer than the rest of a plan: the
// string order of addresses is the string order of their octets, since the characters that follow an octet sort before any digit.
import { type Entry, isOpaque } from "./entry.ts";
import { finished } from "./finished.ts";

interface WithEntry {
  readonly entry: Entry;
}

/** For fewer entries, a comparison sort is as fast. */
const radixFrom = 256;
const digits = 256;
const digitMask = digits - 1;
const digitShifts = [0, 8, 16, 24] as const;

const dotCode = 46;
const zeroCode = 48;

/** The position of each number when all are sorted as strings: `0`, `1`, `10`, `100`, `101`, …. */
const textRanks = ranksAsText(digits);
/** A single address comes before the networks that start with it. */
const noLengthRank = 0;
const lengthRanks = ranksAsText(33).map((rank) => rank + 1);

function ranksAsText(count: number): Uint32Array {
  const sorted = Array.from({ length: count }, (_, number) => String(number)).sort();
  const ranks = new Uint32Array(count);
  for (const [rank, text] of sorted.entries()) ranks[Number(text)] = rank;
  return ranks;
}

/** The items sorted by their entries, as strings. No two items may have the same entry. */
export function sortByEntry<T extends WithEntry>(items: readonly T[]): T[] {
  return finished(sortInSlices(items));
}

export function* sortInSlices<T extends WithEntry>(items: readonly T[]): Generator<undefined, T[]> {
  if (items.length < radixFrom) return items.toSorted(byEntry);
  const addresses: T[] = [];
  const others: T[] = [];
  for (const item of items) (item.entry.includes(":") || isOpaque(item.entry) ? others : addresses).push(item);
  yield undefined;
  others.sort(byEntry);
  yield undefined;
  return merged(yield* sortIpv4(addresses), others);
}

function byEntry(a: WithEntry, b: WithEntry): number {
  if (a.entry === b.entry) return 0;
  return a.entry < b.entry ? -1 : 1;
}

function merged<T extends WithEntry>(left: T[], right: T[]): T[] {
  if (right.length === 0) return left;
  const all: T[] = [];
  let next = 0;
  for (const item of left) {
    for (let other = right[next]; other !== undefined && byEntry(other, item) < 0; other = right[next]) {
      all.push(other);
      next += 1;
    }
    all.push(item);
  }
  return all.concat(right.slice(next));
}

function* sortIpv4<T extends WithEntry>(items: readonly T[]): Generator<undefined, T[]> {
  const addressKeys = new Uint32Array(items.length);
  const lengthKeys = new Uint32Array(items.length);
  for (let index = 0; index < items.length; index += 1) {
    const { entry } = items[index] as T;
    const slash = entry.indexOf("/");
    addressKeys[index] = addressKey(entry, slash === -1 ? entry.length : slash);
    lengthKeys[index] = slash === -1 ? noLengthRank : (lengthRanks[Number(entry.slice(slash + 1))] ?? 0);
  }
  // Each pass keeps the previous order among equal digits, so the last digit comes first.
  let order = new Uint32Array(items.length);
  for (let index = 0; index < order.length; index += 1) order[index] = index;
  yield undefined;
  order = passOver(order, lengthKeys, 0);
  for (const shift of digitShifts) {
    yield undefined;
    order = passOver(order, addressKeys, shift);
  }
  yield undefined;
  const sorted: T[] = [];
  for (const index of order) sorted.push(items[index] as T);
  return sorted;
}

function addressKey(entry: Entry, end: number): number {
  let key = 0;
  let octet = 0;
  for (let index = 0; index < end; index += 1) {
    const code = entry.charCodeAt(index);
    if (code !== dotCode) octet = octet * 10 + (code - zeroCode);
    else {
      key = key * digits + (textRanks[octet] ?? 0);
      octet = 0;
    }
  }
  return key * digits + (textRanks[octet] ?? 0);
}

function passOver(order: Uint32Array, keys: Uint32Array, shift: number): Uint32Array<ArrayBuffer> {
  const starts = new Uint32Array(digits + 1);
  for (const index of order) starts[(((keys[index] ?? 0) >>> shift) & digitMask) + 1]! += 1;
  for (let digit = 0; digit < digits; digit += 1) starts[digit + 1]! += starts[digit] ?? 0;
  const next = new Uint32Array(order.length);
  for (const index of order) {
    const digit = ((keys[index] ?? 0) >>> shift) & digitMask;
    const place = starts[digit] ?? 0;
    next[place] = index;
    starts[digit] = place + 1;
  }
  return next;
}
