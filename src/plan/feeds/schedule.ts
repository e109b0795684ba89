// When a feed is fetched next. Pure: randomness and time are passed in.

/** Feeds of one interval spread out over this share of it. */
const jitterShare = 0.1;
const retryBaseMs = 60_000;
const retryMsMax = 3_600_000;
/** A server may ask for a day, and not for longer. */
export const retryAfterMsMax = 86_400_000;
const doublingsMax = 20;

export interface FetchHistory {
  readonly nowMs: number;
  readonly intervalMs: number;
  /** How many fetches failed in a row, this one included. */
  readonly failures: number;
  /** How long the server asked to wait. */
  readonly retryAfterMs: number | undefined;
  /** At least 0 and less than 1. */
  readonly random: number;
}

/**
 * After a success: the interval and up to a tenth of it. After failures: an exponential backoff from a minute to an hour, and
 * never longer than the interval. A server that asks to wait is waited for, up to a day.
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

/** Content counts as stale this long after it was last confirmed; never before the next fetch is due. */
export function staleAtMs(confirmedAtMs: number, staleAfterMs: number, intervalMs: number): number {
  return confirmedAtMs + Math.max(staleAfterMs, Math.round(intervalMs * (1 + jitterShare)));
}
