// The calls of a WAF's API, and their possible results. Results are unions, not exceptions, so every caller must handle every case.
import type { ListName, OriginType } from "./declared.ts";
import type { LogPage } from "./log-entry.ts";

/**
 * - `BadApiKey`: 403, the key is wrong, or none arrived.
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

export interface CallOptions {
  /** Cancels the call. If a write is already in flight, its outcome is unknown. */
  readonly signal?: AbortSignal | undefined;
}

/** The WAF of one key. Calls wait for their turn in the key's lane. */
export interface WafPort {
  readOrigins(options?: CallOptions): Promise<WafResult<OriginsRead>>;
  /** Returns the entries in the API's spelling. */
  readList(list: ListName, options?: CallOptions): Promise<WafResult<readonly string[]>>;
  addEntry(list: ListName, text: string, options?: CallOptions): Promise<WafResult<WriteAccepted>>;
  /** `text` is the spelling on the list. */
  removeEntry(list: ListName, text: string, options?: CallOptions): Promise<WafResult<WriteAccepted>>;
  addOrigin(host: string, type: OriginType, options?: CallOptions): Promise<WafResult<WriteAccepted>>;
  removeOrigin(host: string, options?: CallOptions): Promise<WafResult<WriteAccepted>>;
  /** Starts a clear of the whole cache. */
  clearCache(options?: CallOptions): Promise<WafResult<WriteAccepted>>;
}

export interface LogQuery {
  /** `YYYY-MM-DD`; both days are included. */
  readonly startDate: string;
  readonly endDate: string;
  /** 1 to 10,000. */
  readonly perPage: number;
}

/** The logs of the same WAF. These calls wait behind all more urgent ones. */
export interface LogPort {
  /** Returns the first page of the blocked requests for a range of days. */
  queryLogs(query: LogQuery, options?: CallOptions): Promise<WafResult<LogPage>>;
  /** Returns the page for the `scrollId` of the previous page. */
  scrollLogs(scrollId: string, options?: CallOptions): Promise<WafResult<LogPage>>;
}
