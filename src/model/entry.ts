// Addresses and networks in their canonical form, so equal entries are equal strings.
// Declared entries are read strictly: a string that two programs could read differently is refused, never guessed.
// The WAF's entries are read leniently: in any spelling, an address is still the same address.
import { isCanonicalIpv4 } from "./canonical-ipv4.ts";
import { type EntryFault, entryLengthMax, hostBitsFault, mappedFault, unreadableFault } from "./entry-fault.ts";
import {
  type AddressFamily,
  type Network,
  canonicalText,
  hasHostBits,
  isMapped,
  prefixLengthMax,
  readNetwork,
  unmapped,
} from "./network.ts";

declare const brand: unique symbol;
/** A canonical address or network. */
export type Entry = string & { readonly [brand]: "Entry" };

export type ParsedEntry =
  | { readonly ok: true; readonly entry: Entry }
  | { readonly ok: false; readonly fault: EntryFault };

/** No address starts with this character. */
const opaqueMark = "?";

/**
 * Reads an entry as a user declared it: strings that Kubernetes accepts by `isIP(self) || isCIDR(self)`, except networks with host
 * bits. Networks of any width are accepted: the guards check the width.
 */
export function parseDeclaredEntry(text: string): ParsedEntry {
  if (isCanonicalIpv4(text)) return { ok: true, entry: text as Entry };
  const network = text.length > entryLengthMax ? undefined : readNetwork(text, "strict");
  if (network === undefined) return { ok: false, fault: unreadableFault(text) };
  if (isMapped(network)) return { ok: false, fault: mappedFault(text, network) };
  if (hasHostBits(network)) return { ok: false, fault: hostBitsFault(text, network) };
  return { ok: true, entry: toEntry(network) };
}

/**
 * Reads an entry as the WAF shows it. Never fails: a string that is not an address becomes an opaque entry. It never equals a
 * declared entry, so it counts as foreign.
 */
export function readObservedEntry(text: string): Entry {
  if (isCanonicalIpv4(text)) return text as Entry;
  const trimmed = text.trim();
  const network = readNetwork(trimmed, "lenient");
  if (network === undefined) return `${opaqueMark}${trimmed}` as Entry;
  return toEntry((isMapped(network) ? unmapped(network) : undefined) ?? network);
}

/** True if the WAF shows a string that is not an address. */
export function isOpaque(entry: Entry): boolean {
  return entry.startsWith(opaqueMark);
}

/** Throws for opaque entries. */
export function familyOf(entry: Entry): AddressFamily {
  if (isOpaque(entry)) throw new TypeError(`${entry} has no address family: ask isOpaque first`);
  return entry.includes(":") ? "ipv6" : "ipv4";
}

/** 32 or 128 for a single address. Throws for opaque entries. */
export function prefixLengthOf(entry: Entry): number {
  const slash = entry.lastIndexOf("/");
  const family = familyOf(entry);
  return slash < 0 ? prefixLengthMax(family) : Number(entry.slice(slash + 1));
}

function toEntry(network: Network): Entry {
  return canonicalText(network) as Entry;
}
