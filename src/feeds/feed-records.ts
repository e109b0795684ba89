// Feeds in a record store, as JSON: the first line has the state, which each fetch changes, and each further one an entry. A damaged record, or one of a former feed of the same name, counts as absent:
// the feed is fetched again.
import * as z from "zod";
import { parseJson } from "../model/record.ts";
import { nameKey, type ObjectName } from "../model/resource.ts";
import type { RecordKey, RecordStore } from "../records/record-store.ts";
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

export function encodeFeed(state: FeedState): string {
  const text = JSON.stringify(z.encode(record, { format, ...state }), undefined, 1);
  return `${text.replace(/^[^]*?"content": \[/, (head) => head.replaceAll(/\n */g, ""))}\n`;
}

/** Undefined if the text is damaged, or was written by a newer version of wafsync: the feed can be fetched again. */
export function decodeFeed(text: string): FeedState | undefined {
  const { success, data } = record.safeParse(parseJson(text));
  if (!success) return undefined;
  const { format: _, ...state } = data;
  return state;
}
