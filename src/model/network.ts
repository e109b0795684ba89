// Reads an address or a network from a string, and writes its canonical form. The only importer of ipaddr.js, which
// is lenient (it reads "010.0x1.5" as an address), so strings are checked before they are passed to it.
// A Network may have host bits set; everything derived from it masks them.
import ipaddr from "ipaddr.js";

export type AddressFamily = "ipv4" | "ipv6";

export interface Network {
  readonly family: AddressFamily;
  /** Four octets, or eight groups of 16 bits. */
  readonly parts: readonly number[];
  readonly prefixLength: number;
}

/** The parts of an address: the only difference between the families. */
const shapes = {
  ipv4: { bitsPerPart: 8, prefixLengthMax: 32 },
  ipv6: { bitsPerPart: 16, prefixLengthMax: 128 },
} as const;

/** The number of groups of an IPv6 address. */
const groupCount = 8;

/** IPv4 addresses written as IPv6 lie below ::ffff:0:0/96. */
export const mappedPrefixLength = 96;

const octet = "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)";
const ipv4Pattern = new RegExp(`^${octet}(?:\\.${octet}){3}$`);
const ipv6Alphabet = /^[0-9a-fA-F:]+$/;
const strictPrefixLength = /^(?:0|[1-9]\d{0,2})$/;
const lenientPrefixLength = /^\d{1,4}$/;

const dotCode = 46;
const zeroCode = 48;
const colonCode = 58;
/** The code of `a`: canonical strings are lowercase. */
const letterCode = 97;

/** `32` or `128`: the prefix length of one address. */
export function prefixLengthMax(family: AddressFamily): number {
  return shapes[family].prefixLengthMax;
}

/** A single address, without `/`. Undefined for everything that a strict parser refuses, and for addresses with a zone ID. */
export function readAddress(text: string): Network | undefined {
  if (ipv4Pattern.test(text)) {
    return { family: "ipv4", parts: ipaddr.IPv4.parse(text).octets, prefixLength: 32 };
  }
  if (!text.includes(":")) return undefined;
  const groups = withHexTail(text);
  if (groups === undefined || !ipv6Alphabet.test(groups)) return undefined;
  try {
    return { family: "ipv6", parts: ipaddr.IPv6.parse(groups).parts, prefixLength: 128 };
  } catch {
    return undefined; // A previous call of isValid would parse everything twice.
  }
}

/** An address or `address/length`. `lenient` accepts leading zeros in the length, because they are unambiguous. */
export function readNetwork(text: string, mode: "strict" | "lenient"): Network | undefined {
  const slash = text.lastIndexOf("/");
  if (slash < 0) return readAddress(text);
  const address = readAddress(text.slice(0, slash));
  const lengthText = text.slice(slash + 1);
  const pattern = mode === "strict" ? strictPrefixLength : lenientPrefixLength;
  if (address === undefined || !pattern.test(lengthText)) return undefined;
  const prefixLength = Number(lengthText);
  return prefixLength > address.prefixLength ? undefined : { ...address, prefixLength };
}

/**
 * Parses a canonical string much faster than a full check, because the guards parse every entry in every run. Not for other
 * strings.
 */
export function readCanonical(text: string): Network {
  const slash = text.indexOf("/");
  const end = slash < 0 ? text.length : slash;
  const family = text.includes(":") ? "ipv6" : "ipv4";
  const parts = family === "ipv4" ? canonicalOctets(text, end) : canonicalGroups(text, end);
  return { family, parts, prefixLength: slash < 0 ? prefixLengthMax(family) : Number(text.slice(slash + 1)) };
}

function canonicalOctets(text: string, end: number): number[] {
  const octets = [0, 0, 0, 0];
  let place = 0;
  let octet = 0;
  for (let index = 0; index < end; index += 1) {
    const code = text.charCodeAt(index);
    if (code === dotCode) {
      octets[place++] = octet;
      octet = 0;
    } else octet = octet * 10 + (code - zeroCode);
  }
  octets[place] = octet;
  return octets;
}

/** Groups are parsed from the front; groups after `::` are then moved to the end. */
function canonicalGroups(text: string, end: number): number[] {
  const groups = [0, 0, 0, 0, 0, 0, 0, 0];
  let place = 0;
  let group = 0;
  let gap = groupCount;
  for (let index = 0; index < end; index += 1) {
    const code = text.charCodeAt(index);
    if (code !== colonCode) {
      group = (group << 4) | (code < letterCode ? code - zeroCode : code - letterCode + 10);
      continue;
    }
    const isGap = text.charCodeAt(index + 1) === colonCode;
    // There is no group before a leading `::`.
    if (index > 0) groups[place++] = group;
    group = 0;
    if (!isGap) continue;
    gap = place;
    index += 1;
  }
  const isOpen = gap === place && text.charCodeAt(end - 1) === colonCode;
  if (!isOpen) groups[place++] = group;
  for (let from = place - 1, to = groupCount - 1; from >= gap && from < to; from -= 1, to -= 1) {
    groups[to] = groups[from] ?? 0;
    groups[from] = 0;
  }
  return groups;
}

/** Replaces the dotted tail of `::ffff:192.0.2.1` by two groups, because ipaddr.js reads some such tails differently. */
function withHexTail(text: string): string | undefined {
  if (!text.includes(".")) return text;
  const start = text.lastIndexOf(":") + 1;
  const tail = text.slice(start);
  if (!ipv4Pattern.test(tail)) return undefined;
  const [a = 0, b = 0, c = 0, d = 0] = tail.split(".").map(Number);
  return `${text.slice(0, start)}${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
}

export function hasHostBits(network: Network): boolean {
  return network.parts.some((part, position) => (part & hostMask(network, position)) !== 0);
}

/** True for `::ffff:a.b.c.d`, with any prefix length. */
export function isMapped({ family, parts }: Network): boolean {
  return family === "ipv6" && parts[5] === 0xffff && parts.slice(0, 5).every((part) => part === 0);
}

/** The IPv4 network of a mapped one; undefined if it is wider than all of IPv4. */
export function unmapped({ parts, prefixLength }: Network): Network | undefined {
  if (prefixLength < mappedPrefixLength) return undefined;
  const [high = 0, low = 0] = parts.slice(6);
  const octets = [high >> 8, high & 0xff, low >> 8, low & 0xff];
  return { family: "ipv4", parts: octets, prefixLength: prefixLength - mappedPrefixLength };
}

/** The canonical form (RFC 5952): without host bits, and without a prefix length for a single address. */
export function canonicalText(network: Network): string {
  const { family, prefixLength } = network;
  const parts = firstAddress(network);
  const address = family === "ipv4" ? parts.join(".") : new ipaddr.IPv6(parts).toRFC5952String();
  return prefixLength === prefixLengthMax(family) ? address : `${address}/${prefixLength}`;
}

export function firstAddress(network: Network): number[] {
  return network.parts.map((part, position) => part & ~hostMask(network, position));
}

export function lastAddress(network: Network): number[] {
  return network.parts.map((part, position) => part | hostMask(network, position));
}

/** The host bits of one part of the address. */
function hostMask({ family, prefixLength }: Network, position: number): number {
  const { bitsPerPart } = shapes[family];
  const networkBits = Math.min(Math.max(prefixLength - position * bitsPerPart, 0), bitsPerPart);
  return (1 << (bitsPerPart - networkBits)) - 1;
}
