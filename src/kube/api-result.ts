// The possible results of a Kubernetes API request. Results are unions, not exceptions: every caller sees every case.

/**
 * - `Unauthorized`: 401, even after the credentials were read again. `Forbidden`: 403.
 * - `NotFound`: 404: the object, or the whole kind, does not exist.
 * - `AlreadyExists`, `Conflict`: 409: the name is taken, or the resourceVersion is not the current one.
 * - `Gone`: 410: a resourceVersion or continue token has expired.
 * - `Invalid`: any other 4xx: the server refuses the content.
 * - `TooManyRequests`: 429. `Unavailable`: 5xx, or no response; a write may or may not have taken effect.
 * - `TimedOut`: the timeout of the request expired, or 504; a write may or may not have taken effect.
 * - `BodyTooLarge`: the response exceeds the size limit.
 * - `ContractBroken`: the response is not what the Kubernetes API documents.
 * - `NoCredentials`: the server address, certificates or token could not be read; nothing was sent.
 * - `Aborted`: the caller's signal was aborted.
 */
export type ApiFaultCode =
  | "Unauthorized"
  | "Forbidden"
  | "NotFound"
  | "AlreadyExists"
  | "Conflict"
  | "Gone"
  | "Invalid"
  | "TooManyRequests"
  | "Unavailable"
  | "TimedOut"
  | "BodyTooLarge"
  | "ContractBroken"
  | "NoCredentials"
  | "Aborted";

export interface ApiFault {
  readonly code: ApiFaultCode;
  /** One sentence for users; at most 2,048 characters. */
  readonly message: string;
  /** The HTTP status, or the code of a Status object in a watch; undefined if there was no response. */
  readonly status?: number;
  /** `details.causes[].reason` of the Status object, at most 20. */
  readonly causes: readonly string[];
  /** The delay that the server requested, if any. */
  readonly retryAfterMs?: number;
}

export type ApiResult<T> =
  | { readonly ok: true; readonly value: T; readonly status: number }
  | { readonly ok: false; readonly fault: ApiFault };

/** A fault that was not reported by a server. */
export function localFault(code: ApiFaultCode, message: string): ApiFault {
  return { code, message, causes: [] };
}
