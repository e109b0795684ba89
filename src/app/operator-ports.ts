// The ports of the operator's runs: those that reconcile an instance, and those that forward and judge its logs.
import { nameKey, type ObjectName } from "../model/resource.ts";
import { autoBlockPublisher } from "../reconcile/blocking/block-book.ts";
import { withAutoBlocks } from "../reconcile/blocking/block-source.ts";
import { blockStatusFrom } from "../reconcile/blocking/block-status.ts";
import { withFeeds } from "../reconcile/feeds/feed-source.ts";
import type { ForwardLogsPorts } from "../reconcile/logs/forward-ports.ts";
import type { ReconcilePorts, SourcePort } from "../reconcile/ports.ts";
import type { Logger } from "../telemetry/log.ts";
import { baseUrlObjection } from "./base-url-policy.ts";
import { writePermission } from "./leadership.ts";
import type { LoggedStatus } from "./logged-status.ts";
import { measuringObserver } from "./measure.ts";
import type { OperatorRuntime } from "./operator-runtime.ts";

/** @returns a function that creates the ports of one run; its `log` has the fields of that run */
export function reconcilePorts(runtime: OperatorRuntime): (status: LoggedStatus, log: Logger) => ReconcilePorts {
  const { metrics, source, records, history, blocks } = runtime;
  const { stopping } = runtime.options;
  const shared = sharedPorts(runtime);
  const withBlocks = withAutoBlocks(shared.source, blocks);
  return (status, log) => ({
    ...shared,
    source: withBlocks,
    inventory: records.inventory,
    history,
    lifecycle: records.lifecycle,
    status,
    statusOf: blockStatusFrom(blocks),
    openWaf: shared.open,
    observer: {
      ...measuringObserver(metrics),
      failed: (instance, fault) => {
        log.warn("reconcile failed", { code: fault.code, ...(fault.cause !== undefined && { cause: fault.cause }) });
        if (isKeyFault(fault)) source.secretRefused(instance);
      },
      waiting: (_instance, why, delayMs) => log.info("waiting", { why, delayMs }),
    },
    abandon: stopping.abandon,
  });
}

/** @returns a function that creates the ports of one run; its `log` has the fields of that run */
export function forwardingPorts(runtime: OperatorRuntime): (status: LoggedStatus, log: Logger) => ForwardLogsPorts {
  const { metrics, leadership, source, blocks, blockMeasure, outputs, logRecords: records } = runtime;
  const { stopping, logRowsMax } = runtime.options;
  const shared = sharedPorts(runtime);
  return (status, log) => ({
    ...shared,
    domainOf: (instance) => runtime.domainOf(instance),
    openLogs: shared.open,
    outputOf: (output) => outputs.of(output),
    records,
    blocks: autoBlockPublisher(blocks, status, (instance, judgements) => blockMeasure.published(instance, judgements)),
    ...(logRowsMax === undefined ? {} : { limits: { rowsPerHourMax: logRowsMax, rowsKeptMax: logRowsMax } }),
    status,
    mayForward: () => leadership.mayWrite() && !stopping.stop.aborted,
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
        if (fault !== undefined && isKeyFault(fault)) source.secretRefused(instance);
      },
    },
  });
}

function isKeyFault({ code }: { readonly code: string }): boolean {
  return code === "BadApiKey" || code === "MissingApiKey";
}

function sharedPorts({ options, metrics, leadership, source, wafClients, feeds }: OperatorRuntime) {
  const { clock, random, stopping, baseUrls, redactor } = options;
  const open: ReconcilePorts["openWaf"] & ForwardLogsPorts["openLogs"] = (instance, key) => {
    // Before the first call, so that the figures of the first run are not lost.
    metrics.addInstance(nameKey(instance.meta));
    return wafClients.open(instance, key);
  };
  const watched: SourcePort = {
    gather: async (name) => {
      const gathered = await source.gather(name);
      if (gathered?.key.state === "Present") redactor.add(gathered.key.key, name);
      return gathered;
    },
    confirm: async (name: ObjectName) => await source.confirm(name),
    version: (name: ObjectName) => source.version(name),
    isUninstalling: async () => await source.isUninstalling(),
    removeObject: async (object) => {
      if (writePermission(leadership, stopping).permitted) await source.remove(object);
    },
  };
  return {
    source: withFeeds(watched, feeds),
    open,
    clock,
    random,
    baseUrlObjection: (baseUrl: string) => baseUrlObjection(baseUrls, baseUrl),
    stopping: stopping.stop,
  };
}
