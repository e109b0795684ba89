// The work of the operator. Every replica watches; only the leader reconciles, writes statuses and emits events.
import { randomUUID } from "node:crypto";
import { History } from "../history/history.ts";
import type { ApiServer } from "../kube/api-server.ts";
import type { KubeConfig } from "../kube/credentials.ts";
import type { KubeObject } from "../kube/kube-object.ts";
import type { ObjectAddress } from "../kube/resource-path.ts";
import { createLogOutputs, type LogOutputs, type LogOutputsOptions } from "../logs/log-outputs.ts";
import type { LabelSelector } from "../model/declared.ts";
import { nameKey, type ObjectName, type ResourceKind, resourceKey } from "../model/resource.ts";
import { readSecretValue } from "../source/cluster/api-keys.ts";
import type { ClusterObject } from "../source/cluster/cluster-object.ts";
import { ClusterRecords } from "../source/cluster/cluster-records.ts";
import { ClusterSource } from "../source/cluster/cluster-source.ts";
import type { Logger } from "../telemetry/log.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import { type Leadership, writePermission } from "./leadership.ts";
import { type ReportedStatus, reportedStatus } from "./reported-status.ts";
import { handOverMs, SelectedInstances } from "./selected-instances.ts";
import { UnattachedLoop } from "./unattached-loop.ts";
import { type Place, type RunReports, Work, type WorkOptions } from "./work.ts";

export interface OperatorOptions extends WorkOptions {
  readonly kubeConfig: KubeConfig;
  /** The only namespace to manage, with Roles only; all namespaces if undefined. */
  readonly namespace: string | undefined;
  /** Undefined if there is no leader election. */
  readonly lease: ObjectAddress | undefined;
  /** The labels of the instances and feeds of this operator; undefined for all. */
  readonly selector?: LabelSelector | undefined;
  readonly podName: string;
  /** For instances that forward their logs to it; undefined if there is none. */
  readonly collector?: LogOutputsOptions["collector"];
  readonly ports: { readonly host: string | undefined; readonly healthPort: number; readonly metricsPort: number };
  readonly log: Logger;
}

export class OperatorWork {
  readonly options: OperatorOptions;
  readonly api: ApiServer;
  readonly metrics: Metrics;
  readonly leadership: Leadership;
  readonly source: ClusterSource;
  readonly selected: SelectedInstances;
  readonly work: Work;
  readonly #records: ClusterRecords;
  readonly #history: History;
  readonly #outputs: LogOutputs;
  #running: Promise<unknown> = Promise.resolve();
  #isWorking = false;

  constructor(
    options: OperatorOptions,
    { api, metrics, leadership }: Pick<OperatorWork, "api" | "metrics" | "leadership">,
  ) {
    this.options = options;
    this.api = api;
    this.metrics = metrics;
    this.leadership = leadership;
    const { clock, log, stopping, selector } = options;
    this.source = this.#makeSource();
    this.selected = new SelectedInstances(clock, selector, (instance) => this.#labelsOf("WafInstance", instance));
    this.#records = new ClusterRecords({
      ...options,
      api,
      source: this.source,
      mayWrite: () => leadership.mayWrite(),
      mayRecord: () => leadership.mayRecord(),
      onEventDropped: (reason) => metrics.eventDropped(reason),
      onInventoryDeleted: (instance) => log.warn("orphaned inventory deleted", { instance: nameKey(instance) }),
    });
    this.#history = new History(this.#records.store, clock, (problem) =>
      log.warn("could not write history", { problem }),
    );
    this.#outputs = createLogOutputs({ ...options, collector: options.collector, abandon: stopping.abandon });
    this.work = new Work(options, this.#place());
    metrics.watches(() => this.source.watches.health());
  }

  /** Watches the objects of the cluster until the signal aborts. */
  async watch(signal: AbortSignal): Promise<void> {
    await this.source.run(signal);
  }

  /** Resolves when all objects have been listed once, or when the signal aborts. */
  async whenSynced(signal: AbortSignal): Promise<void> {
    await this.source.watches.whenSynced();
    // If the records can't be read in time, each instance reports the reason.
    await this.#records.whenUsable(signal);
  }

  /** Reconciles until the signal aborts and the current runs have ended. */
  async run(signal: AbortSignal): Promise<void> {
    this.#isWorking = true;
    this.#running = Promise.all([
      this.work.run(signal, () => this.source.instances().map(({ meta }) => meta)),
      this.#unattachedLoop().run(signal),
      this.#records.tidyUp(signal),
    ]);
    await this.#running;
  }

  /** Resolves when no work is in progress. */
  async ended(): Promise<void> {
    await this.#running;
    await this.#history.flush();
  }

  async close(eventFlushMs: number): Promise<void> {
    await this.work.wafClients.close();
    this.#outputs.close();
    await this.#records.close(eventFlushMs);
  }

  #labelsOf(kind: ResourceKind, object: ObjectName): Readonly<Record<string, string>> | undefined {
    const found = this.source.objectOf({ ...object, kind });
    return found === undefined ? undefined : (found.metadata.labels ?? {});
  }

  /** Changes of labels alone cause no `onChange`, because they change nothing that is declared. */
  #noteLabels({ metadata: { namespace = "", name } }: KubeObject): void {
    const instance = { namespace, name };
    const membership = this.selected.note(instance);
    if (!this.#isWorking) return;
    if (membership === "Joined") void this.#join(instance);
    if (membership === "Left") this.work.forget(instance);
  }

  async #join(instance: ObjectName): Promise<void> {
    const { clock, stopping } = this.options;
    // Timers may fire a little early.
    await clock.sleep(handOverMs + 100, stopping.stop);
    if (!stopping.stop.aborted && this.selected.has(instance)) this.work.wake(instance, "selected");
  }

  #makeSource(): ClusterSource {
    return new ClusterSource({
      ...this.options,
      api: this.api,
      onChange: (instance, reason) => {
        if (!this.#isWorking || !this.selected.has(instance)) return;
        const declared = this.source.declared(instance);
        if (declared !== undefined) this.work.wafClients.pace(declared);
        this.work.wake(instance, reason);
      },
      onFeedChange: () => this.work.feeds?.wake(),
      onStored: (change) => {
        this.#records.status.shown(change.object);
        if (change.object.kind === "WafInstance" && change.type !== "Deleted") this.#noteLabels(change.object);
      },
      onProblem: (subject, { code, message: problem }) =>
        this.options.log.warn("watch failed", { subject, code, problem }),
    });
  }

  #place(): Place {
    const { api, leadership, metrics, options, source } = this;
    const { store: records, inventory, lifecycle } = this.#records;
    const { log, stopping } = options;
    const mayWrite: Place["mayWrite"] = () => writePermission(leadership, stopping);
    return {
      inventory,
      lifecycle,
      history: this.#history,
      records,
      declared: {
        gather: async (name) => await source.gather(name),
        confirm: async (name) => await source.confirm(name),
        version: (name) => source.changes.version(name),
        isUninstalling: async () => await source.isUninstalling(),
        removeObject: async (object) => {
          if (mayWrite().permitted) await source.remove(object);
        },
      },
      feeds: {
        records,
        readSecret: async (namespace, ref) => await readSecretValue(api, namespace, ref),
        isOwn: (feed) => this.selected.matches(this.#labelsOf("WafFeed", feed)),
        feeds: () => source.changes.declaredFeeds(),
      },
      status: this.#statusFor(log),
      startRun: (instance, reasons) => this.#startRun(instance, reasons),
      isOwn: (instance) => this.selected.has(instance),
      // Before each call, because an instance can be given to another operator at any time.
      mayCall: (instance) =>
        this.selected.has(instance)
          ? { permitted: true }
          : { permitted: false, reason: "The labels of the instance no longer match --selector." },
      mayWrite,
      readsLogs: (instance) =>
        forwardsLogs(source.objectOf({ ...instance, kind: "WafInstance" })) ||
        source.watches.stores.byKind.WafAutoBlock.listBy("instance", nameKey(instance)).length > 0,
      outputOf: (output) => this.#outputs.of(output),
      onFeedsChanged: (feeds) => source.changes.feedsChanged(feeds),
      onForgotten: (instance) => this.selected.forget(instance),
      metrics,
    };
  }

  /** Every line about the run has its fields. */
  #startRun(instance: ObjectName, reasons: readonly string[]): RunReports {
    const log = this.options.log.child({ reconcileID: randomUUID(), instance: nameKey(instance), reasons });
    const failed = (message: string, fields: object, fault: Fault | undefined): void => {
      log.warn(message, { ...fields, ...(fault?.cause !== undefined && { cause: fault.cause }) });
      if (fault?.code === "BadApiKey") this.source.secretRefused(instance);
    };
    return {
      status: this.#statusFor(log),
      observer: {
        failed: (_instance, fault) => failed("reconcile failed", { code: fault.code }, fault),
        waiting: (_instance, why, delayMs) => log.info("waiting", { why, delayMs }),
      },
      logObserver: {
        failed: (_instance, reason, fault) => failed("log forwarding failed", { reason }, fault),
      },
      onOutcome: (outcome, result, durationMs) => {
        const { kind } = outcome.result;
        log.debug("reconcile finished", { result, outcome: kind, durationMs: Math.round(durationMs) });
        if (kind === "Gone" && outcome.facts !== undefined) log.info("instance released");
      },
      onError: (error) => log.error("reconcile panicked", { error }),
    };
  }

  #unattachedLoop(): UnattachedLoop {
    return new UnattachedLoop({
      clock: this.options.clock,
      metrics: this.metrics,
      source: this.source,
      // Objects that no run covers belong to an operator by their own labels, like feeds, and all others by those of their instance.
      isOwn: ({ metadata }, instance) =>
        instance === undefined ? this.selected.matches(metadata.labels) : this.selected.has(instance),
      lifecycle: this.#records.lifecycle,
      status: this.#statusFor(this.options.log),
    });
  }

  /** Logs every event as a line, and every failed status write as a warning. */
  #statusFor(log: Logger): ReportedStatus {
    return reportedStatus({
      status: this.#records.status,
      redactor: this.options.redactor,
      onEvent: (meta, { type, reason, message, details, isRepeated }) => {
        const fields = { object: resourceKey(meta), reason, message, ...details };
        if (isRepeated !== true) log[type === "Warning" ? "warn" : "info"]("event", fields);
      },
      onUnwritten: (object, problem) => log.warn("status write failed", { subject: resourceKey(object), problem }),
    });
  }
}

interface Fault {
  readonly code: string;
  readonly cause?: string | undefined;
}

/** Whether the instance in the API server forwards its logs, or its status says so. */
function forwardsLogs(instance: ClusterObject | undefined): boolean {
  const { spec, status } = (instance ?? {}) as {
    readonly spec?: { readonly logs?: { readonly enabled?: unknown } };
    readonly status?: { readonly logs?: unknown };
  };
  return spec?.logs?.enabled === true || status?.logs !== undefined;
}
