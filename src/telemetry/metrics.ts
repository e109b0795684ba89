// All metrics of one process, in one registry that is not global. Every series whose labels are known in advance exists from
// the start, at zero. The number of series is limited by the number of instances, feeds, controllers and kinds.
import { collectDefaultMetrics, Gauge, Registry } from "prom-client";
import { makeRuntimeMetrics } from "./metrics-runtime.ts";
import { makeWafMetrics } from "./metrics-waf.ts";
import { nameKey, type ObjectName } from "../model/resource.ts";
import { InstanceSeries } from "./metrics-instances.ts";

export type Metrics = ReturnType<typeof createMetrics>;

/**
 * @param version that of wafsync
 * @param withProcess adds memory, CPU and event loop lag under the names that prom-client uses
 */
export function createMetrics({ version, withProcess }: { readonly version: string; readonly withProcess: boolean }) {
  const registry = new Registry();
  const ofProcess = new Registry();
  const build = new Gauge({
    name: "wafsync_build_info",
    help: "Always 1; the labels name the version of wafsync and of Node.js.",
    labelNames: ["version", "node_version"],
    registers: [registry],
  });
  build.set({ version, node_version: process.version }, 1);
  if (withProcess) collectDefaultMetrics({ register: ofProcess });
  return {
    ...makeWafMetrics(registry),
    feeds: makeFeedMetrics(registry),
    ...makeAutoBlockMetrics(registry),
    ...makeRuntimeMetrics(registry),
    /** All metrics but those of the process. */
    registry,
    /** The HTTP Content-Type of `text`. */
    contentType: registry.contentType,
    /** All series in the text format of Prometheus. */
    text: async (): Promise<string> => (await registry.metrics()) + (await ofProcess.metrics()),
    /** The same without the series of the process, whose names other exporters have as well. */
    ownText: async (): Promise<string> => await registry.metrics(),
  };
}

// Metrics of feeds and of automatic blocks. The results of fetches are the reasons of the condition `Fetched`, which are a limited set.
// No label contains data from a feed, or an address.

/** The reasons of the condition `Fetched` that a fetch can have. Others are not counted. */
export const fetchResults = ["Fetched", "Unavailable", "ContentOnHold"];

interface FeedFigures {
  /** The entries that rules currently get. */
  readonly entries: number;
  /** The time at which the source last confirmed the content; undefined if never. */
  readonly confirmedAtMs: number | undefined;
  readonly isStale: boolean;
}

/** The series of a feed exist from the first call until it is forgotten. */
function makeFeedMetrics(registry: Registry) {
  const feeds = new InstanceSeries(registry, "waf_feed");
  const entries = feeds.gauge("wafsync_feed_entries", "Entries that rules get from the feed.");
  const lastGood = feeds.gauge(
    "wafsync_feed_last_good_timestamp_seconds",
    "Unix time at which the source last confirmed the content of the feed; 0 if never.",
  );
  const stale = feeds.gauge(
    "wafsync_feed_stale",
    "1 if the source has not confirmed the content for longer than spec.staleAfter, 0 if not.",
  );
  const fetches = feeds.counter(
    "wafsync_feed_fetches_total",
    "Number of fetches by result, which is the reason of the condition Fetched.",
    fetchResults.map((result) => ({ result })),
  );
  const add = (feed: ObjectName): string => {
    feeds.add(nameKey(feed));
    return nameKey(feed);
  };
  return {
    fetched(feed: ObjectName, result: string) {
      if (fetchResults.includes(result)) fetches.inc(add(feed), { result });
    },
    seen(feed: ObjectName, figures: FeedFigures) {
      const name = add(feed);
      entries.set(name, figures.entries);
      lastGood.set(name, (figures.confirmedAtMs ?? 0) / 1000);
      stale.set(name, figures.isStale ? 1 : 0);
    },
    forgotten: (feed: ObjectName) => feeds.forget(nameKey(feed)),
  };
}

export interface AutoBlockFigures {
  /** Clients that are listed now. */
  readonly listed: number;
  /** How often a client was left out because of `spec.maxEntries`. */
  readonly leftOut: number;
  /** Matching rows. */
  readonly rows: number;
}

/** WafAutoBlocks are identified by `namespace/name`. */
function makeAutoBlockMetrics(registry: Registry) {
  const blocks = new InstanceSeries(registry, "waf_auto_block");
  const listed = blocks.gauge(
    "wafsync_auto_block_clients",
    "Clients that the WafAutoBlock blocks, or suggests to block.",
  );
  const leftOut = blocks.gauge(
    "wafsync_auto_block_left_out",
    "How often a client reached the threshold without being listed, because of spec.maxEntries.",
  );
  const rows = blocks.gauge(
    "wafsync_auto_block_matched_rows",
    "Rows of the log that matched since the object was created.",
  );
  const known = new Map<string, readonly string[]>();
  return {
    /** Shows these WafAutoBlocks of the instance, and removes the series of all others. */
    autoBlocksSeen(instance: string, figures: ReadonlyMap<string, AutoBlockFigures>) {
      for (const block of known.get(instance) ?? []) if (!figures.has(block)) blocks.forget(block);
      if (figures.size === 0) known.delete(instance);
      else known.set(instance, [...figures.keys()]);
      for (const [block, each] of figures) {
        blocks.add(block);
        listed.set(block, each.listed);
        leftOut.set(block, each.leftOut);
        rows.set(block, each.rows);
      }
    },
  };
}
