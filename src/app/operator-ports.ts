// The ports of an instance's reconcile run in a cluster.
import type { Clock } from "../async/clock.ts";
import type { ObjectName } from "../model/resource.ts";
import { nameKey } from "../model/resource.ts";
import type { BlockBook } from "../reconcile/blocking/block-book.ts";
import { withAutoBlocks } from "../reconcile/blocking/block-source.ts";
import type { FeedBook } from "../reconcile/feeds/feed-book.ts";
import { withFeeds } from "../reconcile/feeds/feed-source.ts";
import type { HistoryPort, ReconcilePorts, SourcePort, StatusPort } from "../reconcile/ports.ts";
import type { ClusterRecords } from "../source/cluster/cluster-records.ts";
import type { ClusterSource } from "../source/cluster/cluster-source.ts";
import type { Logger } from "../telemetry/log.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { BaseUrlPolicy } from "./base-url-policy.ts";
import { baseUrlObjection } from "./base-url-policy.ts";
import type { Leadership } from "./leadership.ts";
import { measuringObserver } from "./measure-reconciles.ts";
import type { Stopping } from "./stopping.ts";
import type { WafClients } from "./waf-clients.ts";
import { writePermission } from "./write-permission.ts";

export interface OperatorParts {
  readonly clock: Clock;
  readonly random: () => number;
  readonly metrics: Metrics;
  readonly leadership: Pick<Leadership, "mayWrite" | "mayRecord">;
  readonly stopping: Stopping;
  readonly baseUrls: BaseUrlPolicy;
  readonly source: ClusterSource;
  readonly records: ClusterRecords;
  readonly history: HistoryPort;
  readonly wafClients: WafClients;
  readonly gather: SourcePort["gather"];
  readonly feeds: Pick<FeedBook, "view">;
  readonly blocks: BlockBook;
}

/** @param log the logger with the fields of the run */
export function operatorPorts(parts: OperatorParts, status: StatusPort, log: Logger): ReconcilePorts {
  const { clock, random, metrics, leadership, stopping, baseUrls, source, records, wafClients } = parts;
  return {
    source: withAutoBlocks(
      withFeeds(
        {
          gather: parts.gather,
          confirm: async (name: ObjectName) => await source.confirm(name),
          version: (name: ObjectName) => source.version(name),
          isUninstalling: async () => await source.isUninstalling(),
          removeObject: async (object) => {
            if (writePermission(leadership, stopping).permitted) await source.remove(object);
          },
        },
        parts.feeds,
      ),
      parts.blocks,
    ),
    inventory: records.inventory,
    history: parts.history,
    lifecycle: records.lifecycle,
    status,
    openWaf: (instance, key) => {
      // Before the first call, so that the figures of the first run are not lost.
      metrics.addInstance(nameKey(instance.meta));
      return wafClients.open(instance, key);
    },
    clock,
    random,
    observer: {
      ...measuringObserver(metrics),
      failed: (instance, fault) => {
        log.warn("reconcile failed", { code: fault.code, ...(fault.cause !== undefined && { cause: fault.cause }) });
        if (fault.code === "BadApiKey" || fault.code === "MissingApiKey") source.secretRefused(instance);
      },
      waiting: (_instance, why, delayMs) => log.info("waiting", { why, delayMs }),
    },
    baseUrlObjection: (baseUrl) => baseUrlObjection(baseUrls, baseUrl),
    stopping: stopping.stop,
    abandon: stopping.abandon,
  };
}
