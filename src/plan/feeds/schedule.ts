// When to fetch a feed next. Pure: randomness and time are passed in.

/** Feeds with the same interval are spread over this fraction of it. */
const jitterShare = 0.1;
const retryBaseMs = 60_000;
const retryMsMax = 3_600_000;
/** The maximum delay that a server can request is one day. */
export const retryAfterMsMax = 86_400_000;
const doublingsMax = 20;

export interface FetchHistory {
  readonly nowMs: number;
  readonly intervalMs: number;
  /** The number of consecutive failures, including this one. */
  readonly failures: number;
  /** The delay that the server requested. */
  readonly retryAfterMs: number | undefined;
  /** At least 0 and less than 1. */
  readonly random: number;
}

/**
 * After a success: the interval plus up to a tenth of it. After failures: exponential backoff from a minute to an hour, and never
 * longer than the interval. A delay that the server requests is honored up to a day.
 */
export function nextFetchMs({ nowMs, intervalMs, failures, retryAfterMs, random }: FetchHistory): number {
  const base = failures === 0 ? intervalMs : backOffMs(intervalMs, failures);
  const delayMs = Math.round(base * (1 + jitterShare * random));
  return nowMs + Math.max(delayMs, Math.min(retryAfterMs ?? 0, retryAfterMsMax));
}

function backOffMs(intervalMs: number, failures: number): number {
  const doubled = retryBaseMs * 2 ** Math.min(failures - 1, doublingsMax);
  return Math.min(doubled, retryMsMax, Math.max(intervalMs, retryBaseMs));
}

/** Content is stale this long after its last confirmation, but never before the next fetch is due. */
export function staleAtMs(confirmedAtMs: number, staleAfterMs: number, intervalMs: number): number {
  return confirmedAtMs + Math.max(staleAfterMs, Math.round(intervalMs * (1 + jitterShare)));
}
