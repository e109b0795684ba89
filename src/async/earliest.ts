/** The earlier of two times, where undefined means never. */
export function earliest(aMs: number | undefined, bMs: number | undefined): number | undefined {
  if (aMs === undefined) return bMs;
  return bMs === undefined ? aMs : Math.min(aMs, bMs);
}

/** The key with the lowest rank, and the first one in the map among equals; undefined if the map is empty. Reads the whole map. */
export function lowestOf<Key>(
  ranks: ReadonlyMap<Key, number>,
): { readonly key: Key; readonly rank: number } | undefined {
  let lowest: { readonly key: Key; readonly rank: number } | undefined;
  for (const [key, rank] of ranks) if (lowest === undefined || rank < lowest.rank) lowest = { key, rank };
  return lowest;
}
