// The feeds of a cluster: declared as WafFeeds, with Secrets in their namespaces, and stored in WafRecords. Only the leader
// fetches, because only one process may advance the CrowdSec cursor.
import type { ApiServer } from "../kube/api-server.ts";
import type { LabelSelector } from "../model/declared.ts";
import type { SecretKeyRef } from "../model/declared-feed.ts";
import { FeedBook } from "../reconcile/feeds/feed-book.ts";
import type { ObjectName } from "../model/resource.ts";
import type { StatusPort } from "../reconcile/ports.ts";
import type { ClusterSource } from "../source/cluster/cluster-source.ts";
import { FeedRecords } from "../source/cluster/feed-records.ts";
import { readSecretValue } from "../source/cluster/secret-value.ts";
import { type FeedFetcherOptions, createFeedFetcher } from "./feed-fetcher.ts";
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
  const { fetch, forget } = createFeedFetcher({ policy, readSecret, clock, redactor, version });
  const observer = measuringFeedObserver(metrics);
  const book = new FeedBook({ store, fetch, forget, status, clock, random, observer, isOwn });
  return {
    book,
    loop: new FeedLoop({ book, feeds: () => source.feeds.declared(), clock, followsOthers: selector !== undefined }),
  };
}
