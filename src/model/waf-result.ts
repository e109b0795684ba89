// The possible results of a WAF API call. Results are unions, not exceptions, so every caller must handle every case.

/**
 * - `BadApiKey`: 403, the key is wrong. `MissingApiKey`: 403, no key arrived.
 * - `Rejected`: 400, nothing was changed; `message` is the API's own text.
 * - `NotFound`: 404, for the logs of an account without a WAF.
 * - `RateLimited`: 429, nothing was changed; `retryAfterMs` if the API sent it.
 * - `Unavailable`: a read failed with 5xx or on the network, or a write failed before anything was sent.
 * - `TimedOut`: a read took too long.
 * - `OutcomeUnknown`: a write was sent without a valid response: it may have taken effect.
 * - `ContractBroken`: a read got a response without the documented format.
 * - `TooLarge`: a read got a response above the limits of this process.
 * - `Aborted`: the caller stopped waiting before anything was sent.
 * - `NotPermitted`: wafsync refused the write because of a dry run, a lost Lease or a shutdown; nothing was sent.
 */
export type WafFaultCode =
  | "BadApiKey"
  | "MissingApiKey"
  | "Rejected"
  | "NotFound"
  | "RateLimited"
  | "Unavailable"
  | "TimedOut"
  | "OutcomeUnknown"
  | "ContractBroken"
  | "TooLarge"
  | "Aborted"
  | "NotPermitted";

export interface WafFault {
  readonly code: WafFaultCode;
  /** One sentence for users, with the key redacted. */
  readonly message: string;
  /** The cause of a failed connection if the message does not contain it: for the log, never for a status or an event. */
  readonly cause?: string;
  /** The HTTP status, if there was a response. */
  readonly status?: number;
  /** Only for `RateLimited` and `Unavailable`. */
  readonly retryAfterMs?: number;
}

export type WafResult<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly fault: WafFault };

export interface OriginsRead {
  readonly domain: string;
  /** The current primary host. */
  readonly primary: string;
}

/** The response to an accepted write. */
export interface WriteAccepted {
  readonly domain: string;
  /** The API's message, with the key redacted; empty if there is none. */
  readonly message: string;
}
