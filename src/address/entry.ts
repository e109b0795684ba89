// Addresses and networks in their canonical form, so equal entries are equal strings.
// Declared entries are read strictly: a string that two programs could read differently is refused, never guessed.
// The WAF's entries are read leniently: in any spelling, an address is still the same address.
import { entryLengthMax, hostBitsFault, mappedFault, unreadableFault } from "./entry-fault.ts";
import {
  canonicalText,
  hasHostBits,
  isDottedQuad,
  isMapped,
  type Network,
  readCanonical,
  readNetwork,
  unmapped,
  type WrittenNetwork,
} from "./network.ts";

declare const brand: unique symbol;
/** A canonical address or network. */
export type Entry = string & { readonly [brand]: "Entry" };

/** `message` is a sentence for users: what is wrong, and what to write. */
export type ParsedEntry =
  | { readonly ok: true; readonly entry: Entry }
  | { readonly ok: false; readonly message: string };

/** No address starts with this character. */
const opaqueMark = "?";

/**
 * Reads an entry as a user declared it: strings that Kubernetes accepts by `isIP(self) || isCIDR(self)`, except networks with host
 * bits. Networks of any width are accepted: the guards check the width.
 */
export function parseDeclaredEntry(text: string): ParsedEntry {
  if (isDottedQuad(text)) return { ok: true, entry: text as Entry };
  const network = text.length > entryLengthMax ? undefined : readNetwork(text, "strict");
  if (network === undefined) return { ok: false, message: unreadableFault(text) };
  if (isMapped(network)) return { ok: false, message: mappedFault(text, network) };
  if (hasHostBits(network)) return { ok: false, message: hostBitsFault(text, network) };
  return { ok: true, entry: toEntry(network) };
}

/**
 * Reads an entry as the WAF shows it. Never fails: a string that is not an address becomes an opaque entry. It never equals a
 * declared entry, so it counts as foreign.
 */
export function readObservedEntry(text: string): Entry {
  if (isDottedQuad(text)) return text as Entry;
  const network = readSpelling(text);
  return network === undefined ? (`${opaqueMark}${text.trim()}` as Entry) : toEntry(network);
}

/** The network of a string in any spelling. */
export function readSpelling(text: string): WrittenNetwork | undefined {
  const network = readNetwork(text.trim(), "lenient");
  return network !== undefined && isMapped(network) ? (unmapped(network) ?? network) : network;
}

/** True if the WAF shows a string that is not an address. */
export function isOpaque(entry: Entry): boolean {
  return entry.startsWith(opaqueMark);
}

/** Throws for opaque entries, which have no addresses. */
export function networkOf(entry: Entry): Network {
  if (isOpaque(entry)) throw new TypeError(`${entry} has no addresses: ask isOpaque first`);
  return readCanonical(entry);
}

export function toEntry(network: Network): Entry {
  return canonicalText(network) as Entry;
}
