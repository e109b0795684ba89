// Networks for the oracle of the simulation: which addresses they contain and share, with only the type from src/model.
import type { Entry } from "../../../src/address/entry.ts";

interface Range {
  readonly family: 4 | 6;
  readonly first: bigint;
  readonly last: bigint;
}

export function isIpv6(entry: string): boolean {
  return entry.includes(":");
}

export function lengthOf(entry: string, whole: number): number {
  return Number(entry.split("/")[1] ?? whole);
}

/** Whether each address of the entry is in one of the others. A string that is not an address is covered only by itself. */
export function isCoveredBy(entry: string, others: Iterable<string>): boolean {
  const wanted = rangeOf(entry);
  const found: Range[] = [];
  for (const other of others) {
    if (other === entry) return true;
    const range = wanted === undefined ? undefined : rangeOf(other);
    if (range !== undefined && range.family === wanted?.family) found.push(range);
  }
  if (wanted === undefined) return false;
  let next = wanted.first;
  for (const { first, last } of found.toSorted((a, b) => (a.first < b.first ? -1 : 1))) {
    if (first > next || next > wanted.last) break;
    if (last >= next) next = last + 1n;
  }
  return next > wanted.last;
}

/** Whether the two share an address. */
export function sharesAddress(a: string, b: string): boolean {
  const [one, two] = [rangeOf(a), rangeOf(b)];
  if (one === undefined || two === undefined) return a === b;
  return one.family === two.family && one.first <= two.last && two.first <= one.last;
}

/** Walks through the addresses of an IPv4 network, and each time takes the widest network that starts at the address and fits. */
export function without(entry: Entry, networks: readonly string[]): readonly Entry[] {
  const [start, end] = boundsOf(entry);
  const holes = networks.map(boundsOf);
  const pieces: Entry[] = [];
  for (let address = start; address <= end;) {
    const hole = holes.find(([first, last]) => first <= address && address <= last);
    if (hole !== undefined) {
      address = hole[1] + 1;
      continue;
    }
    const limit = Math.min(end, ...holes.flatMap(([first]) => (first > address ? first - 1 : [])));
    let size = 1;
    while (address % (size * 2) === 0 && address + size * 2 - 1 <= limit) size *= 2;
    const octets = [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256).join(".");
    pieces.push((size === 1 ? octets : `${octets}/${32 - Math.log2(size)}`) as Entry);
    address += size;
  }
  return pieces;
}

/** First and last address of an IPv4 network, as numbers. */
function boundsOf(network: string): readonly [number, number] {
  const { first, last } = rangeOf(network) ?? { first: 0n, last: -1n };
  return [Number(first), Number(last)];
}

/** Seeds use different entries, so without a limit the memory of a worker would grow with each seed. */
const knownMax = 2_000;
const known = new Map<string, Range | undefined>();

function rangeOf(entry: string): Range | undefined {
  if (known.has(entry)) return known.get(entry);
  const range = readRange(entry);
  if (known.size >= knownMax) known.clear();
  known.set(entry, range);
  return range;
}

function readRange(entry: string): Range | undefined {
  const [address = "", lengthText] = entry.split("/");
  const family = address.includes(":") ? 6 : 4;
  const bits = family === 6 ? 128 : 32;
  const value = family === 6 ? groupsOf(address) : octetsOf(address);
  if (value === undefined) return undefined;
  const hosts = BigInt(bits - Number(lengthText ?? bits));
  const first = (value >> hosts) << hosts;
  return { family, first, last: first + (1n << hosts) - 1n };
}

function octetsOf(address: string): bigint | undefined {
  if (!/^\d+(?:\.\d+){3}$/.test(address)) return undefined;
  return address.split(".").reduce((value, octet) => value * 256n + BigInt(octet), 0n);
}

function groupsOf(address: string): bigint | undefined {
  if (!/^[0-9a-f:]+$/.test(address)) return undefined;
  const [head = "", tail] = address.split("::");
  const groups = (text: string): string[] => text.split(":").filter((group) => group !== "");
  const [before, after] = [groups(head), groups(tail ?? "")];
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => "0");
  return [...before, ...zeros, ...after].reduce((value, group) => value * 65_536n + BigInt(`0x${group}`), 0n);
}
