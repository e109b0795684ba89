// What the log reader has found for a WafAutoBlock.
import type { Entry } from "../address/entry.ts";

export interface ReasonCount {
  /** Without the WAF's rule number. */
  readonly label: string;
  readonly requests: number;
}

/** A client that reached the threshold, with the evidence. */
export interface JudgedEntry {
  readonly entry: Entry;
  readonly sinceMs: number;
  readonly untilMs: number;
  /** How often it reached the threshold, this time included: 1 for the first time. */
  readonly times: number;
  /** Matching requests, those after `sinceMs` included. */
  readonly requests: number;
  readonly firstMs: number;
  readonly lastMs: number;
  /** The most frequent first. */
  readonly reasons: readonly ReasonCount[];
}

export interface RowCounts {
  /** Rows that `match` selects. */
  readonly matched: number;
  /** Of these, rows that were too old when they were read. */
  readonly late: number;
  /** Of these, rows without a valid address or time. */
  readonly unreadable: number;
}

/** What the log reader knows about one WafAutoBlock. */
export interface Judgement {
  readonly entries: readonly JudgedEntry[];
  readonly rows: RowCounts;
  /** The time of the newest matching row. */
  readonly lastRowMs: number | undefined;
  /** How many clients reached the threshold without being listed, because `maxEntries` was reached. */
  readonly leftOut: number;
}

/** The state of reading the logs. */
export interface ReadingReport {
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
}
