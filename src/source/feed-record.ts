// Encodes the stored data of a feed: a small state as JSON, and the entries, one per line, with their expiry in seconds, if any. Lines that begin with `-` are expired entries.
// They are separate, because each fetch changes the state but usually not the entries.
import { hexDigest } from "../model/hex-digest.ts";
import * as z from "zod";
import type { Entry } from "../model/entry.ts";
import { parseDeclaredEntry } from "../model/entry.ts";
import type { FeedContent } from "../model/feed.ts";
import type { FeedState, GoodContent } from "../plan/feeds/feed-state.ts";

const format = 1;
const digestLength = 32;

const optionalText = z.string().optional();
const optionalTime = z.number().optional();
const number = z.int().min(0);

const facts = z.strictObject({
  etag: optionalText,
  lastModified: optionalText,
  sha256: z.string(),
  contentType: optionalText,
  looksLikeMarkup: z.boolean(),
  bytes: number,
});

const good = z.strictObject({
  counts: z.strictObject({ total: number, valid: number, invalid: number, duplicates: number }),
  invalidLines: z.array(z.strictObject({ line: number, text: z.string(), message: z.string() })).max(100),
  hash: z.string(),
  facts: facts.optional(),
  changedAtMs: z.number(),
  confirmedAtMs: z.number(),
  /** The digest of the entries' text that belongs to this state. */
  contentDigest: z.string().regex(/^[0-9a-f]{32}$/u),
});

/** The codes are not validated: they only affect the status until the next fetch. */
const held = z.strictObject({
  reason: z.string(),
  message: z.string(),
  hash: z.string(),
  counts: z.strictObject({ total: number, valid: number, invalid: number, duplicates: number }),
  sinceMs: z.number(),
});
const fault = z.strictObject({ code: z.string(), message: z.string(), retryAfterMs: optionalTime });

const stored = z.strictObject({
  format: z.literal(format),
  sourceKey: z.string(),
  good: good.optional(),
  held: held.optional(),
  fault: fault.optional(),
  failures: number,
  lastFetchMs: optionalTime,
  nextFetchMs: optionalTime,
  usedAcceptance: optionalText,
  handledRequest: optionalText,
  seenAcceptance: optionalText,
});

export interface FeedRecord {
  readonly stateText: string;
  /** Undefined if there is no good content. */
  readonly content: { readonly digest: string; readonly text: string } | undefined;
}

const contentTexts = new WeakMap<FeedContent, NonNullable<FeedRecord["content"]>>();

export function encodeFeed(state: FeedState): FeedRecord {
  const { good, ...rest } = state;
  const content = good === undefined ? undefined : encodeContent(good.content);
  const record = { format, ...rest, good: content && good && storedGood(good, content.digest) };
  return { stateText: `${JSON.stringify(record, undefined, 2)}\n`, content };
}

function storedGood({ content: _content, ...rest }: GoodContent, contentDigest: string): object {
  return { ...rest, contentDigest };
}

function encodeContent(content: FeedContent): NonNullable<FeedRecord["content"]> {
  const known = contentTexts.get(content);
  if (known !== undefined) return known;
  const lines: string[] = content.entries.map((entry) => {
    const endMs = content.expiresAtMs.get(entry);
    return endMs === undefined ? entry : `${entry} ${Math.ceil(endMs / 1000)}`;
  });
  for (const [entry, endMs] of content.ended ?? []) lines.push(`-${entry} ${Math.ceil(endMs / 1000)}`);
  const text = lines.map((line) => `${line}\n`).join("");
  const encoded = { digest: hexDigest(text, digestLength), text };
  contentTexts.set(content, encoded);
  return encoded;
}

export type DecodedState =
  | { readonly ok: true; readonly state: FeedState; readonly contentDigest: string | undefined }
  | { readonly ok: false; readonly problem: string };

/** The state without its content: `withContent` adds it. */
export function decodeFeedState(stateText: string): DecodedState {
  const parsed = stored.safeParse(parseJson(stateText));
  if (!parsed.success)
    return { ok: false, problem: "the state of the feed is damaged, or was written by a newer version of wafsync" };
  const { format: _format, good, ...rest } = parsed.data;
  const state = { ...emptyState, ...rest } as FeedState;
  if (good === undefined) return { ok: true, state, contentDigest: undefined };
  const { contentDigest, ...kept } = good;
  const content: FeedContent = { entries: [], expiresAtMs: new Map() };
  return { ok: true, state: { ...state, good: { facts: undefined, ...kept, content } as GoodContent }, contentDigest };
}

const emptyState = {
  good: undefined,
  held: undefined,
  fault: undefined,
  lastFetchMs: undefined,
  nextFetchMs: undefined,
  usedAcceptance: undefined,
  handledRequest: undefined,
  seenAcceptance: undefined,
};

/** Undefined if the text does not match the digest in the state: it must not be used then. */
export function withContent(state: FeedState, contentDigest: string, text: string): FeedState | undefined {
  if (state.good === undefined || hexDigest(text, digestLength) !== contentDigest) return undefined;
  const entries: Entry[] = [];
  const expiresAtMs = new Map<Entry, number>();
  const ended = new Map<Entry, number>();
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const [, mark, entryText = "", end] = /^(-?)(\S+)(?: (\d+))?$/u.exec(line) ?? [];
    const parsed = parseDeclaredEntry(entryText);
    if (!parsed.ok) return undefined;
    if (mark === "") entries.push(parsed.entry);
    if (end !== undefined) (mark === "" ? expiresAtMs : ended).set(parsed.entry, Number(end) * 1000);
  }
  const content = { entries, expiresAtMs, ...(ended.size > 0 && { ended }) };
  return { ...state, good: { ...state.good, content } };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
