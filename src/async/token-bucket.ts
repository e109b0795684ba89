// A token bucket as a value: a burst, then one token per interval. Pure: time is an argument.

export interface TokenBucketLimits {
  /** How many tokens a full bucket holds. */
  readonly burst: number;
  /** How long it takes to refill one token. */
  readonly refillMs: number;
}

export interface TokenBucket {
  readonly tokens: number;
  /** The time of `tokens`, on the clock that the caller uses throughout. */
  readonly atMs: number;
}

/** A full bucket. */
export function fullBucket(limits: TokenBucketLimits, nowMs: number): TokenBucket {
  return { tokens: limits.burst, atMs: nowMs };
}

/** Takes one token if there is one. A clock that was set back neither refills nor removes tokens. */
export function takeToken(
  bucket: TokenBucket,
  limits: TokenBucketLimits,
  nowMs: number,
): { readonly taken: boolean; readonly bucket: TokenBucket } {
  const refilled = Math.max(nowMs - bucket.atMs, 0) / limits.refillMs;
  const tokens = Math.min(limits.burst, bucket.tokens + refilled);
  if (tokens < 1) return { taken: false, bucket: { tokens, atMs: nowMs } };
  return { taken: true, bucket: { tokens: tokens - 1, atMs: nowMs } };
}
