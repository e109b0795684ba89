// An entry as a range of addresses, for checks of covering and overlapping.
import type { Entry } from "./entry.ts";
import { isOpaque } from "./entry.ts";
import type { AddressFamily, Network } from "./network.ts";
import { lastAddress, prefixLengthMax, readCanonical } from "./network.ts";

export interface AddressRange {
  readonly entry: Entry;
  readonly family: AddressFamily;
  /** Addresses are encoded so that `<` on strings orders them: one character per octet or group. */
  readonly first: string;
  readonly last: string;
}

/** The range of an entry; undefined for an opaque one, which has no addresses. */
export function rangeOf(entry: Entry): AddressRange | undefined {
  return isOpaque(entry) ? undefined : rangeOfNetwork(entry, readCanonical(entry));
}

/** The same for a parsed network, which has no host bits. */
export function rangeOfNetwork(entry: Entry, network: Network): AddressRange {
  const { family, parts, prefixLength } = network;
  const first = String.fromCharCode(...parts);
  const isAddress = prefixLength === prefixLengthMax(family);
  const last = isAddress ? first : String.fromCharCode(...lastAddress(network));
  return { entry, family, first, last };
}

/** True if every address of `inner` is one of `outer`. */
export function covers(outer: AddressRange, inner: AddressRange): boolean {
  return outer.family === inner.family && outer.first <= inner.first && inner.last <= outer.last;
}
