// Automatic blocks from the log of blocked requests: what users declare, and what the log reader found.
import type { PrefixLengths } from "./declared.ts";
import type { Entry } from "../address/entry.ts";
import type { ObjectName, ResourceMeta } from "./resource.ts";

/** Each field is a list of alternatives; an empty list matches everything. */
export interface LogMatch {
  /** Two letters, case-insensitive. */
  readonly countries: readonly string[];
  /** Part of the block reason, case-insensitive. */
  readonly reasons: readonly string[];
  /** `403` or `4xx`. */
  readonly statuses: readonly string[];
  /** Part of the path; with `*`, the whole path. */
  readonly paths: readonly string[];
}

export interface DeclaredAutoBlock {
  readonly meta: ResourceMeta;
  readonly instance: ObjectName;
  readonly mode: "Suggest" | "Enforce";
  readonly suspend: boolean;
  readonly match: LogMatch;
  readonly threshold: number;
  readonly windowMs: number;
  readonly groupBy: "Address" | "Network";
  readonly networkPrefixLength: PrefixLengths;
  readonly ttlMs: number;
  readonly repeatFactor: number;
  readonly maxTtlMs: number;
  readonly maxEntries: number;
  /** Valid networks. */
  readonly exempt: readonly string[];
}

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
