// Cuts networks out of a wider one. The result is the smallest set of networks with exactly the remaining addresses.
import { type AddressRange, covers, rangeOf, rangeOfNetwork } from "./address-range.ts";
import type { Entry } from "./entry.ts";
import { type Network, canonicalText, halvesOf, readCanonical } from "./network.ts";

/**
 * The rest of an entry without the given networks, ordered by address; empty if they cover all of it. Undefined if it needs more
 * than `piecesMax` networks. Opaque entries have no addresses, so they can't be carved.
 */
export function carve(entry: Entry, without: readonly Entry[], piecesMax: number): readonly Entry[] | undefined {
  const cut = without.flatMap((other) => rangeOf(other) ?? []);
  const pieces: Entry[] = [];
  return collectPieces(readCanonical(entry), cut, pieces, piecesMax) ? pieces : undefined;
}

/** Halves the network until each part is either removed or kept. False as soon as there are too many parts. */
function collectPieces(network: Network, cut: readonly AddressRange[], pieces: Entry[], piecesMax: number): boolean {
  const entry = canonicalText(network) as Entry;
  const range = rangeOfNetwork(entry, network);
  const concerned = cut.filter((other) => covers(other, range) || covers(range, other));
  if (concerned.length === 0) return pieces.push(entry) <= piecesMax;
  if (concerned.some((other) => covers(other, range))) return true;
  // A network that contains another one is not a single address, so it can be halved.
  return (halvesOf(network) ?? []).every((half) => collectPieces(half, concerned, pieces, piecesMax));
}
