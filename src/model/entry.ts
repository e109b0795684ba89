// Addresses and networks in their one canonical spelling, so that equal entries are equal strings.
// What users declare is read strictly: a text that two programs might read differently is refused, never guessed at.
// What the WAF shows is read leniently: whatever it made of an address, it is still that address.
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

/** No address starts like this. */
const opaqueMark = "?";

/**
 * Reads an entry as a user declared it: what Kubernetes admits by `isIP(self) || isCIDR(self)`, less networks with host
 * bits. Every network is accepted, however wide: guards decide on that.
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
 * Reads an entry as the WAF shows it. Never fails: a text that is no address becomes an opaque entry, which equals no
 * declared one, so that it counts as foreign.
 */
export function readObservedEntry(text: string): Entry {
  if (isCanonicalIpv4(text)) return text as Entry;
  const trimmed = text.trim();
  const network = readNetwork(trimmed, "lenient");
  if (network === undefined) return `${opaqueMark}${trimmed}` as Entry;
  return toEntry((isMapped(network) ? unmapped(network) : undefined) ?? network);
}

/** True for what the WAF shows and is no address. */
export function isOpaque(entry: Entry): boolean {
  return entry.startsWith(opaqueMark);
}

/** Not for opaque entries: it throws. */
export function familyOf(entry: Entry): AddressFamily {
  if (isOpaque(entry)) throw new TypeError(`${entry} has no address family: ask isOpaque first`);
  return entry.includes(":") ? "ipv6" : "ipv4";
}

/** 32 or 128 for a single address. Not for opaque entries: it throws. */
export function prefixLengthOf(entry: Entry): number {
  const slash = entry.lastIndexOf("/");
  const family = familyOf(entry);
  return slash < 0 ? prefixLengthMax(family) : Number(entry.slice(slash + 1));
}

function toEntry(network: Network): Entry {
  return canonicalText(network) as Entry;
}
