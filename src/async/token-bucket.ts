// A token bucket as a value: so many at once, then one each interval. Pure: time is an argument.

export interface TokenBucketLimits {
  /** How many tokens a full bucket holds. */
  readonly burst: number;
  /** How long it takes until one more token is there. */
  readonly refillMs: number;
}

export interface TokenBucket {
  readonly tokens: number;
  /** When `tokens` was true, on whatever clock the caller uses throughout. */
  readonly atMs: number;
}

/** The bucket that nobody has taken from yet. */
export function fullBucket(limits: TokenBucketLimits, nowMs: number): TokenBucket {
  return { tokens: limits.burst, atMs: nowMs };
}

/** Takes one token if one is there. A clock that was set back refills nothing and takes nothing away. */
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
