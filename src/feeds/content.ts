// The vocabulary of feeds: the content that was read, and the content that is used until newer content passes the guards.
import * as z from "zod";
import { type Entry, parseDeclaredEntry } from "../address/entry.ts";

const number = z.int().min(0);

/** Lines, rows or values that were parsed as entries: `total` is the sum of the others, and `valid` counts different entries. */
export const feedCounts = z.strictObject({ total: number, valid: number, invalid: number, duplicates: number });
export type FeedCounts = Readonly<z.output<typeof feedCounts>>;

/**
 * An invalid line, row or value. `line` starts at 1; for JSON, it is the position among the selected values. The text is truncated and
 * sanitized for one line of output.
 */
export const invalidLine = z.strictObject({ line: number, text: z.string(), message: z.string() });
export type InvalidLine = Readonly<z.output<typeof invalidLine>>;

/** The entries of a feed. */
export interface FeedContent {
  /** Canonical, without duplicates, in the order of the feed. */
  readonly entries: readonly Entry[];
  /** Entries that expire. */
  readonly expiresAtMs: ReadonlyMap<Entry, number>;
  /** Former entries that have expired, with their ends, oldest first: their removal is no loss. Absent if none has. */
  readonly ended?: ReadonlyMap<Entry, number>;
  /** The comments behind entries, for people: of the first that have one. Absent without any. */
  readonly notes?: ReadonlyMap<Entry, string>;
}

/** The parsed content of a feed. */
export interface FeedReading {
  readonly content: FeedContent;
  readonly counts: FeedCounts;
  /** The first few. */
  readonly invalidLines: readonly InvalidLine[];
}

export const emptyFeedContent: FeedContent = { entries: [], expiresAtMs: new Map() };

/** The same function with a memory: feeds usually confirm their content, which may have 100,000 entries. */
export function onceFor<Value>(compute: (content: FeedContent) => Value): (content: FeedContent) => Value {
  const known = new WeakMap<FeedContent, { readonly value: Value }>();
  return (content) => {
    const result = known.get(content) ?? { value: compute(content) };
    known.set(content, result);
    return result.value;
  };
}

/** As stored: a string for each entry, with its expiry in seconds and its note, if any. `-` marks an expired entry. */
export const storedContent = z.codec(z.array(z.string()), z.custom<FeedContent>(), {
  decode: (lines, { issues }) => {
    const entries: Entry[] = [];
    const [expiresAtMs, ended] = [new Map<Entry, number>(), new Map<Entry, number>()];
    const notes = new Map<Entry, string>();
    for (const line of lines) {
      const [, mark, text = "", end, note] = /^(-?)(\S+)(?: (\d+))?(?: # (.+))?$/u.exec(line) ?? [];
      const parsed = parseDeclaredEntry(text);
      if (!parsed.ok) {
        issues.push({ code: "custom", input: line });
        break;
      }
      if (mark === "") entries.push(parsed.entry);
      if (note !== undefined) notes.set(parsed.entry, note);
      if (end !== undefined) (mark === "" ? expiresAtMs : ended).set(parsed.entry, Number(end) * 1000);
    }
    return { entries, expiresAtMs, ...(ended.size > 0 && { ended }), ...(notes.size > 0 && { notes }) };
  },
  encode: ({ entries, expiresAtMs, ended = [], notes }) => {
    const until = (endMs: number | undefined): string => (endMs === undefined ? "" : ` ${Math.ceil(endMs / 1000)}`);
    const lines = entries.map((entry) => {
      const note = notes?.get(entry);
      return `${entry}${until(expiresAtMs.get(entry))}${note === undefined ? "" : ` # ${note}`}`;
    });
    return [...lines, ...[...ended].map(([entry, endMs]) => `-${entry}${until(endMs)}`)];
  },
});

/** The server's metadata of the content, for the next request and for the status. */
export const textFacts = z.strictObject({
  etag: z.string().optional(),
  lastModified: z.string().optional(),
  /** The hash of the decoded content, in hexadecimal. */
  sha256: z.string(),
});
export type TextFacts = Readonly<z.output<typeof textFacts>>;

/** Reads a response when it is its turn, because it can fill a lot of memory. Waiting for a response fills none. */
export type InTurn = <T>(read: () => Promise<T>) => Promise<T>;

/** Why there is no new content. The message is a sentence without secrets, and `retryAfterMs` the delay that the server requests. */
export const fetchFault = z.strictObject({ message: z.string(), retryAfterMs: z.number().optional() });
export type FetchFault = Readonly<z.output<typeof fetchFault>>;

/** Ends a fetch, in whatever step. */
export class FetchFailure extends Error {
  readonly fault: FetchFault;

  constructor(fault: FetchFault) {
    super(fault.message);
    this.fault = fault;
  }
}

/** @param message a sentence without secrets */
export function fail(message: string): never {
  throw new FetchFailure({ message });
}

export type FetchOutcome =
  /** The content matches the validators of the request. */
  | { readonly kind: "NotModified" }
  /** CrowdSec decisions have no facts, because they are not text. */
  | { readonly kind: "Read"; readonly reading: FeedReading; readonly facts: TextFacts | undefined }
  /** The source reported individual changes, so no entries can be missing by mistake. Only for content that is in use. */
  | { readonly kind: "Updated"; readonly reading: FeedReading }
  | { readonly kind: "Failed"; readonly fault: FetchFault };
