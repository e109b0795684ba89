// Starts and stops the operator.
//
// Start: health server, watches, leadership, reconcile runs. Only the leader reconciles; the others keep their caches warm.
// Stop: no new calls, end of the calls in flight, Lease, events, connections. If the Lease is lost, the process ends
// immediately, because another process may start to write.
import { createApiServer } from "../kube/api-server.ts";
import { kubeConfigCredentials } from "../kube/credentials.ts";
import type { LeaseStanding } from "../kube/lease.ts";
import type { Logger } from "../telemetry/log.ts";
import { createMetrics } from "../telemetry/metrics.ts";
import { healthOf, listen, metricsOf } from "./health-server.ts";
import { electedLeadership, type Leadership, soleLeadership } from "./leadership.ts";
import { type OperatorOptions, OperatorWork } from "./operator-work.ts";

export type OperatorOutcome =
  | { readonly state: "Stopped" }
  | { readonly state: "LeaseLost" }
  /** By a bug in wafsync, which is logged. */
  | { readonly state: "Failed" }
  | { readonly state: "NotStarted"; readonly problem: string; readonly hint?: string };

/** Runs until the process has to stop, loses the Lease or fails. */
export async function runOperator(options: OperatorOptions): Promise<OperatorOutcome> {
  const { log, clock, stopping, version } = options;
  const credentials = kubeConfigCredentials(options.kubeConfig);
  const metrics = createMetrics({ version, withProcess: true });
  const userAgent = `wafsync/${version}`;
  const api = createApiServer({ credentials, clock, userAgent });
  // A separate client, so that no other traffic delays a renewal.
  const leaseClient = createApiServer({ credentials, clock, userAgent, connectionsMax: 1 });
  const { lease } = options;
  const leaseName = lease?.name ?? "none";
  metrics.leading(leaseName, false);
  const onStanding = (standing: LeaseStanding): void => metrics.leading(leaseName, standing === "Leading");
  const leadership =
    lease === undefined
      ? soleLeadership(onStanding)
      : electedLeadership({ ...options, lease, api: leaseClient, onStanding });
  const work = new OperatorWork(options, { api, metrics, leadership });
  const servers = await listen(options.ports.host, [
    { handle: healthOf(() => work.source.watches.notReadyBecause()), port: options.ports.healthPort },
    { handle: metricsOf(metrics), port: options.ports.metricsPort },
  ]).catch((error: ListenError) => error);
  if (servers instanceof Error) return notStarted(servers, log);
  const [healthPort, metricsPort] = servers.ports;
  log.info("started", { version, namespaces: options.namespace ?? "all", ...options.ports, healthPort, metricsPort });
  const watching = work.watch(stopping.stop);
  const outcome = await lead(options, leadership, work);
  // Calling begin() again would abort the call in flight.
  if (!stopping.stop.aborted) stopping.begin("ended");
  const workEnded = async (): Promise<void> => await work.ended();
  if (outcome.state === "Stopped") {
    const result = await leadership.release(workEnded);
    if (lease !== undefined) log.info("lease released", { result });
  }
  // Another process may start to write, so the call in flight is aborted immediately.
  else stopping.begin(outcome.state);
  await watching;
  await work.close(outcome.state === "Stopped" ? eventFlushMs : 0);
  api.close();
  leaseClient.close();
  await servers.close();
  stopping.done();
  log.info("stopped", { outcome: outcome.state });
  return outcome;
}

type ListenError = NodeJS.ErrnoException & { readonly port?: number };

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
    void leadership.run();
    if (!(await leadership.whenLeading())) return await stopped;
    log.info("leading");
    await work.run(stopping.stop);
    return await stopped;
  })();
  // A process that lives on without its work would look healthy. The next one starts from scratch.
  const failed = working.catch((error: unknown): OperatorOutcome => {
    log.error("stopping after an unexpected error", { error });
    return { state: "Failed" };
  });
  return await Promise.race([stopped, lost, failed]);
}

function notStarted({ code = "unknown error", port }: ListenError, log: Logger): OperatorOutcome {
  log.error("the health server cannot listen", { code, port });
  const hint = "Choose other ports with --health-port and --metrics-port.";
  return { state: "NotStarted", problem: `cannot open port ${port ?? ""} (${code})`, hint };
}
