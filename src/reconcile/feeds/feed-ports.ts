// The ports of the feed use case.
import type { Clock } from "../../async/clock.ts";
import type { DeclaredFeed } from "../../model/declared-feed.ts";
import type { ObjectName } from "../../model/resource.ts";
import type { FetchOutcome, InTurn, TextFacts } from "../../plan/feeds/fetched-text.ts";
import type { FetchedReason } from "../../plan/feeds/feed-verdict.ts";
import type { FeedState } from "../../plan/feeds/feed-state.ts";
import type { StatusPort } from "../ports.ts";

/** Persists the state of each feed. */
export interface FeedStore {
  /** Undefined if there is none; `problem` if it could not be read. */
  load(feed: ObjectName): Promise<StoredFeed>;
  /** Whether another process has stored something since the last `load` or `save`. Absent if there is no other process. Never rejects. */
  hasChanged?(feed: ObjectName): Promise<boolean>;
  /** Undefined on success, otherwise the reason. */
  save(feed: ObjectName, state: FeedState): Promise<string | undefined>;
}

export type StoredFeed =
  | { readonly ok: true; readonly state: FeedState | undefined }
  | { readonly ok: false; readonly problem: string };

/** Fetches a feed once. Never rejects. */
export type FetchFeed = (
  feed: DeclaredFeed,
  known: { readonly validators: Pick<TextFacts, "etag" | "lastModified">; readonly state: FeedState },
  signal: AbortSignal,
  inTurn: InTurn,
) => Promise<FetchOutcome>;

/** Observes feeds, for metrics. */
export interface FeedObserver {
  fetched(feed: ObjectName, reason: FetchedReason): void;
  /** The current state of a feed. */
  seen(feed: ObjectName, figures: FeedFigures): void;
  /** Called when the feed is no longer declared. */
  forgotten(feed: ObjectName): void;
}

export interface FeedFigures {
  /** The number of entries that rules currently use. */
  readonly entries: number;
  /** When the source last confirmed the content. */
  readonly confirmedAtMs: number | undefined;
  readonly isStale: boolean;
}

export interface FeedPorts {
  readonly store: FeedStore;
  readonly fetch: FetchFeed;
  /** Called when the feed is no longer declared, so that the fetcher forgets it. */
  readonly forget?: (feed: ObjectName) => void;
  readonly status: StatusPort;
  readonly clock: Clock;
  /** A number of at least 0 and less than 1. */
  readonly random: () => number;
  readonly observer?: FeedObserver;
  /** Whether this process fetches the feed and reports on it; others only load what it stores. All, if undefined. */
  readonly isOwn?: (feed: ObjectName) => boolean;
}
