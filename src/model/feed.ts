// The vocabulary of feeds: what was read from one, and what counts until a newer content passes the guards.
import type { Entry } from "./entry.ts";

export interface FeedCounts {
  /** Lines, rows or values that should be an entry: `valid`, `invalid` and `duplicates` together. */
  readonly total: number;
  /** Different entries. */
  readonly valid: number;
  readonly invalid: number;
  readonly duplicates: number;
}

/** A line, row or value that is no entry. */
export interface InvalidLine {
  /** Of the line in the text, from 1. Of JSON: the position among the values that the path selects. */
  readonly line: number;
  /** Shortened, and fit for one line of output. */
  readonly text: string;
  readonly message: string;
}

/** The entries of a feed. */
export interface FeedContent {
  /** Canonical, without duplicates, in the order of the feed. */
  readonly entries: readonly Entry[];
  /** Entries that end by themselves. */
  readonly expiresAtMs: ReadonlyMap<Entry, number>;
}

/** What one text of a feed says. */
export interface FeedReading {
  readonly content: FeedContent;
  readonly counts: FeedCounts;
  /** The first few. */
  readonly invalidLines: readonly InvalidLine[];
}

export const emptyFeedContent: FeedContent = { entries: [], expiresAtMs: new Map() };
