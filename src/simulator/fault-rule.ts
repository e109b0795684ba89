// What the simulator can be told to do wrong, and to which requests. An effect happens before the request had its own
// effect or after it: that is the difference that a client can't see.

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
 * - `Timeout`: the request is taken and never answered. `Reset`: the connection is torn down.
 * - `RateLimited`: 429; with `retryAfter` as it stands, or `retryAfterSeconds`, or as an HTTP date `retryAfterDateInMs` from now.
 * - `ServerError`: `status` (502) with a page in HTML. `SuccessFalse`: `{success: false}` with `status` (200).
 * - `Redirect`: 302 to `location`. `EchoKey`: `status` (400) with the key in the message, plain and percent-encoded.
 * - `Respond`: `status` (200), `headers` and `body` as given. `Slow`: the true answer, `delayMs` later.
 * - `TruncatedBody`: fewer bytes than announced, then the connection closes. `CutJson`: half of the JSON, well framed.
 * - `NotJson`: a text with status 200. `WrongDomain`: the true answer, under `domain`. `HugeBody`: `bytes` (64 MiB) of JSON.
 * - `ListAsObject`: an array comes as an object with numbered fields.
 * - `StaleList`: a list as it was `delayMs` ago, or else before its last `writes` (1) changes.
 * - `Late`: no answer; the request does its work `delayMs` (2000) after the client hung up.
 */
export interface FaultEffect {
  readonly kind: FaultKind;
  /** Whether the request does its work before it goes wrong: by default false down to `Respond`, and true from `Slow` on. */
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

/** All that is given must fit. */
export interface FaultMatch {
  readonly method?: string;
  /** `/api/…` without a trailing slash, or `/clear`. */
  readonly path?: string;
  /** Any spelling of the network in the field `ip`. */
  readonly ip?: string;
  readonly domain?: string;
  /** The first request that counts: 3 lets two fitting requests pass. */
  readonly nth?: number;
}

export interface FaultRule {
  readonly match?: FaultMatch;
  /** How many requests go wrong; 1 by default. */
  readonly times?: number;
  readonly effect: FaultEffect;
}

/** Kinds that change the true answer, and so need the request to have done its work. */
const needTrueAnswer: ReadonlySet<FaultKind> = new Set([
  "Slow",
  "TruncatedBody",
  "CutJson",
  "WrongDomain",
  "ListAsObject",
  "StaleList",
]);
const afterByDefault: ReadonlySet<FaultKind> = new Set([...needTrueAnswer, "NotJson", "HugeBody"]);

/** Whether the request does its work first. */
export function isAfterEffect(effect: FaultEffect): boolean {
  return needTrueAnswer.has(effect.kind) || (effect.afterEffect ?? afterByDefault.has(effect.kind));
}
