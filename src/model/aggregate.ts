// Merges networks into the smallest set with exactly the same addresses, cuts networks out of others, and counts addresses.
import { type Entry, isOpaque } from "./entry.ts";
import { type AddressFamily, canonicalText, prefixLengthMax, readCanonical } from "./network.ts";

/** A network as numbers: IPv4 addresses are numbers, IPv6 addresses are big integers. */
interface Span {
  readonly family: AddressFamily;
  readonly prefixLength: number;
  readonly first: number | bigint;
  readonly last: number | bigint;
}

export interface Aggregated {
  /** The entries of the result, ordered by address. */
  readonly entries: readonly Entry[];
  /** How many of the given entries each entry of the result stands for, unless it is one. */
  readonly lines: ReadonlyMap<Entry, number>;
}

/** @param widest the shortest prefix lengths of merged networks */
export function aggregate(
  entries: Iterable<Entry>,
  widest: Readonly<Record<AddressFamily, number>> = { ipv4: 0, ipv6: 0 },
): Aggregated {
  const merged: Entry[] = [];
  const lines = new Map<Entry, number>();
  const spans: Record<AddressFamily, Given[]> = { ipv4: [], ipv6: [] };
  for (const entry of entries) {
    if (isOpaque(entry)) merged.push(entry);
    else {
      const span = spanOf(entry);
      spans[span.family].push({ span, entry, lines: 1 });
    }
  }
  for (const family of ["ipv4", "ipv6"] as const) {
    for (const { span, entry = textOf(span), lines: count } of mergedSpans(spans[family], widest[family])) {
      merged.push(entry);
      if (count > 1) lines.set(entry, count);
    }
  }
  return { entries: merged, lines };
}

interface Given {
  readonly span: Span;
  /** Undefined for a merged network whose text is not made yet. */
  readonly entry: Entry | undefined;
  readonly lines: number;
}

/** Two networks are nested or disjoint, so one pass over the sorted networks sees each network behind those that contain it. */
function mergedSpans(given: Given[], widest: number): readonly Given[] {
  given.sort((a, b) => compare(a.span.first, b.span.first) || a.span.prefixLength - b.span.prefixLength);
  const merged: Given[] = [];
  for (const next of given) {
    const last = merged.at(-1);
    if (last !== undefined && last.span.last >= next.span.last) {
      merged[merged.length - 1] = { ...last, lines: last.lines + next.lines };
      continue;
    }
    merged.push(next);
    while (mergeLast(merged, widest));
  }
  return merged;
}

function mergeLast(merged: Given[], widest: number): boolean {
  const lower = merged.at(-2);
  const upper = merged.at(-1);
  if (lower === undefined || upper === undefined) return false;
  const { family, prefixLength, first } = lower.span;
  if (prefixLength !== upper.span.prefixLength || prefixLength <= widest) return false;
  const whole = spanAt(family, first, prefixLength - 1);
  if (whole.first !== first || whole.last !== upper.span.last) return false;
  merged.splice(-2, 2, { span: whole, entry: undefined, lines: lower.lines + upper.lines });
  return true;
}

/**
 * The rest of an entry without the given networks, ordered by address; empty if they cover all of it. Undefined if it needs more
 * than `piecesMax` networks. Opaque entries have no addresses, so they stay as they are.
 */
export function without(entry: Entry, cut: readonly Entry[], piecesMax: number): readonly Entry[] | undefined {
  if (isOpaque(entry)) return [entry];
  const spans = cut.flatMap((other) => (isOpaque(other) ? [] : [spanOf(other)]));
  const pieces: Entry[] = [];
  return collectPieces(spanOf(entry), spans, pieces, piecesMax) ? pieces : undefined;
}

/** Halves the network until each part is either removed or kept. False as soon as there are too many parts. */
function collectPieces(span: Span, cut: readonly Span[], pieces: Entry[], piecesMax: number): boolean {
  const concerned = cut.filter((other) => overlap(other, span));
  if (concerned.length === 0) return pieces.push(textOf(span)) <= piecesMax;
  if (concerned.some((other) => contains(other, span))) return true;
  // A network that contains another one is not a single address, so it can be halved.
  const { family, first, last, prefixLength } = span;
  const halves = [spanAt(family, first, prefixLength + 1), spanAt(family, last, prefixLength + 1)];
  return halves.every((half) => collectPieces(half, concerned, pieces, piecesMax));
}

/** How many addresses of an entry are in none of these disjoint networks inside it. */
export function countWithout(entry: Entry, inside: readonly Entry[]): bigint {
  return inside.reduce((count, other) => count - sizeOf(other), sizeOf(entry));
}

function sizeOf(entry: Entry): bigint {
  const { family, prefixLength } = spanOf(entry);
  return 1n << BigInt(prefixLengthMax(family) - prefixLength);
}

/** The networks that contain an entry, without itself, narrowest first. */
export function networksAround(entry: Entry): Entry[] {
  if (isOpaque(entry)) return [];
  const { family, first, prefixLength } = spanOf(entry);
  return Array.from({ length: prefixLength }, (_, steps) => textOf(spanAt(family, first, prefixLength - 1 - steps)));
}

function spanOf(entry: Entry): Span {
  const { family, parts, prefixLength } = readCanonical(entry);
  const address =
    family === "ipv4"
      ? parts.reduce((number, part) => number * 256 + part, 0)
      : parts.reduce((number, part) => (number << 16n) | BigInt(part), 0n);
  return spanAt(family, address, prefixLength);
}

/** The network of this length that contains the address. */
function spanAt(family: AddressFamily, address: number | bigint, prefixLength: number): Span {
  if (typeof address === "number") {
    const size = 2 ** (32 - prefixLength);
    const first = address - (address % size);
    return { family, prefixLength, first, last: first + size - 1 };
  }
  const hosts = (1n << BigInt(128 - prefixLength)) - 1n;
  const last = address | hosts;
  return { family, prefixLength, first: last - hosts, last };
}

function textOf({ family, prefixLength, first }: Span): Entry {
  const parts =
    typeof first === "number"
      ? [24, 16, 8, 0].map((shift) => (first >>> shift) & 0xff)
      : [112n, 96n, 80n, 64n, 48n, 32n, 16n, 0n].map((shift) => Number((first >> shift) & 0xffffn));
  return canonicalText({ family, parts, prefixLength }) as Entry;
}

function contains(outer: Span, inner: Span): boolean {
  return outer.family === inner.family && outer.first <= inner.first && inner.last <= outer.last;
}

function overlap(a: Span, b: Span): boolean {
  return a.family === b.family && a.first <= b.last && b.first <= a.last;
}

function compare(a: number | bigint, b: number | bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
