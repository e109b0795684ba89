// Metrics of feeds. The results of fetches are the reasons of the condition `Fetched`, which are a limited set. No label contains
// data from a feed.
import type { Registry } from "prom-client";
import { InstanceSeries } from "./metrics-instances.ts";

/** The reasons of the condition `Fetched` that a fetch can have. */
export const fetchResults = [
  "Fetched",
  "Unavailable",
  "RateLimited",
  "UrlNotAllowed",
  "NotAList",
  "ContentOnHold",
  "MissingSecret",
  "BadApiKey",
] as const;
export type FetchResult = (typeof fetchResults)[number];

export interface FeedFigures {
  /** The entries that rules currently get. */
  readonly entries: number;
  /** The time at which the source last confirmed the content; undefined if never. */
  readonly confirmedAtMs: number | undefined;
  readonly isStale: boolean;
}

/** Feeds are identified by `namespace/name`. */
export interface FeedMetrics {
  feedFetched(feed: string, result: FetchResult): void;
  /** Creates the series of a feed if they do not exist. */
  feedSeen(feed: string, figures: FeedFigures): void;
  /** Removes all series of a feed that was deleted. */
  forgetFeed(feed: string): void;
}

export function makeFeedMetrics(registry: Registry): FeedMetrics {
  const feeds = new InstanceSeries(registry, "waf_feed");
  const gauge = (name: string, help: string) => feeds.gauge({ name, help, labelNames: [], initial: [{}] });
  const entries = gauge("wafsync_feed_entries", "Entries that rules get from the feed.");
  const lastGood = gauge(
    "wafsync_feed_last_good_timestamp_seconds",
    "Unix time at which the source last confirmed the content of the feed; 0 if never.",
  );
  const stale = gauge(
    "wafsync_feed_stale",
    "1 if the source has not confirmed the content for longer than spec.staleAfter, 0 if not.",
  );
  const fetches = feeds.counter({
    name: "wafsync_feed_fetches_total",
    help: "Number of fetches by result, which is the reason of the condition Fetched.",
    labelNames: ["result"],
    initial: fetchResults.map((result) => ({ result })),
  });
  return {
    feedFetched(feed, result) {
      feeds.add(feed);
      fetches.inc(feed, { result });
    },
    feedSeen(feed, figures) {
      feeds.add(feed);
      entries.set(feed, {}, figures.entries);
      lastGood.set(feed, {}, (figures.confirmedAtMs ?? 0) / 1000);
      stale.set(feed, {}, figures.isStale ? 1 : 0);
    },
    forgetFeed: (feed) => feeds.forget(feed),
  };
}
