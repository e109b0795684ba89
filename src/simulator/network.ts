// Parses and spells addresses and CIDR ranges as the simulated WAF does: which strings it accepts, which strings mean the same
// network, and how it shows them.
// Node's own parsers decide what an address is; a string with a zone, a leading zero or whitespace has a bad format. An
// IPv4-mapped IPv6 address is a separate IPv6 network.
import { isIP } from "node:net";
import { hashNumbers } from "./seeded-hash.ts";

export interface Network {
  readonly family: 4 | 6;
  /** The address as written, host bits included. */
  readonly hostValue: bigint;
  /** The address with its host bits set to zero. */
  readonly maskedValue: bigint;
  readonly prefixLength: number;
  /** Whether the text had a `/`. */
  readonly hasPrefix: boolean;
}

/** The longest CIDR range in full spelling has 43 characters; the mapped form with dots has a few more. */
const textLengthMax = 64;

/** @returns the network, or undefined if the WAF would report a bad format */
export function parseNetwork(text: string): Network | undefined {
  if (text.length > textLengthMax) return undefined;
  const slash = text.indexOf("/");
  const address = slash === -1 ? text : text.slice(0, slash);
  const family = isIP(address);
  if ((family !== 4 && family !== 6) || address.includes("%")) return undefined;
  const bits = addressBits(family);
  const prefixLength = slash === -1 ? bits : parsePrefixLength(text.slice(slash + 1), bits);
  if (prefixLength === undefined) return undefined;
  const hostValue = family === 4 ? valueOfIpv4(address) : valueOfIpv6(address);
  const hostBits = BigInt(bits - prefixLength);
  const maskedValue = (hostValue >> hostBits) << hostBits;
  return { family, hostValue, maskedValue, prefixLength, hasPrefix: slash !== -1 };
}

/** A string that is the same for all spellings of a network, and different for different networks. */
export function networkIdentity(network: Network): string {
  return `${network.family}:${network.maskedValue.toString(16)}/${network.prefixLength}`;
}

/** 32 or 128. */
export function addressBits(family: 4 | 6): number {
  return family === 4 ? 32 : 128;
}

/** Dotted for IPv4; for IPv6 the usual short form, or all eight groups of four digits. */
export function formatAddress(family: 4 | 6, value: bigint, form: "Short" | "Expanded"): string {
  if (family === 4) return groupsOf(value, 4, 8n).join(".");
  const groups = groupsOf(value, 8, 16n).map((group) => group.toString(16));
  if (form === "Expanded") return groups.map((group) => group.padStart(4, "0")).join(":");
  return new URL(`http://[${groups.join(":")}]/`).hostname.slice(1, -1);
}

function parsePrefixLength(text: string, bits: number): number | undefined {
  if (!/^(0|[1-9][0-9]{0,2})$/u.test(text)) return undefined;
  const prefixLength = Number(text);
  return prefixLength <= bits ? prefixLength : undefined;
}

function valueOfIpv4(address: string): bigint {
  return address.split(".").reduce((value, octet) => value * 256n + BigInt(octet), 0n);
}

/** The URL parser writes an IPv6 host in its short form, without dots, so only `::` has to be expanded. */
function valueOfIpv6(address: string): bigint {
  const short = new URL(`http://[${address}]/`).hostname.slice(1, -1);
  const [head = "", tail] = short.split("::");
  const headGroups = head === "" ? [] : head.split(":");
  const tailGroups = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = Array.from({ length: 8 - headGroups.length - tailGroups.length }, () => "0");
  const groups = tail === undefined ? headGroups : [...headGroups, ...zeros, ...tailGroups];
  return groups.reduce((value, group) => value * 65_536n + BigInt(`0x${group}`), 0n);
}

function groupsOf(value: bigint, count: number, bitsPerGroup: bigint): number[] {
  const mask = (1n << bitsPerGroup) - 1n;
  return Array.from({ length: count }, (_, index) =>
    Number((value >> (BigInt(count - 1 - index) * bitsPerGroup)) & mask),
  );
}

/** How the simulated WAF spells the entries of its lists. Every mode spells the same network with different characters. */
const plainModes = ["AsGiven", "AddPrefix", "DropPrefix", "Expanded", "UpperCase", "Masked"] as const;
type PlainMode = (typeof plainModes)[number];

/**
 * - `AsGiven`: as it was sent. `AddPrefix`: single addresses get `/32` or `/128`. `DropPrefix`: single addresses have none.
 * - `Expanded`: IPv6 with all digits. `UpperCase`: IPv6 in capitals. `Masked`: all host bits are zero, and IPv6 is written in its short form.
 * - `Mixed`: each entry in one of these modes, always the same mode for the same network.
 */
export const spellingModes = [...plainModes, "Mixed"] as const;
export type SpellingMode = (typeof spellingModes)[number];

/** The entry as the list shows it in this mode. */
export function spellEntry(given: string, network: Network, mode: SpellingMode): string {
  const { maskedValue, prefixLength } = network;
  const drawn = (): PlainMode => {
    const number = hashNumbers(Number(maskedValue % 0xff_ff_ff_fbn), prefixLength);
    return plainModes[number % plainModes.length] ?? "AsGiven";
  };
  return spellers[mode === "Mixed" ? drawn() : mode](given, network);
}

const spellers: Readonly<Record<PlainMode, (given: string, network: Network) => string>> = {
  AsGiven: (given) => given,
  AddPrefix: (given, { hasPrefix, prefixLength }) => (hasPrefix ? given : `${given}/${prefixLength}`),
  DropPrefix: (given, { hasPrefix, prefixLength, family }) =>
    hasPrefix && prefixLength === addressBits(family) ? given.slice(0, given.indexOf("/")) : given,
  Expanded: (_given, network) => formatAddress(network.family, network.hostValue, "Expanded") + suffixOf(network),
  UpperCase: (given) => given.toUpperCase(),
  Masked: (_given, network) => formatAddress(network.family, network.maskedValue, "Short") + suffixOf(network),
};

function suffixOf({ hasPrefix, prefixLength }: Network): string {
  return hasPrefix ? `/${prefixLength}` : "";
}
