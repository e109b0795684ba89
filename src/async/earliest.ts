/** The earlier of two times, where undefined means never. */
export function earliest(aMs: number | undefined, bMs: number | undefined): number | undefined {
  if (aMs === undefined) return bMs;
  return bMs === undefined ? aMs : Math.min(aMs, bMs);
}
