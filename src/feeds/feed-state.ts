// The state of one feed, and how each fetch changes it. The last good content is kept until newer content passes the guards or is
// accepted by its hash; failures never remove it. The state survives restarts.
import { createHash } from "node:crypto";
import * as z from "zod";
import { type Entry, parseDeclaredEntry } from "../address/entry.ts";
import { requestedAtAnnotation } from "../kinds/kinds.ts";
import { exponentialMs } from "../async/back-off.ts";
import type { DeclaredFeed } from "../model/declared.ts";
import { hexDigest } from "../model/hex-digest.ts";
import { dayMs, hourMs } from "../model/texts.ts";
import { type HoldReason, judgeContent } from "./guards.ts";

// The vocabulary of feeds: the content that was read, and the content that is used until newer content passes the guards.

const number = z.int().min(0);

/** Lines, rows or values that were parsed as entries: `total` is the sum of the others, and `valid` counts different entries. */
const feedCounts = z.strictObject({ total: number, valid: number, invalid: number, duplicates: number });
export type FeedCounts = Readonly<z.output<typeof feedCounts>>;

/**
 * An invalid line, row or value. `line` starts at 1; for JSON, it is the position among the selected values. The text is truncated and
 * sanitized for one line of output.
 */
const invalidLine = z.strictObject({ line: number, text: z.string(), message: z.string() });
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
export function onceFor<Of extends object, Value>(compute: (of: Of) => Value): (of: Of) => Value {
  const known = new WeakMap<Of, { readonly value: Value }>();
  return (of) => {
    const result = known.get(of) ?? { value: compute(of) };
    known.set(of, result);
    return result.value;
  };
}

/** As stored: a string for each entry, with its expiry in seconds and its note, if any. `-` marks an expired entry. */
const storedContent = z.codec(z.array(z.string()), z.custom<FeedContent>(), {
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
const textFacts = z.strictObject({
  etag: z.string().optional(),
  lastModified: z.string().optional(),
  /** The hash of the decoded content, in hexadecimal. */
  sha256: z.string(),
});
export type TextFacts = Readonly<z.output<typeof textFacts>>;

/** Reads a response when it is its turn, because it can fill a lot of memory. Waiting for a response fills none. */
export type InTurn = <T>(read: () => Promise<T>) => Promise<T>;

/** Why there is no new content. The message is a sentence without secrets, and `retryAfterMs` the delay that the server requests. */
const fetchFault = z.strictObject({ message: z.string(), retryAfterMs: z.number().optional() });
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

/** Durations are whole seconds, so each response that repeats one gives a slightly different end. */
const endToleranceMs = 2_000;
/** Expired entries are known this long, for WAFs that can't be written in the meantime. */
const endedKeptMs = 7 * dayMs;
const endedMax = 100_000;

/** The hash by which a user accepts exactly this content. */
const hashDigits = 16;

export const acceptAnnotation = "wafsync.dev/accept-feed";

const timeMs = z.number();

const goodContent = z.strictObject({
  counts: feedCounts,
  invalidLines: z.array(invalidLine).max(100).readonly(),
  facts: textFacts.optional(),
  /** When these entries were first read. */
  changedAtMs: timeMs,
  /** When the source last confirmed them. */
  confirmedAtMs: timeMs,
  /** Last, so that the record has the entries behind everything else. */
  content: storedContent,
});

/** New content that a guard put on hold. */
const heldContent = z.strictObject({
  reason: z.string() as unknown as z.ZodType<HoldReason>,
  message: z.string(),
  hash: z.string(),
  counts: feedCounts,
  sinceMs: timeMs,
});

/** What is stored of a feed. The reason is not validated: it only affects the status until the next fetch. */
export const storedFeed = z.strictObject({
  /** The source of the content. Its validators are not valid for other sources. */
  sourceKey: z.string(),
  held: heldContent.optional(),
  /** Set if the last fetch failed. */
  fault: fetchFault.optional(),
  failures: z.int().min(0),
  lastFetchMs: timeMs.optional(),
  /** Undefined if due immediately. */
  nextFetchMs: timeMs.optional(),
  /** The last accepted hash, which is not accepted again. */
  usedAcceptance: z.string().optional(),
  /** The values of `wafsync.dev/requested-at` and `wafsync.dev/accept-feed` for which a fetch was last due. */
  asked: z.string().optional(),
  good: goodContent.optional(),
});

export type HeldContent = Readonly<z.output<typeof heldContent>>;
export type FeedState = Readonly<z.output<typeof storedFeed>>;

export function initialFeedState(feed: DeclaredFeed): FeedState {
  return { sourceKey: sourceKeyOf(feed), failures: 0 };
}

/** Identifies the part of the declaration that determines the result of a fetch. A hash, because URLs may contain tokens. */
function sourceKeyOf({ source }: DeclaredFeed): string {
  return hexDigest(JSON.stringify(source), 32);
}

/**
 * Applies the current declaration to the state. A new source, request or acceptance makes a fetch due. The content is kept: until
 * the new source has responded, the old entries are the last good content.
 */
export function adaptFeedState(state: FeedState, feed: DeclaredFeed): FeedState {
  const sourceKey = sourceKeyOf(feed);
  const asked = JSON.stringify([feed.meta.annotations[requestedAtAnnotation], acceptanceOf(feed)]);
  const isOther = sourceKey !== state.sourceKey;
  if (!isOther && asked === state.asked) return state;
  const { good } = state;
  return {
    ...state,
    sourceKey,
    good: isOther && good !== undefined ? { ...good, facts: undefined } : good,
    held: isOther ? undefined : state.held,
    failures: isOther ? 0 : state.failures,
    nextFetchMs: undefined,
    asked,
  };
}

/** When the feed has to be fetched; infinite while it is suspended. If the clock was set back since the last fetch, it is due. */
export function fetchDueMs(state: FeedState, feed: DeclaredFeed, nowMs: number): number {
  if (feed.suspend) return Number.POSITIVE_INFINITY;
  return (state.lastFetchMs ?? 0) > nowMs ? nowMs : (state.nextFetchMs ?? nowMs);
}

export interface FetchMoment {
  readonly nowMs: number;
  /** At least 0 and less than 1. */
  readonly random: number;
}

export function afterFetch(
  state: FeedState,
  feed: DeclaredFeed,
  outcome: FetchOutcome,
  moment: FetchMoment,
): FeedState {
  const { nowMs } = moment;
  const acceptance = acceptanceOf(feed);
  const fault = outcome.kind === "Failed" ? outcome.fault : undefined;
  const failures = fault === undefined ? 0 : state.failures + 1;
  const after = {
    ...state,
    lastFetchMs: nowMs,
    nextFetchMs: nextFetchMs(moment, feed.intervalMs, failures, fault?.retryAfterMs),
    failures,
    fault,
    // After the annotation has changed, the same content can be accepted again.
    usedAcceptance: acceptance === state.usedAcceptance ? acceptance : undefined,
  };
  if (outcome.kind === "Failed") return after;
  if (outcome.kind === "NotModified") {
    return { ...after, good: state.good && { ...state.good, confirmedAtMs: nowMs }, held: undefined };
  }
  const { content, counts, invalidLines } = outcome.reading;
  const lastGood = state.good && withoutEnded(state.good.content, nowMs);
  const objection = judgeContent(outcome, lastGood, feed.guards);
  const hash = entriesHash(content.entries);
  const same = state.good !== undefined && entriesHash(state.good.content.entries) === hash ? state.good : undefined;
  const good = {
    content: same ? withEnds(same.content, content.expiresAtMs) : withEnded(content, state.good?.content, nowMs),
    counts,
    invalidLines,
    facts: outcome.kind === "Read" ? outcome.facts : undefined,
    changedAtMs: same?.changedAtMs ?? nowMs,
    confirmedAtMs: nowMs,
  };
  const used = { ...after, good, held: undefined };
  if (objection === undefined || same !== undefined) return used;
  if (acceptance === hash && after.usedAcceptance !== hash) return { ...used, usedAcceptance: hash };
  const sinceMs = state.held?.hash === hash ? state.held.sinceMs : nowMs;
  return { ...after, held: { ...objection, hash, counts, sinceMs } };
}

function acceptanceOf({ meta }: DeclaredFeed): string | undefined {
  return meta.annotations[acceptAnnotation]?.trim();
}

/** Returns the same object for the same entries and ends, so that cached results remain valid. */
function withEnds(known: FeedContent, expiresAtMs: FeedContent["expiresAtMs"]): FeedContent {
  const isSame = known.entries.every((entry) => areClose(known.expiresAtMs.get(entry), expiresAtMs.get(entry)));
  return isSame ? known : { ...known, expiresAtMs };
}

/** The content, with the former entries that have expired instead of being taken off the list. */
function withEnded(content: FeedContent, before: FeedContent | undefined, nowMs: number): FeedContent {
  const { ended } = before === undefined ? {} : withoutEnded(before, nowMs + endToleranceMs);
  if (ended === undefined) return content;
  const current = new Set(content.entries);
  const isKept = ([entry, endMs]: readonly [Entry, number]): boolean =>
    !current.has(entry) && endMs > nowMs - endedKeptMs;
  return { ...content, ended: new Map([...ended].filter(isKept).slice(-endedMax)) };
}

function areClose(oneMs: number | undefined, otherMs: number | undefined): boolean {
  if (oneMs === undefined || otherMs === undefined) return oneMs === otherMs;
  return Math.abs(oneMs - otherMs) <= endToleranceMs;
}

/** When the first of the entries ends; infinite if none does. */
export const firstEndMs = onceFor((content: FeedContent): number => {
  let firstMs = Number.POSITIVE_INFINITY;
  for (const endMs of content.expiresAtMs.values()) firstMs = Math.min(firstMs, endMs);
  return firstMs;
});

/** The content without expired entries; the same object if none has expired. */
export function withoutEnded(content: FeedContent, nowMs: number): FeedContent {
  if (firstEndMs(content) > nowMs) return content;
  const { entries, expiresAtMs, ended = [], ...others } = content;
  const hasEnded = ([, endMs]: readonly [Entry, number]): boolean => endMs <= nowMs;
  const [now, live] = [[...expiresAtMs].filter(hasEnded), [...expiresAtMs].filter((end) => !hasEnded(end))];
  const gone = new Map(now);
  return {
    ...others,
    entries: entries.filter((entry) => !gone.has(entry)),
    expiresAtMs: new Map(live),
    ended: new Map([...ended, ...now]),
  };
}

/** Ignores order and comments, because many lists change both at every fetch. */
export const entriesHash = onceFor((entries: readonly Entry[]): string => {
  const hash = createHash("sha256").update("wafsync feed\0");
  for (const entry of entries.toSorted()) hash.update(entry).update("\n");
  return hash.digest("hex").slice(0, hashDigits);
});

/** Feeds with the same interval are spread over this fraction of it. */
const jitterShare = 0.1;
const retryBaseMs = 60_000;
const retryMsMax = hourMs;
/** The maximum delay that a server can request is one day. */
export const retryAfterMsMax = dayMs;

/**
 * After a success: the interval plus up to a tenth of it. After failures: exponential backoff from a minute to an hour, and never
 * longer than the interval. A delay that the server requests is honored up to a day.
 *
 * @param failures the number of consecutive failures, including this one
 */
export function nextFetchMs(
  { nowMs, random }: FetchMoment,
  intervalMs: number,
  failures: number,
  retryAfterMs = 0,
): number {
  const maxMs = Math.min(retryMsMax, Math.max(intervalMs, retryBaseMs));
  const base = failures === 0 ? intervalMs : exponentialMs({ baseMs: retryBaseMs, maxMs }, failures);
  const delayMs = Math.round(base * (1 + jitterShare * random));
  return nowMs + Math.max(delayMs, Math.min(retryAfterMs, retryAfterMsMax));
}

/** Content is stale this long after its last confirmation, but never before the next fetch is due. */
export function staleAtMs(confirmedAtMs: number, staleAfterMs: number, intervalMs: number): number {
  return confirmedAtMs + Math.max(staleAfterMs, Math.round(intervalMs * (1 + jitterShare)));
}
