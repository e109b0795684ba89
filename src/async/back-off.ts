// How long to wait before the next attempt. Pure functions: the caller counts the attempts and provides the randomness.

export interface BackOff {
  /** The base of the exponential delay: the delay before the first retry, without jitter. */
  readonly baseMs: number;
  /** No delay is longer than this, jitter included. */
  readonly maxMs: number;
}

/** Limits the exponent, so that the power stays finite; `maxMs` applies long before. */
const doublingsMax = 40;

/** The delay without jitter before retry number `attempt`, which counts from 1. */
export function exponentialMs({ baseMs, maxMs }: BackOff, attempt: number): number {
  const doublings = Math.min(Math.max(attempt - 1, 0), doublingsMax);
  return Math.min(maxMs, baseMs * 2 ** doublings);
}

/**
 * Full jitter: a random delay from zero to the exponential delay, so that many clients that failed together spread out.
 *
 * @param attempt the number of consecutive failures, starting at 1
 * @param random returns a number of at least 0 and less than 1
 * @returns whole milliseconds, from 0 to `maxMs`
 */
export function backOffDelayMs(options: BackOff & { readonly attempt: number; readonly random: () => number }): number {
  return Math.round(exponentialMs(options, options.attempt) * options.random());
}

/**
 * Upward jitter, as in client-go's reflectors: from the exponential delay to twice that, so that no retry follows immediately.
 * Same parameters and unit as `backOffDelayMs`.
 */
export function upwardBackOffDelayMs(
  options: BackOff & { readonly attempt: number; readonly random: () => number },
): number {
  const delayMs = exponentialMs(options, options.attempt) * (1 + options.random());
  return Math.round(Math.min(options.maxMs, delayMs));
}
