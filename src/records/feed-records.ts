// Feeds in a record store. A damaged record, or one of a former feed of the same name, counts as absent: the feed is fetched again.
import type { ObjectName } from "../model/resource.ts";
import { nameKey } from "../model/resource.ts";
import type { FeedState } from "../plan/feeds/feed-state.ts";
import { decodeFeed, encodeFeed } from "./feed-text.ts";
import { describeRecord, type RecordKey, type RecordStore } from "./record-store.ts";

export class FeedRecords {
  readonly #store: RecordStore;
  /** The revision of each feed's record, as last loaded or saved. */
  readonly #revisions = new Map<string, string>();

  constructor(store: RecordStore) {
    this.#store = store;
  }

  async load(
    feed: ObjectName,
  ): Promise<
    { readonly ok: true; readonly state: FeedState | undefined } | { readonly ok: false; readonly problem: string }
  > {
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
    if (revision === undefined) return `${describeRecord(feedKey(feed))} has not been read.`;
    const saved = await this.#store.save(feedKey(feed), encodeFeed(state), revision);
    if (saved.state !== "Saved") return saved.problem;
    this.#revisions.set(nameKey(feed), saved.revision);
    return undefined;
  }
}

export function feedKey({ namespace, name }: ObjectName): RecordKey {
  return { type: "Feed", namespace, name };
}
