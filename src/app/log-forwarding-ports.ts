// What the forwarding of logs works with in a cluster.
import type { Clock } from "../async/clock.ts";
import type { ApiServer } from "../kube/api-server.ts";
import { nameKey } from "../model/resource.ts";
import type { ForwardLogsPorts } from "../reconcile/logs/forward-ports.ts";
import type { StatusPort } from "../reconcile/ports.ts";
import type { ClusterObject } from "../source/cluster/cluster-object.ts";
import type { ClusterRecords } from "../source/cluster/cluster-records.ts";
import type { ClusterSource } from "../source/cluster/cluster-source.ts";
import { LogRecordConfigMaps } from "../source/cluster/log-record-config-maps.ts";
import type { Logger } from "../telemetry/log.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { BaseUrlPolicy } from "./base-url-policy.ts";
import { baseUrlObjection } from "./base-url-policy.ts";
import type { Leadership } from "./leadership.ts";
import type { LogOutputs } from "./log-outputs.ts";
import type { Stopping } from "./stopping.ts";
import type { WafClients } from "./waf-clients.ts";

export interface LogForwardingParts {
  readonly api: ApiServer;
  readonly clock: Clock;
  readonly random: () => number;
  readonly metrics: Metrics;
  readonly leadership: Leadership;
  readonly stopping: Stopping;
  readonly baseUrls: BaseUrlPolicy;
  readonly log: Logger;
  readonly wafClients: WafClients;
  readonly outputs: LogOutputs;
  readonly gather: ForwardLogsPorts["source"]["gather"];
  readonly source: Pick<ClusterSource, "objectOf" | "secretRefused">;
  readonly records: Pick<ClusterRecords, "status">;
  /** Status and events that are logged, too. */
  readonly status: StatusPort;
}

export function logForwardingPorts(parts: LogForwardingParts): ForwardLogsPorts {
  const { api, clock, random, metrics, leadership, stopping, baseUrls, wafClients, outputs, source, records } = parts;
  return {
    source: { gather: parts.gather },
    baseUrlObjection: (baseUrl) => baseUrlObjection(baseUrls, baseUrl),
    openLogs: (instance, key) => {
      metrics.addInstance(nameKey(instance.meta));
      return wafClients.open(instance, key);
    },
    outputOf: (output) => outputs.of(output),
    records: new LogRecordConfigMaps({
      api,
      uidOf: (instance) => source.objectOf({ kind: "WafInstance", ...instance })?.metadata.uid,
      // What was handed on before the process was told to stop must be recorded, too.
      mayWrite: () => leadership.mayRecord(),
    }),
    status: {
      read: (instance) => parts.status.read(instance),
      event: (instance, event) => parts.status.event(instance, event),
      update: async (instance, change) => await records.status.update(instance, change),
    },
    clock,
    random,
    mayForward: () => leadership.mayWrite() && !stopping.stop.aborted,
    stopping: stopping.stop,
    observer: observerOf(parts),
  };
}

/** Whether the instance, as the API server has it, forwards its logs, or says that it does. */
export function forwardsLogs(instance: ClusterObject | undefined): boolean {
  const { spec, status } = (instance ?? {}) as {
    readonly spec?: { readonly logs?: { readonly enabled?: unknown } };
    readonly status?: { readonly logs?: unknown };
  };
  return spec?.logs?.enabled === true || status?.logs !== undefined;
}

function observerOf({ metrics, log, source }: LogForwardingParts): ForwardLogsPorts["observer"] {
  return {
    forwarded: (instance, entries, output) => metrics.logsForwarded(nameKey(instance), entries, output),
    lagged: (instance, lagMs) => metrics.logsLagged(nameKey(instance), lagMs),
    failed: (instance, reason, fault) => {
      metrics.logForwardingFailed(nameKey(instance), reason);
      log.warn("blocked requests could not be forwarded", { instance: nameKey(instance), reason });
      if (fault?.code === "BadApiKey" || fault?.code === "MissingApiKey") source.secretRefused(instance);
    },
  };
}
