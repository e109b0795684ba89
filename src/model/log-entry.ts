// A blocked request as the WAF logs it, with the API's field names. It has no identity: two equal entries are two requests.

/** One blocked request. Clients control its strings, so these may be long and contain any character. There may be further fields. */
export interface LogEntry {
  /** ISO 8601. */
  readonly timestamp: string;
  readonly client_ip: string;
  readonly http_method: string;
  readonly request_path: string;
  readonly http_status: number;
  /** In bytes. */
  readonly response_size: number;
  readonly referrer: string | null;
  readonly user_agent: string | null;
  /** A short label and a number, or `NONE`. */
  readonly block_reason: string;
  /** Two letters. */
  readonly country: string | null;
  readonly cache_hit: boolean;
}

/** When the request was made; NaN if the timestamp is invalid. A timestamp without a zone is UTC, wherever wafsync runs. */
export function logTimeMs(timestamp: string): number {
  const hasNoZone = /[T\s]\d\d:\d\d(?::\d\d(?:\.\d+)?)?$/i.test(timestamp);
  // oxlint-disable-next-line eslint/no-restricted-globals -- with a zone, the result depends on the text alone
  return Date.parse(hasNoZone ? `${timestamp}Z` : timestamp);
}

/** The documented fields, in the order in which they are printed. */
export const logEntryFields = [
  "timestamp",
  "client_ip",
  "http_method",
  "request_path",
  "http_status",
  "response_size",
  "referrer",
  "user_agent",
  "block_reason",
  "country",
  "cache_hit",
] as const satisfies readonly (keyof LogEntry)[];

/** An entry that differs from the documented format. */
export interface BrokenLogEntry {
  /** The index in the page, starting at 0. */
  readonly position: number;
  /** Names the field, but contains nothing of its value. */
  readonly problem: string;
}

/** A page of which only the frame has been read: a reader requests the next page before it asks for the rows. */
export interface LogPage {
  /** For the next page; null at the end. */
  readonly scrollId: string | null;
  /** The number of entries in the whole range, not in the page. */
  readonly total: number;
  /** The number of entries in the page, including broken ones. */
  readonly length: number;
  /** The number of characters that a caller keeps in memory with the page. */
  readonly textLength: number;
  /** A second call takes longer, because it parses the text again. */
  readonly rows: () => LogRows;
}

export interface LogRows {
  /** The entries in the documented format. */
  readonly entries: readonly LogEntry[];
  readonly broken: readonly BrokenLogEntry[];
}
