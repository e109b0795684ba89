// The reading of logs in a cluster: rows are forwarded, and judged for automatic blocks, from one record of the position.
import type { Clock } from "../async/clock.ts";
import type { ApiServer } from "../kube/api-server.ts";
import { nameKey, type ObjectName } from "../model/resource.ts";
import { BlockBook } from "../reconcile/blocking/block-book.ts";
import type { LogStatusPort } from "../reconcile/logs/forward-ports.ts";
import type { ClusterSource } from "../source/cluster/cluster-source.ts";
import { formerLogRecords, type FormerRecordsOptions } from "../source/cluster/config-map-records.ts";
import { LogRecords } from "../source/cluster/log-records.ts";
import { recordHolderOf } from "../source/cluster/record-object.ts";
import type { Logger } from "../telemetry/log.ts";
import type { AutoBlockMetrics } from "../telemetry/metrics-auto-blocks.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { Leadership } from "./leadership.ts";
import { LogForwardingController } from "./log-forwarding-controller.ts";
import { logForwardingPorts, type LogForwardingParts, readsLogs } from "./log-forwarding-ports.ts";
import { AutoBlockMeasure } from "./measure-auto-blocks.ts";
import { runFields } from "./run-fields.ts";

export interface OperatorBlocksOptions {
  readonly api: ApiServer;
  readonly source: ClusterSource;
  readonly leadership: Leadership;
  /** The records of wafsync 0.1; undefined if they must not be moved. */
  readonly formerRecords: FormerRecordsOptions | undefined;
  readonly clock: Clock;
  readonly onChange: (instance: ObjectName) => void;
  readonly metrics: AutoBlockMetrics;
}

export interface OperatorBlocks {
  readonly records: LogRecords;
  readonly book: BlockBook;
  readonly measure: AutoBlockMeasure;
}

export function createOperatorBlocks(options: OperatorBlocksOptions): OperatorBlocks {
  const { api, source, leadership, formerRecords, clock, onChange, metrics } = options;
  const records = new LogRecords({
    api,
    holderOf: (instance) => recordHolderOf(source.objectOf({ kind: "WafInstance", ...instance })),
    former: formerRecords === undefined ? undefined : formerLogRecords(formerRecords),
    // Entries that were forwarded before the process was asked to stop must still be recorded.
    mayWrite: () => leadership.mayRecord(),
  });
  const book = new BlockBook({ records, clock, onChange });
  return { records, book, measure: new AutoBlockMeasure(metrics) };
}

export interface OperatorForwardingOptions {
  readonly parts: LogForwardingParts;
  readonly metrics: Metrics;
  readonly log: Logger;
  /** @param fields those of the run */
  readonly statusOf: (fields: Readonly<Record<string, unknown>>) => LogStatusPort;
}

export function createOperatorForwarding(options: OperatorForwardingOptions): LogForwardingController {
  const { parts, metrics, statusOf } = options;
  const { clock, random, source } = parts;
  const queueObserver = metrics.queue("logs");
  const portsOf = logForwardingPorts(parts);
  const controller = new LogForwardingController({
    startRun: (instance, reasons) => {
      const fields = runFields(instance, reasons);
      const log = options.log.child(fields);
      return {
        ports: portsOf(statusOf(fields), log),
        onError: (error) => log.error("log forwarding panicked", { error }),
      };
    },
    concerns: (instance) =>
      readsLogs(source.objectOf({ kind: "WafInstance", ...instance })) || source.hasAutoBlocks(nameKey(instance)),
    clock,
    random,
    queueObserver,
    measured: metrics.reconciles("logs"),
  });
  queueObserver.follow(() => controller.stats());
  return controller;
}
