// Feeds in a record store. A damaged record, or one of a former feed of the same name, counts as absent: the feed is fetched again.
// The text is the state as one line of JSON, and the entries, one per line, with their expiry in seconds and their note, if any. Lines that
// begin with `-` are expired entries. Each fetch changes the first line, but usually not the others.
import * as z from "zod";
import { type Entry, parseDeclaredEntry } from "../address/entry.ts";
import { parseJson } from "../model/record.ts";
import { nameKey, type ObjectName } from "../model/resource.ts";
import type { RecordKey, RecordStore } from "../records/record-store.ts";
import { type FeedContent, onceFor } from "./content.ts";
import { type FeedState, storedFeed } from "./feed-state.ts";

const format = 1;

const record = storedFeed.extend({ format: z.literal(format) });

export type StoredFeed =
  | { readonly ok: true; readonly state: FeedState | undefined }
  | { readonly ok: false; readonly problem: string };

export class FeedRecords {
  readonly #store: RecordStore;
  /** The revision of each feed's record, as last loaded or saved. */
  readonly #revisions = new Map<string, string>();

  constructor(store: RecordStore) {
    this.#store = store;
  }

  async load(feed: ObjectName): Promise<StoredFeed> {
    const stored = await this.#store.load(feedKey(feed));
    if (stored.state === "Unreachable") return { ok: false, problem: stored.problem };
    this.#revisions.set(nameKey(feed), stored.revision);
    return { ok: true, state: stored.state === "Loaded" ? decodeFeed(stored.text) : undefined };
  }

  /** Whether another process has stored something since the last `load` or `save`. */
  async hasChanged(feed: ObjectName): Promise<boolean> {
    return (await this.#store.hasChanged?.(feedKey(feed))) === true;
  }

  /** Undefined on success, otherwise the reason. */
  async save(feed: ObjectName, state: FeedState): Promise<string | undefined> {
    const revision = this.#revisions.get(nameKey(feed));
    if (revision === undefined) return `${this.#store.placeOf(feedKey(feed))} has not been read.`;
    const saved = await this.#store.save(feedKey(feed), encodeFeed(state), revision);
    if (saved.state !== "Saved") return saved.problem;
    this.#revisions.set(nameKey(feed), saved.revision);
    return undefined;
  }
}

function feedKey({ namespace, name }: ObjectName): RecordKey {
  return { type: "Feed", namespace, name };
}

export function encodeFeed({ good, ...rest }: FeedState): string {
  const { content, ...facts } = good ?? {};
  const lines = content === undefined ? [] : linesOf(content);
  const state = { format, ...rest, ...(good && { good: { ...facts, lines: lines.length } }) };
  return [JSON.stringify(state), ...lines, ""].join("\n");
}

const linesOf = onceFor((content: FeedContent): readonly string[] => {
  const lines: string[] = content.entries.map((entry) => {
    const [endMs, note] = [content.expiresAtMs.get(entry), content.notes?.get(entry)];
    return `${entry}${endMs === undefined ? "" : ` ${Math.ceil(endMs / 1000)}`}${note === undefined ? "" : ` # ${note}`}`;
  });
  for (const [entry, endMs] of content.ended ?? []) lines.push(`-${entry} ${Math.ceil(endMs / 1000)}`);
  return lines;
});

/** Undefined if the text is damaged, or was written by a newer version of wafsync: the feed can be fetched again. */
export function decodeFeed(text: string): FeedState | undefined {
  const [first = "", ...rest] = text.split("\n");
  const parsed = record.safeParse(parseJson(first));
  if (!parsed.success || rest.pop() !== "") return undefined;
  const { format: _format, good, ...state } = parsed.data;
  if (good === undefined) return state;
  const { lines, ...facts } = good;
  const content = rest.length === lines ? contentOf(rest) : undefined;
  if (content === undefined) return undefined;
  return { ...state, good: { ...facts, content } };
}

function contentOf(lines: readonly string[]): FeedContent | undefined {
  const entries: Entry[] = [];
  const expiresAtMs = new Map<Entry, number>();
  const ended = new Map<Entry, number>();
  const notes = new Map<Entry, string>();
  for (const line of lines) {
    const [, mark, entryText = "", end, note] = /^(-?)(\S+)(?: (\d+))?(?: # (.+))?$/u.exec(line) ?? [];
    const parsed = parseDeclaredEntry(entryText);
    if (!parsed.ok) return undefined;
    if (mark === "") entries.push(parsed.entry);
    if (note !== undefined) notes.set(parsed.entry, note);
    if (end !== undefined) (mark === "" ? expiresAtMs : ended).set(parsed.entry, Number(end) * 1000);
  }
  return { entries, expiresAtMs, ...(ended.size > 0 && { ended }), ...(notes.size > 0 && { notes }) };
}
