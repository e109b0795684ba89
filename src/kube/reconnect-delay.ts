// How long a list-watch waits after a failure, with client-go's values. The jitter is as large as the delay itself, so
// that many replicas that lost the same server reconnect at different times.
const baseMs = 800;
const ceilingMs = 30_000;
const delayMsMax = 60_000;
const doublingsMax = 10;

/**
 * The exponential delay, or the delay that the server requested if that is longer, plus up to the exponential delay; at most 60 s.
 *
 * @param failures The number of consecutive failures, starting at 1.
 */
export function reconnectDelayMs(failures: number, retryAfterMs: number, random: () => number): number {
  const doubled = doubledMs(failures);
  return Math.round(Math.min(delayMsMax, Math.max(doubled, retryAfterMs) + random() * doubled));
}

/** For a kind that is not installed: at most 30 s, so that it is found soon after its CRD is installed. */
export function missingKindDelayMs(failures: number, random: () => number): number {
  const doubled = doubledMs(failures);
  return Math.round(doubled / 2 + (random() * doubled) / 2);
}

function doubledMs(failures: number): number {
  return Math.min(ceilingMs, baseMs * 2 ** Math.min(Math.max(failures - 1, 0), doublingsMax));
}
