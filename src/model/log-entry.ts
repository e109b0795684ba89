// A blocked request as the WAF logs it, under the API's own names. It has no identity: two equal entries are two requests.

/** One blocked request. Anybody writes its texts, so they may be long and hold any character; further fields may be there. */
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

/** An entry that is not as documented. */
export interface BrokenLogEntry {
  /** In the page, from 0. */
  readonly position: number;
  /** Names the field, and holds nothing of its content. */
  readonly problem: string;
}

export interface LogPage {
  /** For the next page; null at the end. */
  readonly scrollId: string | null;
  /** Of the whole range, not of the page. */
  readonly total: number;
  /** Those that are as documented. */
  readonly entries: readonly LogEntry[];
  readonly broken: readonly BrokenLogEntry[];
}
