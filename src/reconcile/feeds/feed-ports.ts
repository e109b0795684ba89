// What the use case of feeds needs of the world.
import type { Clock } from "../../async/clock.ts";
import type { DeclaredFeed } from "../../model/declared-feed.ts";
import type { ObjectName } from "../../model/resource.ts";
import type { FetchOutcome, TextFacts } from "../../plan/feeds/fetched-text.ts";
import type { FeedState } from "../../plan/feeds/feed-state.ts";
import type { StatusPort } from "../ports.ts";

/** Keeps what is known of each feed beyond the end of the process. */
export interface FeedStore {
  /** Undefined if nothing is known; `problem` if it could not be read. */
  load(feed: ObjectName): Promise<StoredFeed>;
  /** Undefined, or why it was not written. */
  save(feed: ObjectName, state: FeedState): Promise<string | undefined>;
}

export type StoredFeed =
  | { readonly ok: true; readonly state: FeedState | undefined }
  | { readonly ok: false; readonly problem: string };

/** Asks the source of a feed once. Never rejects. */
export type FetchFeed = (
  feed: DeclaredFeed,
  known: { readonly validators: Pick<TextFacts, "etag" | "lastModified">; readonly state: FeedState },
  signal: AbortSignal,
) => Promise<FetchOutcome>;

export interface FeedPorts {
  readonly store: FeedStore;
  readonly fetch: FetchFeed;
  readonly status: StatusPort;
  readonly clock: Clock;
  /** A number from 0 to below 1. */
  readonly random: () => number;
}
