// The vocabulary of feeds: the content that was read, and the content that is used until newer content passes the guards.
import type { Entry } from "../address/entry.ts";
import type { ObjectName } from "./resource.ts";
import { nameKey } from "./resource.ts";

export interface FeedCounts {
  /** Lines, rows or values that were parsed as entries: the sum of `valid`, `invalid` and `duplicates`. */
  readonly total: number;
  /** Different entries. */
  readonly valid: number;
  readonly invalid: number;
  readonly duplicates: number;
}

/** An invalid line, row or value. */
export interface InvalidLine {
  /** The line number, starting at 1. For JSON: the position among the selected values. */
  readonly line: number;
  /** Truncated and sanitized for one line of output. */
  readonly text: string;
  readonly message: string;
}

/** The entries of a feed. */
export interface FeedContent {
  /** Canonical, without duplicates, in the order of the feed. */
  readonly entries: readonly Entry[];
  /** Entries that expire. */
  readonly expiresAtMs: ReadonlyMap<Entry, number>;
  /** Former entries that have expired, with their ends, oldest first: their removal is no loss. Absent if none has. */
  readonly ended?: ReadonlyMap<Entry, number>;
}

/** The parsed content of a feed. */
export interface FeedReading {
  readonly content: FeedContent;
  readonly counts: FeedCounts;
  /** The first few. */
  readonly invalidLines: readonly InvalidLine[];
}

export const emptyFeedContent: FeedContent = { entries: [], expiresAtMs: new Map() };

/** The name of a feed as a source of entries. */
export function feedSourceName(feed: ObjectName): string {
  return `WafFeed ${nameKey(feed)}`;
}
