// The operator: composition, start and stop of everything that works on a cluster.
//
// Start: health server, watches of the objects, leadership, passes. Only the leader works; others keep their caches warm.
// Stop: no new call, the running calls, the Lease, events, connections. A lost Lease ends the process at once: another
// process may be about to write.
import type { Clock } from "../async/clock.ts";
import { createApiServer } from "../kube/api-server.ts";
import type { Credentials } from "../kube/credentials.ts";
import { kubeConfigCredentials, loadKubeConfig } from "../kube/credentials.ts";
import type { ObjectAddress } from "../kube/resource-path.ts";
import type { Redactor } from "../model/redactor.ts";
import { createMetrics } from "../telemetry/metrics.ts";
import type { Logger } from "../telemetry/log.ts";
import type { BaseUrlPolicy } from "./base-url-policy.ts";
import type { HealthServer } from "./health-server.ts";
import { startHealthServer } from "./health-server.ts";
import type { Leadership } from "./leadership.ts";
import { electedLeadership, soleLeadership } from "./leadership.ts";
import type { OperatorWork } from "./operator-work.ts";
import { createOperatorWork } from "./operator-work.ts";
import type { StoppingControl } from "./stopping.ts";

export interface OperatorOptions {
  readonly kubeConfig: { readonly file?: string; readonly context?: string };
  /** Work in this namespace alone, with Roles only; undefined: in all. */
  readonly namespace: string | undefined;
  /** Undefined: without leader election. */
  readonly lease: ObjectAddress | undefined;
  readonly podName: string;
  readonly baseUrls: BaseUrlPolicy;
  readonly version: string;
  /** Base URL of an OpenTelemetry collector, for instances that forward their logs there; undefined if there is none. */
  readonly otlpEndpoint?: string | undefined;
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

/** Runs until it is told to stop or loses the Lease. */
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
  const watching = work.watch(stopping.stop);
  const outcome = await lead(options, leadership, work);
  // A second time would give the running call up.
  if (!stopping.stop.aborted) stopping.begin("ended");
  if (outcome.state === "Stopped") await leadership.end(async () => await work.ended());
  // Another process may be about to write: the running call is given up at once.
  if (outcome.state === "LeaseLost") stopping.begin("lease lost");
  await watching;
  await work.close(outcome.state === "LeaseLost" ? 0 : eventFlushMs);
  await Promise.all([health.close(), api.close(), leaseApi.close()]);
  stopping.done();
  log.info("stopped", { outcome: outcome.state });
  return outcome;
}

/** What events that were noted last get to reach the API server. */
const eventFlushMs = 2_000;

async function lead(options: OperatorOptions, leadership: Leadership, work: OperatorWork): Promise<OperatorOutcome> {
  const { stopping, log } = options;
  const stopped = new Promise<OperatorOutcome>((resolve) => {
    const stop = (): void => resolve({ state: "Stopped" });
    if (stopping.stop.aborted) stop();
    else stopping.stop.addEventListener("abort", stop, { once: true });
  });
  const lost = leadership.lost.then((reason): OperatorOutcome => {
    log.error("the lease is lost", { reason });
    return { state: "LeaseLost" };
  });
  const working = (async (): Promise<OperatorOutcome> => {
    await work.whenSynced(stopping.stop);
    if (!(await leadership.begin())) return await stopped;
    log.info("working");
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
      problem: `the cluster can't be reached: ${message ?? "the kubeconfig can't be read"}`,
      hint: "Name a kubeconfig with --kubeconfig and a context with --context, or run it in a pod with a service account.",
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
    // A process that hangs does not answer at all; while it answers, it gets on.
    liveness: () => undefined,
    readiness: () => work.notReadyBecause(),
    metrics: async () => await metrics.text(),
    metricsContentType: metrics.contentType,
  };
  try {
    return await startHealthServer(checks, ports);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    log.error("the health server can't listen", { code: code ?? "" });
    return {
      problem: `port ${ports.healthPort} or ${ports.metricsPort} can't be opened (${code ?? "unknown error"})`,
      hint: "Choose others with --health-port and --metrics-port.",
    };
  }
}

function portsOf({ healthPort, metricsPort }: HealthServer): object {
  return { healthPort, metricsPort };
}
