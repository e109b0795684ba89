// Starts and stops the operator.
//
// Start: health server, watches, leadership, reconcile runs. Only the leader reconciles; the others keep their caches warm.
// Stop: no new call, the calls in flight, the Lease, events, connections. If the Lease is lost, the process ends at once,
// because another process may start to write.
import type { Clock } from "../async/clock.ts";
import { createApiServer } from "../kube/api-server.ts";
import type { Credentials } from "../kube/credentials.ts";
import { kubeConfigCredentials, loadKubeConfig } from "../kube/credentials.ts";
import type { ObjectAddress } from "../kube/resource-path.ts";
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
import type { ServePage } from "./operator-sight.ts";
import type { OperatorWork } from "./operator-work.ts";
import { createOperatorWork } from "./operator-work.ts";
import type { StoppingControl } from "./stopping.ts";

export interface OperatorOptions {
  readonly kubeConfig: { readonly file?: string; readonly context?: string };
  /** The only namespace to manage, with Roles only; all namespaces if undefined. */
  readonly namespace: string | undefined;
  /** Undefined if there is no leader election. */
  readonly lease: ObjectAddress | undefined;
  readonly podName: string;
  readonly baseUrls: BaseUrlPolicy;
  /** Limits for the responses of one WAF; unlimited if undefined. */
  readonly limits?: AnswerLimits | undefined;
  /** Rows of one instance that are forwarded in an hour, and that are remembered; undefined for the default. */
  readonly logRowsMax?: number | undefined;
  readonly feedPolicy: FeedPolicy;
  /** Whether records of wafsync 0.1 in ConfigMaps are migrated. */
  readonly migratesConfigMaps: boolean;
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
  const credentials = readCredentials(options);
  if ("problem" in credentials) return { state: "NotStarted", ...credentials };
  const metrics = createMetrics({ version, withProcess: true });
  const userAgent = `wafsync/${version}`;
  const api = createApiServer({ credentials, clock, userAgent });
  const leaseApi = createApiServer({ credentials, clock, userAgent, connectionsMax: 1 });
  const leaseName = options.lease?.name ?? "none";
  metrics.leading(leaseName, false);
  const leadership = leadershipOf(options, leaseApi, (isLeading) => metrics.leading(leaseName, isLeading));
  const work = createOperatorWork({ ...options, api, metrics, leadership });
  const health = await listen(options, work, metrics);
  if ("problem" in health) return { state: "NotStarted", ...health };
  log.info("started", { version, namespaces: options.namespace ?? "all", ...options.ports, ...portsOf(health) });
  const closePage = await options.servePage?.(work.sight);
  const watching = work.watch(stopping.stop);
  const outcome = await lead(options, leadership, work);
  // Calling begin() again would abort the call in flight.
  if (!stopping.stop.aborted) stopping.begin("ended");
  if (outcome.state === "Stopped") await leadership.end(async () => await work.ended());
  // Another process may start to write, so here the call in flight is to be aborted at once.
  if (outcome.state === "LeaseLost") stopping.begin("lease lost");
  await watching;
  await closePage?.();
  await work.close(outcome.state === "LeaseLost" ? 0 : eventFlushMs);
  await Promise.all([health.close(), api.close(), leaseApi.close()]);
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

function readCredentials({
  kubeConfig,
}: OperatorOptions): Credentials | { readonly problem: string; readonly hint: string } {
  try {
    return kubeConfigCredentials(loadKubeConfig(kubeConfig));
  } catch (error) {
    const { message } = error as Partial<Error>;
    return {
      problem: `cannot reach the cluster: ${message ?? "the kubeconfig cannot be read"}`,
      hint: "Set --kubeconfig and --context, or run wafsync in a pod with a service account.",
    };
  }
}

function leadershipOf(
  options: OperatorOptions,
  api: ReturnType<typeof createApiServer>,
  onLeading: (isLeading: boolean) => void,
): Leadership {
  const { lease, clock, random, podName, log } = options;
  if (lease === undefined) return soleLeadership();
  return electedLeadership({
    api,
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
    const { code } = error as NodeJS.ErrnoException;
    log.error("the health server cannot listen", { code: code ?? "" });
    return {
      problem: `cannot open port ${ports.healthPort} or ${ports.metricsPort} (${code ?? "unknown error"})`,
      hint: "Choose other ports with --health-port and --metrics-port.",
    };
  }
}

function portsOf({ healthPort, metricsPort }: HealthServer): object {
  return { healthPort, metricsPort };
}
