// The ports of a log forwarding run in a cluster.
import { nameKey } from "../model/resource.ts";
import { autoBlockPublisher } from "../reconcile/blocking/block-book.ts";
import { withFeeds } from "../reconcile/feeds/feed-source.ts";
import type { ForwardLogsPorts, LogStatusPort } from "../reconcile/logs/forward-ports.ts";
import type { ClusterObject } from "../source/cluster/cluster-object.ts";
import type { LogRecords } from "../source/cluster/log-records.ts";
import type { Logger } from "../telemetry/log.ts";
import type { AutoBlockMeasure } from "./measure-auto-blocks.ts";
import { baseUrlObjection } from "./base-url-policy.ts";
import type { LogOutputs } from "./log-outputs.ts";
import type { OperatorParts } from "./operator-ports.ts";

export interface LogForwardingParts extends Omit<OperatorParts, "records" | "history"> {
  readonly outputs: LogOutputs;
  readonly logRecords: LogRecords;
  readonly measure: AutoBlockMeasure;
  /** The domain that the instance's key belongs to, as its last reconcile run found. */
  readonly domainOf: ForwardLogsPorts["domainOf"];
  /** The maximum number of rows of an instance that are forwarded in an hour, and remembered; undefined for the default. */
  readonly logRowsMax: number | undefined;
}

/** @returns a function that creates the ports of one run; its `log` has the fields of that run */
export function logForwardingPorts(
  parts: LogForwardingParts,
): (status: LogStatusPort, log: Logger) => ForwardLogsPorts {
  const { clock, random, metrics, leadership, stopping, baseUrls, wafClients, outputs, source, gather, feeds } = parts;
  const { logRecords: records, logRowsMax } = parts;
  return (status, log) => ({
    source: withFeeds(
      {
        gather,
        confirm: async (instance) => await source.confirm(instance),
        version: (instance) => source.version(instance),
      },
      feeds,
    ),
    baseUrlObjection: (baseUrl) => baseUrlObjection(baseUrls, baseUrl),
    domainOf: parts.domainOf,
    openLogs: (instance, key) => {
      metrics.addInstance(nameKey(instance.meta));
      return wafClients.open(instance, key);
    },
    outputOf: (output) => outputs.of(output),
    records,
    blocks: autoBlockPublisher(parts.blocks, status, (instance, judgements) =>
      parts.measure.published(instance, judgements),
    ),
    ...(logRowsMax === undefined ? {} : { limits: { rowsPerHourMax: logRowsMax, rowsKeptMax: logRowsMax } }),
    status,
    clock,
    random,
    mayForward: () => leadership.mayWrite() && !stopping.stop.aborted,
    stopping: stopping.stop,
    observer: {
      forwarded: (gathered, entries, output) => {
        metrics.logsForwarded(nameKey(gathered.instance.meta), entries, output);
      },
      lagged: (instance, lagMs) => metrics.logsLagged(nameKey(instance), lagMs),
      remembered: (instance, rows) => metrics.logsRemembered(nameKey(instance), rows),
      failed: (instance, reason, fault) => {
        metrics.logForwardingFailed(nameKey(instance), reason);
        const cause = fault?.cause;
        log.warn("log forwarding failed", { reason, ...(cause !== undefined && { cause }) });
        if (fault?.code === "BadApiKey" || fault?.code === "MissingApiKey") source.secretRefused(instance);
      },
    },
  });
}

/** Whether the instance in the API server forwards its logs, or its status says so. */
export function readsLogs(instance: ClusterObject | undefined): boolean {
  const { spec, status } = (instance ?? {}) as {
    readonly spec?: { readonly logs?: { readonly enabled?: unknown } };
    readonly status?: { readonly logs?: unknown };
  };
  return spec?.logs?.enabled === true || status?.logs !== undefined;
}
