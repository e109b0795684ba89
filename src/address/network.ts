// An address or a network as numbers, and its canonical text. The only importer of ipaddr.js, which is lenient (it reads "010.0x1.5" as
// an address), so texts are checked before they are passed to it.
import ipaddr from "ipaddr.js";

export type AddressFamily = "ipv4" | "ipv6";

/** IPv4 addresses are numbers, IPv6 addresses are big integers. JavaScript compares both with `<`. */
export type Address = number | bigint;

export interface Network {
  readonly family: AddressFamily;
  readonly prefixLength: number;
  readonly first: Address;
  readonly last: Address;
}

/** A network as it is written: the address may have host bits. */
export interface WrittenNetwork extends Network {
  readonly address: Address;
}

/** IPv4 addresses written as IPv6 lie below ::ffff:0:0/96. */
export const mappedPrefixLength = 96;

const ipv4Bits = 32;
const ipv6Bits = 128;
const mappedMark = 0xffffn;
const ipv6Alphabet = /^[0-9a-fA-F:]+$/;
const strictPrefixLength = /^(?:0|[1-9]\d{0,2})$/;
const lenientPrefixLength = /^\d{1,4}$/;
const octet = String.raw`(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)`;
const dottedQuad = new RegExp(String.raw`^${octet}(?:\.${octet}){3}$`);
const dotCode = 46;
const zeroCode = 48;

/** True for a single IPv4 address in the form that nearly all lists use, which is its canonical form. */
export function isDottedQuad(text: string): boolean {
  return dottedQuad.test(text);
}

/** The 32 bits of a dotted quad. Lists of 100,000 lines pass through it without an object for each line. */
function bitsOf(quad: string): number {
  let address = 0;
  let octet = 0;
  for (let index = 0; index < quad.length; index += 1) {
    const code = quad.charCodeAt(index);
    if (code === dotCode) {
      address = address * 256 + octet;
      octet = 0;
    } else octet = octet * 10 + code - zeroCode;
  }
  return address * 256 + octet;
}

/** `32` or `128`: the prefix length of one address. */
export function prefixLengthMax(family: AddressFamily): number {
  return family === "ipv4" ? ipv4Bits : ipv6Bits;
}

/** The network of this length that contains the address. */
export function networkAt(family: AddressFamily, address: Address, prefixLength: number): Network {
  if (typeof address === "number") {
    const size = 2 ** (ipv4Bits - prefixLength);
    const first = address - (address % size);
    return { family, prefixLength, first, last: first + size - 1 };
  }
  const hosts = (1n << BigInt(ipv6Bits - prefixLength)) - 1n;
  const last = address | hosts;
  return { family, prefixLength, first: last - hosts, last };
}

/** A single address, without `/`. Undefined for everything that a strict parser refuses, and for addresses with a zone ID. */
export function readAddress(text: string): WrittenNetwork | undefined {
  if (isDottedQuad(text)) return written("ipv4", bitsOf(text), ipv4Bits);
  if (!text.includes(":")) return undefined;
  const groups = withHexTail(text);
  if (groups === undefined || !ipv6Alphabet.test(groups)) return undefined;
  try {
    return written("ipv6", fromGroups(ipaddr.IPv6.parse(groups).parts), ipv6Bits);
  } catch {
    return undefined; // A previous call of isValid would parse everything twice.
  }
}

/** An address or `address/length`. `lenient` accepts leading zeros in the length, because they are unambiguous. */
export function readNetwork(text: string, mode: "strict" | "lenient"): WrittenNetwork | undefined {
  const slash = text.lastIndexOf("/");
  if (slash < 0) return readAddress(text);
  const read = readAddress(text.slice(0, slash));
  const lengthText = text.slice(slash + 1);
  const pattern = mode === "strict" ? strictPrefixLength : lenientPrefixLength;
  if (read === undefined || !pattern.test(lengthText)) return undefined;
  const prefixLength = Number(lengthText);
  return prefixLength > read.prefixLength ? undefined : written(read.family, read.address, prefixLength);
}

/** The network of a canonical text. */
export function readCanonical(text: string): Network {
  const slash = text.indexOf("/");
  const address = slash < 0 ? text : text.slice(0, slash);
  const prefixLength = slash < 0 ? undefined : Number(text.slice(slash + 1));
  if (!text.includes(":")) return networkAt("ipv4", bitsOf(address), prefixLength ?? ipv4Bits);
  return networkAt("ipv6", fromGroups(ipaddr.IPv6.parse(address).parts), prefixLength ?? ipv6Bits);
}

/** True for `::ffff:a.b.c.d`, with any prefix length. */
export function isMapped({ address }: WrittenNetwork): boolean {
  return typeof address === "bigint" && address >> BigInt(ipv4Bits) === mappedMark;
}

/** The IPv4 network of a mapped one; undefined if it is wider than all of IPv4. */
export function unmapped({ address, prefixLength }: WrittenNetwork): WrittenNetwork | undefined {
  if (prefixLength < mappedPrefixLength) return undefined;
  return written("ipv4", Number(BigInt.asUintN(ipv4Bits, BigInt(address))), prefixLength - mappedPrefixLength);
}

/** The canonical form (RFC 5952): without host bits, and without a prefix length for a single address. */
export function canonicalText({ family, prefixLength, first }: Network): string {
  const parts = partsOf(first);
  const address = family === "ipv4" ? parts.join(".") : new ipaddr.IPv6(parts).toRFC5952String();
  return prefixLength === prefixLengthMax(family) ? address : `${address}/${prefixLength}`;
}

/** The octets of an IPv4 address, or the groups of an IPv6 address. */
export function partsOf(address: Address): number[] {
  if (typeof address === "number") return [24, 16, 8, 0].map((shift) => (address >>> shift) & 0xff);
  return [112n, 96n, 80n, 64n, 48n, 32n, 16n, 0n].map((shift) => Number((address >> shift) & 0xffffn));
}

function written(family: AddressFamily, address: Address, prefixLength: number): WrittenNetwork {
  return { ...networkAt(family, address, prefixLength), address };
}

function fromGroups(groups: readonly number[]): bigint {
  const word = (place: number): bigint => BigInt((groups[place] ?? 0) * 2 ** 16 + (groups[place + 1] ?? 0));
  return (word(0) << 96n) | (word(2) << 64n) | (word(4) << 32n) | word(6);
}

/** Replaces the dotted tail of `::ffff:192.0.2.1` by two groups, because ipaddr.js reads some such tails differently. */
function withHexTail(text: string): string | undefined {
  if (!text.includes(".")) return text;
  const start = text.lastIndexOf(":") + 1;
  const quad = text.slice(start);
  if (!isDottedQuad(quad)) return undefined;
  const bits = bitsOf(quad);
  return `${text.slice(0, start)}${(bits >>> 16).toString(16)}:${(bits & 0xffff).toString(16)}`;
}
