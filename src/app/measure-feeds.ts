// Records the fetches of feeds as metrics.
import { nameKey } from "../model/resource.ts";
import type { FeedObserver } from "../reconcile/feeds/feed-ports.ts";
import { type FeedMetrics, fetchResults } from "../telemetry/metrics-feeds.ts";

export function measuringFeedObserver(metrics: FeedMetrics): FeedObserver {
  return {
    fetched(feed, reason) {
      const result = fetchResults.find((one) => one === reason);
      if (result !== undefined) metrics.feedFetched(nameKey(feed), result);
    },
    seen: (feed, figures) => metrics.feedSeen(nameKey(feed), figures),
    forgotten: (feed) => metrics.forgetFeed(nameKey(feed)),
  };
}
