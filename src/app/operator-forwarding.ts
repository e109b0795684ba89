// Reads the logs in a cluster: forwards the rows, and judges them for automatic blocks, with one record of the position.
import type { Clock } from "../async/clock.ts";
import type { ApiServer } from "../kube/api-server.ts";
import { nameKey, type ObjectName } from "../model/resource.ts";
import { BlockBook } from "../reconcile/blocking/block-book.ts";
import type { ClusterSource } from "../source/cluster/cluster-source.ts";
import { LogRecords } from "../source/cluster/log-records.ts";
import { recordHolderOf } from "../source/cluster/record-object.ts";
import type { AutoBlockMetrics } from "../telemetry/metrics-auto-blocks.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import { LogForwardingController, type LogForwardingOptions } from "./log-forwarding-controller.ts";
import { readsLogs } from "./log-forwarding-ports.ts";
import { AutoBlockMeasure } from "./measure-auto-blocks.ts";

export interface OperatorBlocksOptions {
  readonly api: ApiServer;
  readonly source: ClusterSource;
  readonly mayRecord: () => boolean;
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
  const { api, source, mayRecord, clock, onChange, metrics } = options;
  const records = new LogRecords({
    api,
    holderOf: (instance) => recordHolderOf(source.objectOf({ kind: "WafInstance", ...instance })),
    // Entries that were forwarded before the process was asked to stop must still be recorded.
    mayWrite: mayRecord,
  });
  const book = new BlockBook({ records, clock, onChange });
  return { records, book, measure: new AutoBlockMeasure(metrics) };
}

export interface OperatorForwardingOptions {
  readonly source: ClusterSource;
  readonly clock: Clock;
  readonly random: () => number;
  readonly metrics: Metrics;
  readonly startRun: LogForwardingOptions["startRun"];
  readonly isOwn: (instance: ObjectName) => boolean;
}

export function createOperatorForwarding(options: OperatorForwardingOptions): LogForwardingController {
  const { source, clock, random, metrics, startRun, isOwn } = options;
  const queueObserver = metrics.queue("logs");
  const controller = new LogForwardingController({
    startRun,
    isOwn,
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
