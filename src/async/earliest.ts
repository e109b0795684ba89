/** The earlier of two times, where undefined means never. */
export function earliest(...times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

/** The key with the lowest rank, and the first one in the map among equals; undefined if the map is empty. Reads the whole map. */
export function lowestOf<Key>(
  ranks: ReadonlyMap<Key, number>,
): { readonly key: Key; readonly rank: number } | undefined {
  let lowest: { readonly key: Key; readonly rank: number } | undefined;
  for (const [key, rank] of ranks) if (lowest === undefined || rank < lowest.rank) lowest = { key, rank };
  return lowest;
}
