// The options of the operator, declared once, and what all its work shares: connections, caches and records, made once.
import type { KubeConfig } from "../kube/credentials.ts";
import type { Clock } from "../async/clock.ts";
import type { ApiServer } from "../kube/api-server.ts";
import type { ObjectAddress } from "../kube/resource-path.ts";
import type { LabelSelector } from "../model/declared.ts";
import type { Redactor } from "../model/redactor.ts";
import type { ObjectName } from "../model/resource.ts";
import type { BlockBook } from "../reconcile/blocking/block-book.ts";
import type { FeedBook } from "../reconcile/feeds/feed-book.ts";
import type { LogRecords } from "../records/log-records.ts";
import type { ClusterRecords } from "../source/cluster/cluster-records.ts";
import type { ClusterSource } from "../source/cluster/cluster-source.ts";
import type { Logger } from "../telemetry/log.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { AnswerLimits } from "../waf/client.ts";
import type { BaseUrlPolicy } from "./base-url-policy.ts";
import type { FeedPolicy } from "./feed-fetcher.ts";
import type { HistoryKeeper } from "./history-keeper.ts";
import type { Leadership } from "./leadership.ts";
import type { LogOutputs } from "./log-outputs.ts";
import type { AutoBlockMeasure } from "./measure.ts";
import type { SelectedInstances } from "./selected-instances.ts";
import type { StoppingControl } from "./stopping.ts";
import type { CallWaf, WafClients } from "./waf-clients.ts";

export interface OperatorOptions {
  readonly kubeConfig: KubeConfig;
  /** The only namespace to manage, with Roles only; all namespaces if undefined. */
  readonly namespace: string | undefined;
  /** Undefined if there is no leader election. */
  readonly lease: ObjectAddress | undefined;
  /** The labels of the instances and feeds of this operator; undefined for all. */
  readonly selector?: LabelSelector | undefined;
  readonly podName: string;
  readonly baseUrls: BaseUrlPolicy;
  /** Limits for the responses of one WAF; unlimited if undefined. */
  readonly limits?: AnswerLimits | undefined;
  /** The maximum number of rows of an instance that are forwarded in an hour, and remembered; undefined for the default. */
  readonly logRowsMax?: number | undefined;
  readonly feedPolicy: FeedPolicy;
  readonly version: string;
  /** The base URL of an OpenTelemetry collector, for instances that forward their logs to it; undefined if there is none. */
  readonly otlpEndpoint?: string | undefined;
  /** Serves a page about the operator; undefined if there is none. */
  readonly servePage?: ServePage | undefined;
  readonly ports: { readonly host: string | undefined; readonly healthPort: number; readonly metricsPort: number };
  readonly clock: Clock;
  readonly random: () => number;
  readonly redactor: Redactor;
  readonly log: Logger;
  readonly stopping: StoppingControl;
}

/** What a page may see of the operator: the objects of its watches, and its WAF clients for reading. */
export interface OperatorSight {
  readonly api: ApiServer;
  /** The only managed namespace; all namespaces if undefined. */
  readonly namespace: string | undefined;
  readonly redactor: Redactor;
  readonly objects: ClusterSource["objects"];
  /** Why the watches are incomplete, in a sentence; undefined if they are complete. */
  readonly notReadyBecause: () => string | undefined;
  /** Calls the WAF in the lane of the key, like every other call of the operator. */
  readonly callWaf: CallWaf;
}

/** Serves a page. Returns a function that stops it. Never rejects. */
export type ServePage = (sight: OperatorSight) => Promise<() => Promise<void>>;

export interface OperatorRuntime {
  readonly options: OperatorOptions;
  readonly api: ApiServer;
  readonly metrics: Metrics;
  readonly leadership: Leadership;
  readonly source: ClusterSource;
  /** The instances that this operator reconciles. */
  readonly selected: SelectedInstances;
  readonly records: ClusterRecords;
  readonly history: HistoryKeeper;
  readonly logRecords: LogRecords;
  readonly wafClients: WafClients;
  readonly feeds: FeedBook;
  readonly blocks: BlockBook;
  readonly blockMeasure: AutoBlockMeasure;
  readonly outputs: LogOutputs;
  /** The domain of the instance's key, as its last run found. */
  domainOf(instance: ObjectName): string | undefined;
}
