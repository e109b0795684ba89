// The interface by which the operator's work is started and stopped, and the options of this work.
import type { Clock } from "../async/clock.ts";
import type { ApiServer } from "../kube/api-server.ts";
import type { LabelSelector } from "../model/declared.ts";
import type { Redactor } from "../model/redactor.ts";
import type { Logger } from "../telemetry/log.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { AnswerLimits } from "../waf/client.ts";
import type { BaseUrlPolicy } from "./base-url-policy.ts";
import type { FeedPolicy } from "./feed-fetcher.ts";
import type { Leadership } from "./leadership.ts";
import type { OperatorSight } from "./operator-sight.ts";
import type { Stopping } from "./stopping.ts";

export interface OperatorWork {
  /** Watches the objects of the cluster until the signal aborts. */
  watch(signal: AbortSignal): Promise<void>;
  /** Resolves when all objects have been listed once, or when the signal aborts. */
  whenSynced(signal: AbortSignal): Promise<void>;
  /** Reconciles until the signal aborts and the current runs have ended. */
  run(signal: AbortSignal): Promise<void>;
  /** Resolves when no work is in progress. */
  ended(): Promise<void>;
  /** What a page may see of the operator. */
  readonly sight: OperatorSight;
  close(eventFlushMs: number): Promise<void>;
}

export interface OperatorWorkOptions {
  readonly api: ApiServer;
  readonly metrics: Metrics;
  readonly leadership: Leadership;
  /** The labels of the instances and feeds of this operator; undefined for all. */
  readonly selector?: LabelSelector | undefined;
  readonly namespace: string | undefined;
  readonly podName: string;
  readonly version: string;
  /** The base URL of an OpenTelemetry collector; undefined if there is none. */
  readonly otlpEndpoint?: string | undefined;
  readonly baseUrls: BaseUrlPolicy;
  /** Limits for the responses of one WAF, and for its log rows. */
  readonly limits?: AnswerLimits | undefined;
  readonly logRowsMax?: number | undefined;
  readonly feedPolicy: FeedPolicy;
  readonly clock: Clock;
  readonly random: () => number;
  readonly redactor: Redactor;
  readonly log: Logger;
  readonly stopping: Stopping;
}
