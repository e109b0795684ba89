// Starts and stops the operator.
//
// Start: health server, watches, leadership, reconcile runs. Only the leader reconciles; the others keep their caches warm.
// Stop: no new calls, end of the calls in flight, Lease, events, connections. If the Lease is lost, the process ends
// immediately, because another process may start to write.
import type { Clock } from "../async/clock.ts";
import { createApiServer } from "../kube/api-server.ts";
import type { KubeConfig } from "@kubernetes/client-node/dist/config.js";
import { kubeConfigCredentials } from "../kube/credentials.ts";
import { leaseApi } from "../kube/object-apis.ts";
import type { ObjectAddress } from "../kube/resource-path.ts";
import type { LabelSelector } from "../model/declared.ts";
import type { Redactor } from "../model/redactor.ts";
import { createMetrics } from "../telemetry/metrics.ts";
import type { Logger } from "../telemetry/log.ts";
import type { AnswerLimits } from "../waf/client.ts";
import type { BaseUrlPolicy } from "./base-url-policy.ts";
import type { FeedPolicy } from "./feed-fetcher.ts";
import type { HealthServer } from "./health-server.ts";
import { startHealthServer } from "./health-server.ts";
import type { Leadership } from "./leadership.ts";
import { electedLeadership, soleLeadership } from "./leadership.ts";
import type { OperatorWork } from "./operator-options.ts";
import type { ServePage } from "./operator-sight.ts";
import { createOperatorWork } from "./operator-work.ts";
import type { StoppingControl } from "./stopping.ts";

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

export type OperatorOutcome =
  | { readonly state: "Stopped" }
  | { readonly state: "LeaseLost" }
  | { readonly state: "NotStarted"; readonly problem: string; readonly hint?: string };

/** Runs until the process has to stop or loses the Lease. */
export async function runOperator(options: OperatorOptions): Promise<OperatorOutcome> {
  const { log, clock, stopping, version } = options;
  const credentials = kubeConfigCredentials(options.kubeConfig);
  const metrics = createMetrics({ version, withProcess: true });
  const userAgent = `wafsync/${version}`;
  const api = createApiServer({ credentials, clock, userAgent });
  // A separate client, so that no other traffic delays a renewal.
  const leaseClient = createApiServer({ credentials, clock, userAgent, connectionsMax: 1 });
  const leaseName = options.lease?.name ?? "none";
  metrics.leading(leaseName, false);
  const leadership = leadershipOf(options, leaseClient, (isLeading) => metrics.leading(leaseName, isLeading));
  const work = createOperatorWork({ ...options, api, metrics, leadership });
  const health = await listen(options, work, metrics);
  if ("problem" in health) return { state: "NotStarted", ...health };
  log.info("started", { version, namespaces: options.namespace ?? "all", ...options.ports, ...portsOf(health) });
  const closePage = await options.servePage?.(work.sight);
  const watching = work.watch(stopping.stop);
  const outcome = await lead(options, leadership, work);
  // Calling begin() again would abort the call in flight.
  if (!stopping.stop.aborted) stopping.begin("ended");
  const workEnded = async (): Promise<void> => await work.ended();
  if (outcome.state === "Stopped") await leadership.end(workEnded);
  // Another process may start to write, so the call in flight is aborted immediately.
  if (outcome.state === "LeaseLost") stopping.begin("lease lost");
  await watching;
  await closePage?.();
  await work.close(outcome.state === "LeaseLost" ? 0 : eventFlushMs);
  await Promise.all([health.close(), api.close(), leaseClient.close()]);
  stopping.done();
  log.info("stopped", { outcome: outcome.state });
  return outcome;
}

/** How long the last events may take to reach the API server. */
const eventFlushMs = 2_000;

async function lead(options: OperatorOptions, leadership: Leadership, work: OperatorWork): Promise<OperatorOutcome> {
  const { stopping, log } = options;
  const stopped = new Promise<OperatorOutcome>((resolve) => {
    const stop = (): void => resolve({ state: "Stopped" });
    if (stopping.stop.aborted) stop();
    else stopping.stop.addEventListener("abort", stop, { once: true });
  });
  const lost = leadership.lost.then((reason): OperatorOutcome => {
    log.error("lost the lease", { reason });
    return { state: "LeaseLost" };
  });
  const working = (async (): Promise<OperatorOutcome> => {
    await work.whenSynced(stopping.stop);
    if (!(await leadership.begin())) return await stopped;
    log.info("leading");
    await work.run(stopping.stop);
    return await stopped;
  })();
  return await Promise.race([stopped, lost, working]);
}

function leadershipOf(
  options: OperatorOptions,
  api: ReturnType<typeof createApiServer>,
  onLeading: (isLeading: boolean) => void,
): Leadership {
  const { lease, clock, random, podName, log } = options;
  if (lease === undefined) return soleLeadership();
  return electedLeadership({
    api: leaseApi(api, lease),
    clock,
    random,
    podName,
    lease,
    log,
    onStanding: (standing) => onLeading(standing === "Leading"),
  });
}

async function listen(
  { ports, log }: OperatorOptions,
  work: OperatorWork,
  metrics: ReturnType<typeof createMetrics>,
): Promise<HealthServer | { readonly problem: string; readonly hint: string }> {
  const checks = {
    // A hung process cannot answer, so any answer means alive.
    liveness: () => undefined,
    readiness: () => work.sight.notReadyBecause(),
    metrics: async () => await metrics.text(),
    metricsContentType: metrics.contentType,
  };
  try {
    return await startHealthServer(checks, ports);
  } catch (error) {
    const { code = "unknown error", port } = error as NodeJS.ErrnoException & { readonly port?: number };
    log.error("the health server cannot listen", { code, port });
    return {
      problem: `cannot open port ${port ?? ""} (${code})`,
      hint: "Choose other ports with --health-port and --metrics-port.",
    };
  }
}

function portsOf({ healthPort, metricsPort }: HealthServer): object {
  return { healthPort, metricsPort };
}
