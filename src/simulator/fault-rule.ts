// The faults that the simulator can inject, and the requests that they apply to. A fault happens before or after the request
// takes effect: clients cannot see this difference.

export const faultKinds = [
  "Timeout",
  "Reset",
  "RateLimited",
  "ServerError",
  "SuccessFalse",
  "Redirect",
  "EchoKey",
  "Respond",
  "Slow",
  "TruncatedBody",
  "CutJson",
  "NotJson",
  "WrongDomain",
  "HugeBody",
  "ListAsObject",
  "StaleList",
  "Late",
] as const;
export type FaultKind = (typeof faultKinds)[number];

/**
 * - `Timeout`: the request is accepted and never answered. `Reset`: the connection is reset.
 * - `RateLimited`: 429, with `retryAfter` as given, with `retryAfterSeconds`, or with an HTTP date that is `retryAfterDateInMs`
 * from now.
 * - `ServerError`: `status` (502) with an HTML page. `SuccessFalse`: `{success: false}` with `status` (200).
 * - `Redirect`: 302 to `location`. `EchoKey`: `status` (400) with the key in the message, plain and percent-encoded.
 * - `Respond`: `status` (200), `headers` and `body` as given. `Slow`: the true response, `delayMs` later.
 * - `TruncatedBody`: fewer bytes than announced, then the connection closes. `CutJson`: half of the JSON, with a matching
 * Content-Length.
 * - `NotJson`: a text with status 200. `WrongDomain`: the true response, with `domain`. `HugeBody`: `bytes` (64 MiB) of JSON.
 * - `ListAsObject`: an array is sent as an object with numbered fields.
 * - `StaleList`: a list as it was `delayMs` ago, or before its last `writes` (1) changes.
 * - `Late`: no response; the request takes effect `delayMs` (2000) after the client disconnected.
 */
export interface FaultEffect {
  readonly kind: FaultKind;
  /**
   * Whether the request takes effect before the fault. By default false for the kinds up to `Respond` and for `Late`, otherwise
   * true.
   */
  readonly afterEffect?: boolean;
  readonly status?: number;
  readonly message?: string;
  readonly retryAfter?: string;
  readonly retryAfterSeconds?: number;
  readonly retryAfterDateInMs?: number;
  readonly location?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly delayMs?: number;
  readonly domain?: string;
  readonly bytes?: number;
  readonly writes?: number;
}

/** All fields that are set must match. */
export interface FaultMatch {
  readonly method?: string;
  /** `/api/…` without a trailing slash, or `/clear`. */
  readonly path?: string;
  /** The network in the parameter `ip`, in any spelling. */
  readonly ip?: string;
  readonly domain?: string;
  /** The first matching request that the rule applies to: with 3, two matching requests pass. */
  readonly nth?: number;
}

export interface FaultRule {
  readonly match?: FaultMatch;
  /** How many requests the rule applies to; 1 by default. */
  readonly times?: number;
  readonly effect: FaultEffect;
}

/** Kinds that change the true response, so the request must take effect first. */
const needTrueAnswer: ReadonlySet<FaultKind> = new Set([
  "Slow",
  "TruncatedBody",
  "CutJson",
  "WrongDomain",
  "ListAsObject",
  "StaleList",
]);
const afterByDefault: ReadonlySet<FaultKind> = new Set([...needTrueAnswer, "NotJson", "HugeBody"]);

/** Whether the request takes effect before the fault. */
export function isAfterEffect(effect: FaultEffect): boolean {
  return needTrueAnswer.has(effect.kind) || (effect.afterEffect ?? afterByDefault.has(effect.kind));
}
