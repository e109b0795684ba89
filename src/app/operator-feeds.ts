// The feeds of a cluster: declared as WafFeeds, with Secrets in their namespaces, and stored in WafRecords. Only the leader
// fetches, because only one process may advance the CrowdSec cursor.
import type { ApiServer } from "../kube/api-server.ts";
import type { LabelSelector } from "../model/declared.ts";
import type { SecretKeyRef } from "../model/declared-feed.ts";
import type { Gathered } from "../model/gathered.ts";
import { type LogEntry, logTimeMs } from "../model/log-entry.ts";
import { blockingFeeds } from "../plan/feeds/blocking-feeds.ts";
import { FeedBook } from "../reconcile/feeds/feed-book.ts";
import type { ObjectName } from "../model/resource.ts";
import type { StatusPort } from "../reconcile/ports.ts";
import type { ClusterSource } from "../source/cluster/cluster-source.ts";
import { FeedRecords } from "../source/cluster/feed-records.ts";
import { readSecretValue } from "../source/cluster/secret-value.ts";
import { type FeedFetcher, type FeedFetcherOptions, createFeedFetcher } from "./feed-fetcher.ts";
import type { FeedMetrics } from "../telemetry/metrics-feeds.ts";
import { FeedLoop } from "./feed-loop.ts";
import { measuringFeedObserver } from "./measure-feeds.ts";

export interface OperatorFeedsOptions extends Omit<FeedFetcherOptions, "policy" | "readSecret"> {
  readonly feedPolicy: FeedFetcherOptions["policy"];
  readonly api: ApiServer;
  readonly source: ClusterSource;
  readonly status: StatusPort;
  readonly mayWrite: () => boolean;
  /** Whether this operator fetches the feed. It only loads what others fetch and store. */
  readonly isOwn: (feed: ObjectName) => boolean;
  /** Undefined if this operator fetches all feeds. */
  readonly selector?: LabelSelector | undefined;
  readonly random: () => number;
  readonly metrics: FeedMetrics;
}

export interface OperatorFeeds {
  readonly book: FeedBook;
  readonly loop: FeedLoop;
  /** Counts requests that the WAF of an instance blocked, from its log. */
  readonly countBlocked: (gathered: Gathered, entries: readonly LogEntry[]) => void;
}

export function createOperatorFeeds(options: OperatorFeedsOptions): OperatorFeeds {
  const {
    api,
    source,
    status,
    mayWrite,
    isOwn,
    selector,
    clock,
    random,
    feedPolicy: policy,
    redactor,
    version,
    metrics,
  } = options;
  const uidOf = (feed: { readonly namespace: string; readonly name: string }): string | undefined =>
    source.objectOf({ kind: "WafFeed", ...feed })?.metadata.uid;
  const store = new FeedRecords({ api, mayWrite, uidOf });
  const readSecret = async (namespace: string, ref: SecretKeyRef) => await readSecretValue(api, namespace, ref);
  const fetcher = createFeedFetcher({ policy, readSecret, clock, redactor, version });
  const { fetch, forget } = fetcher;
  const observer = measuringFeedObserver(metrics);
  const book = new FeedBook({ store, fetch, forget, status, clock, random, observer, isOwn });
  return {
    book,
    loop: new FeedLoop({ book, feeds: () => source.feeds.declared(), clock, followsOthers: selector !== undefined }),
    countBlocked: (gathered, entries) => countBlocked(gathered, entries, book, fetcher),
  };
}

/** Nothing is counted for a feed with content on hold until that content is accepted or replaced. */
export function countBlocked(
  gathered: Gathered,
  entries: readonly LogEntry[],
  book: Pick<FeedBook, "view" | "state">,
  fetcher: Pick<FeedFetcher, "countBlocked">,
): void {
  const feeds = blockingFeeds(gathered, (feed) => book.view(feed)).filter(
    (feed) => book.state(feed)?.held === undefined,
  );
  if (feeds.length === 0) return;
  const requests = entries.map(({ client_ip: client, timestamp }) => ({ client, atMs: logTimeMs(timestamp) }));
  for (const feed of feeds) fetcher.countBlocked(feed, requests);
}
