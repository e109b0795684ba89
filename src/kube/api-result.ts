// What can come of a call of the Kubernetes API. Results are unions, not exceptions: every caller sees every case.

/**
 * - `Unauthorized`: 401, also after the credentials were read again. `Forbidden`: 403.
 * - `NotFound`: 404: the object, or the whole kind, is not there.
 * - `AlreadyExists`, `Conflict`: 409: the name is taken, or the resourceVersion is not the current one.
 * - `Gone`: 410: a resourceVersion or continue token has expired.
 * - `Invalid`: 400 or 422: the server refuses the content. `RequestTooLarge`: 413.
 * - `TooManyRequests`: 429. `Unavailable`: 5xx, or no answer at all; a write may or may not have taken effect.
 * - `TimedOut`: our deadline passed, or 504; a write may or may not have taken effect.
 * - `BodyTooLarge`: the answer is longer than we are ready to hold.
 * - `ContractBroken`: the answer is not what the Kubernetes API documents.
 * - `NoCredentials`: the server address, certificates or token could not be read; nothing was sent.
 * - `Aborted`: the caller's signal was aborted. `Rejected`: any other 4xx.
 */
export const apiFaultCodes = [
  "Unauthorized",
  "Forbidden",
  "NotFound",
  "AlreadyExists",
  "Conflict",
  "Gone",
  "Invalid",
  "RequestTooLarge",
  "TooManyRequests",
  "Unavailable",
  "TimedOut",
  "BodyTooLarge",
  "ContractBroken",
  "NoCredentials",
  "Aborted",
  "Rejected",
] as const;
export type ApiFaultCode = (typeof apiFaultCodes)[number];

export interface ApiFault {
  readonly code: ApiFaultCode;
  /** One sentence for a person; at most 2,048 characters. */
  readonly message: string;
  /** The HTTP status, or the code of a Status object in a watch; undefined if no answer came. */
  readonly status?: number;
  /** `details.causes[].reason` of the Status object, at most 20. */
  readonly causes: readonly string[];
  /** What the server asked for, if it did. */
  readonly retryAfterMs?: number;
}

export type ApiResult<T> =
  | { readonly ok: true; readonly value: T; readonly status: number }
  | { readonly ok: false; readonly fault: ApiFault };

/** A fault that no server reported. */
export function localFault(code: ApiFaultCode, message: string): ApiFault {
  return { code, message, causes: [] };
}
