// The work of the operator, wired up. Every replica watches; only the leader reconciles, writes statuses and emits events.
import { randomUUID } from "node:crypto";
import { ChangeSignal } from "../async/change-signal.ts";
import { autoBlockPublisher, BlockBook } from "../blocks/block-book.ts";
import type { ApiServer } from "../kube/api-server.ts";
import type { KubeObject } from "../kube/kube-object.ts";
import type { ForwardLogsPorts } from "../logs/forward-ports.ts";
import { createLogOutputs, type LogOutputs } from "../logs/log-outputs.ts";
import { LogRecords } from "../logs/log-records.ts";
import { nameKey, nameOfKey, type ObjectName, type ResourceKind, type ResourceRef } from "../model/resource.ts";
import type { ReconcileOutcome } from "../run/finish.ts";
import type { ApiKey } from "../model/api-key.ts";
import type { DeclaredInstance } from "../model/declared.ts";
import type { ReconcilePorts } from "../run/ports.ts";
import { ClusterRecordStore } from "../records/cluster-record-store.ts";
import { recordOwnerOf } from "../records/record-object.ts";
import { readSecretValue } from "../source/cluster/api-keys.ts";
import { type ClusterObject, instanceNameOf } from "../source/cluster/cluster-object.ts";
import { ClusterRecords } from "../source/cluster/cluster-records.ts";
import { ClusterSource } from "../source/cluster/cluster-source.ts";
import type { Logger } from "../telemetry/log.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { Permission, WafClient } from "../waf/client.ts";
import { connectionsOf } from "./base-url-policy.ts";
import { InstanceController } from "./controller.ts";
import { type Feeds, openFeeds } from "../feeds/feeds.ts";
import { History } from "../history/history.ts";
import { type Leadership, writePermission } from "./leadership.ts";
import { LogController } from "./log-controller.ts";
import { type LoggedStatus, loggedStatus, ThrottledLog } from "./logged-status.ts";
import {
  AutoBlockMeasure,
  measureOutcome,
  measureWatches,
  measuringFeedObserver,
  measuringObserver,
} from "./measure.ts";
import type { OperatorOptions } from "./operator-options.ts";
import { portsOf } from "./ports.ts";
import { handOverMs, SelectedInstances } from "./selected-instances.ts";
import { safeTexts } from "./status-texts.ts";
import { UnattachedLoop, type UnattachedOptions } from "./unattached-loop.ts";
import { WafClients } from "./waf-clients.ts";

export class OperatorWork {
  readonly options: OperatorOptions;
  readonly api: ApiServer;
  readonly metrics: Metrics;
  readonly leadership: Leadership;
  readonly source: ClusterSource;
  readonly selected: SelectedInstances;
  readonly records: ClusterRecords;
  readonly history: History;
  readonly logRecords: LogRecords;
  readonly wafClients: WafClients;
  readonly feeds: Feeds;
  readonly ports: ReturnType<typeof portsOf>;
  readonly blocks: BlockBook;
  readonly blockMeasure: AutoBlockMeasure;
  readonly outputs: LogOutputs;
  readonly #throttledLog: ThrottledLog;
  readonly #controller: InstanceController;
  readonly #forwarding: LogController;
  readonly #changed = new ChangeSignal();
  /** The domain of each instance's key, as its last run found. */
  readonly #domains = new Map<string, string>();
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
    this.#throttledLog = new ThrottledLog(log, clock);
    this.source = this.#makeSource();
    this.selected = new SelectedInstances(clock, selector, (instance) => this.#labelsOf("WafInstance", instance));
    this.records = new ClusterRecords({
      ...options,
      api,
      source: this.source,
      mayWrite: () => leadership.mayWrite(),
      onEventDropped: (reason) => metrics.eventDropped(reason),
      onInventoryDeleted: (instance) => log.warn("orphaned inventory deleted", { instance: nameKey(instance) }),
    });
    // What was done before the process was asked to stop must still be recorded.
    const store = new ClusterRecordStore({
      api,
      ownerOf: (key) => recordOwnerOf(this.#objectOf("WafInstance", key)),
      mayWrite: () => leadership.mayRecord(),
    });
    this.history = new History(store, clock, (problem) => log.warn("could not write history", { problem }));
    this.logRecords = new LogRecords(store);
    this.wafClients = this.#makeWafClients();
    this.outputs = createLogOutputs({ ...options, otlpEndpoint: options.otlpEndpoint, abandon: stopping.abandon });
    this.feeds = this.#makeFeeds();
    this.blocks = new BlockBook({
      records: this.logRecords,
      clock,
      onChange: (instance) => this.#controller.wake(instance, "automatic blocks changed"),
    });
    this.blockMeasure = new AutoBlockMeasure(metrics, (block, uid) => {
      return this.#objectOf("WafAutoBlock", nameOfKey(block))?.metadata.uid === uid;
    });
    this.ports = this.#makePorts();
    this.#controller = this.#makeController();
    this.#forwarding = this.#makeForwarding();
    measureWatches(this.source, metrics);
  }

  readonly open = (instance: DeclaredInstance, key: ApiKey): WafClient => {
    // Before the first call, so that the figures of the first run are not lost.
    this.metrics.addInstance(nameKey(instance.meta));
    return this.wafClients.open(instance, key);
  };

  domainOf(instance: ObjectName): string | undefined {
    return this.#domains.get(nameKey(instance));
  }

  /** Watches the objects of the cluster until the signal aborts. */
  async watch(signal: AbortSignal): Promise<void> {
    await this.source.run(signal);
  }

  /** Resolves when all objects have been listed once, or when the signal aborts. */
  async whenSynced(signal: AbortSignal): Promise<void> {
    await this.source.whenSynced(signal);
    // If the records can't be read in time, each instance reports the reason.
    await this.records.whenUsable(signal);
  }

  /** Reconciles until the signal aborts and the current runs have ended. */
  async run(signal: AbortSignal): Promise<void> {
    this.#isWorking = true;
    // The last content of feeds is loaded before the first run, so that no rule appears to have lost its entries.
    await this.feeds.loop.load();
    for (const instance of this.source.instances()) {
      if (!this.selected.has(instance)) continue;
      this.metrics.addInstance(nameKey(instance));
      this.#wake(instance, "start");
    }
    this.#running = Promise.all([
      this.#controller.run(signal),
      this.#forwarding.run(signal),
      this.feeds.loop.run(signal, (feeds) => this.source.feeds.contentChanged(feeds)),
      this.#makeUnattachedLoop().run(signal),
      this.records.tidyUp(signal),
    ]);
    await this.#running;
  }

  /** Resolves when no work is in progress. */
  async ended(): Promise<void> {
    await this.#running;
    await this.history.flush();
  }

  async close(eventFlushMs: number): Promise<void> {
    await this.wafClients.close();
    await this.outputs.close();
    await this.records.close(eventFlushMs);
  }

  #wake(instance: ObjectName, reason: string): void {
    this.#controller.wake(instance, reason);
    this.#forwarding.wake(instance, reason);
  }

  #objectOf(kind: ResourceKind, { namespace, name }: ObjectName): ClusterObject | undefined {
    return this.source.objectOf({ kind, namespace, name });
  }

  #labelsOf(kind: ResourceKind, object: ObjectName): Readonly<Record<string, string>> | undefined {
    const found = this.#objectOf(kind, object);
    return found === undefined ? undefined : (found.metadata.labels ?? {});
  }

  /** Before each call, because an instance can be given to another operator at any time. */
  #permitCall(instance: ObjectName): Permission {
    return this.selected.has(instance)
      ? { permitted: true }
      : { permitted: false, reason: "The labels of the instance no longer match --selector." };
  }

  /** Changes of labels alone cause no `onChange`, because they change nothing that is declared. */
  #noteLabels({ metadata: { namespace = "", name } }: KubeObject): void {
    const instance = { namespace, name };
    const membership = this.selected.note(instance);
    if (!this.#isWorking) return;
    if (membership === "Left") this.#leave(instance);
    if (membership === "Joined") void this.#join(instance);
  }

  async #join(instance: ObjectName): Promise<void> {
    const { clock, stopping } = this.options;
    // Timers may fire a little early.
    await clock.sleep(handOverMs + 100, stopping.stop);
    if (stopping.stop.aborted || !this.selected.has(instance)) return;
    this.metrics.addInstance(nameKey(instance));
    this.#wake(instance, "selected");
  }

  #leave(instance: ObjectName): void {
    this.#controller.forget(instance);
    this.#forwarding.forget(instance);
    this.#forget(instance);
    this.metrics.forgetInstance(nameKey(instance));
  }

  /** Forgets what was remembered about the instance outside its runs. */
  #forget(instance: ObjectName): void {
    this.#domains.delete(nameKey(instance));
    this.selected.forget(instance);
    this.blocks.forget(instance);
    this.blockMeasure.forget(instance);
    void this.wafClients.forget(nameKey(instance));
  }

  #makeSource(): ClusterSource {
    return new ClusterSource({
      ...this.options,
      api: this.api,
      onChange: (instance, reason) => {
        this.#changed.notify();
        if (!this.#isWorking || !this.selected.has(instance)) return;
        const declared = this.source.declared(instance);
        if (declared !== undefined) this.wafClients.pace(declared);
        this.#wake(instance, reason);
      },
      onUnattachedChange: () => this.#changed.notify(),
      onFeedChange: () => this.feeds.loop.wake(),
      onStored: (change) => {
        this.records.status.cached(change);
        if (change.type !== "Deleted" && change.object.kind === "WafInstance") this.#noteLabels(change.object);
      },
      onProblem: (subject, { code, message: problem }) =>
        this.#throttledLog.warn("watch failed", { subject, code, problem }),
    });
  }

  #makeWafClients(): WafClients {
    const { leadership, metrics, options } = this;
    return new WafClients({
      ...options,
      ...connectionsOf(options.baseUrls),
      permit: (_operation, instance) => {
        const permission = this.#permitCall(instance);
        return permission.permitted ? writePermission(leadership, options.stopping) : permission;
      },
      permitRead: (instance) => this.#permitCall(instance),
      onCall: (instance, call) => metrics.wafCalled(instance, call),
    });
  }

  /** Only the leader fetches, because only one process may advance the CrowdSec cursor. */
  #makeFeeds(): Feeds {
    const { api, leadership, metrics, options } = this;
    const records = new ClusterRecordStore({
      api,
      ownerOf: (key) => {
        const feed = this.#objectOf("WafFeed", key);
        return feed && { uid: feed.metadata.uid, retains: false };
      },
      mayWrite: () => leadership.mayWrite(),
    });
    return openFeeds({
      ...options,
      records,
      readSecret: async (namespace, ref) => await readSecretValue(api, namespace, ref),
      status: this.#statusFor({ log: options.log }),
      observer: measuringFeedObserver(metrics),
      isOwn: (feed) => this.selected.matches(this.#labelsOf("WafFeed", feed)),
      feeds: () => this.source.feeds.declared(),
      followsOthers: options.selector !== undefined,
    });
  }

  /** The ports of all runs, but for their status and their observer. */
  #makePorts(): ReturnType<typeof portsOf> {
    const { source, records, options, leadership } = this;
    const { clock, random, redactor, baseUrls, stopping } = options;
    return portsOf({
      clock,
      random,
      redactor,
      baseUrls,
      stopping,
      declared: {
        gather: async (name) => await source.gather(name),
        confirm: async (name) => await source.confirm(name),
        version: (name) => source.version(name),
        isUninstalling: async () => await source.isUninstalling(),
        removeObject: async (object) => {
          if (writePermission(leadership, stopping).permitted) await source.remove(object);
        },
      },
      feeds: this.feeds.book,
      blocks: this.blocks,
      inventory: records.inventory,
      history: this.history,
      lifecycle: records.lifecycle,
      openWaf: this.open,
      status: this.#statusFor({ log: options.log }),
      observer: {},
    });
  }

  #makeController(): InstanceController {
    const portsFor = reconcilePorts(this);
    return new InstanceController({
      startRun: (instance, reasons) => {
        const log = this.#logOf(instance, reasons);
        return {
          ports: portsFor(this.#statusFor({ log }), log),
          onOutcome: (outcome, result, durationMs) => {
            const { kind } = outcome.result;
            log.debug("reconcile finished", { result, outcome: kind, durationMs: Math.round(durationMs) });
            if (kind === "Gone" && outcome.facts !== undefined) log.info("instance released");
            this.#ended(instance, outcome);
          },
          onError: (error) => log.error("reconcile panicked", { error }),
        };
      },
      isOwn: (instance) => this.selected.has(instance),
      version: (instance) => this.source.version(instance) + this.blocks.version(instance),
      clock: this.options.clock,
      random: this.options.random,
      metrics: this.metrics,
    });
  }

  #ended(instance: ObjectName, outcome: ReconcileOutcome): void {
    measureOutcome(this.metrics, this.options.clock, instance, outcome);
    const domain = outcome.facts?.inventory?.domain;
    // Log forwarding waits for the domain, which is part of every entry.
    if (domain !== undefined && this.domainOf(instance) !== domain) {
      this.#domains.set(nameKey(instance), domain);
      this.#forwarding.wake(instance, "domain known");
    }
    if (outcome.result.kind === "Gone") this.#forget(instance);
  }

  #makeForwarding(): LogController {
    const portsFor = forwardingPorts(this);
    return new LogController({
      startRun: (instance, reasons) => {
        const log = this.#logOf(instance, reasons);
        return {
          ports: portsFor(this.#statusFor({ log }), log),
          onError: (error) => log.error("log forwarding panicked", { error }),
        };
      },
      isOwn: (instance) => this.selected.has(instance),
      concerns: (instance) =>
        forwardsLogs(this.#objectOf("WafInstance", instance)) || this.source.hasAutoBlocks(nameKey(instance)),
      clock: this.options.clock,
      random: this.options.random,
      metrics: this.metrics,
    });
  }

  #makeUnattachedLoop(): UnattachedLoop {
    return new UnattachedLoop({
      clock: this.options.clock,
      metrics: this.metrics,
      changed: this.#changed,
      source: this.#unattached(),
      lifecycle: this.records.lifecycle,
      // No run covers such an object, so a failed status write does not requeue one.
      status: (onUnwritten) => this.#statusFor({ log: this.options.log, onUnwritten }),
    });
  }

  /** Objects that no run covers belong to an operator by their own labels, like feeds, and all others by those of their instance. */
  #unattached(): UnattachedOptions["source"] {
    const { source, selected } = this;
    const isOwn = ({ meta }: { readonly meta: ResourceRef }): boolean =>
      selected.matches(this.#labelsOf(meta.kind, meta));
    return {
      objects: (kind) =>
        source.objects(kind).filter((object) => {
          const instance = instanceNameOf(object);
          return instance === undefined ? selected.matches(object.metadata.labels) : selected.has(instance);
        }),
      // Undefined stands for an object that does not count, so that the caller's slices of time can end there.
      unattached: function* () {
        for (const object of source.unattached()) yield object !== undefined && isOwn(object) ? object : undefined;
      },
      unattachedNow: (ref) => source.unattachedNow(ref),
    };
  }

  /** The logger of one run: every line has its fields. */
  #logOf(instance: ObjectName, reasons: readonly string[]): Logger {
    return this.options.log.child({ reconcileID: randomUUID(), instance: nameKey(instance), reasons });
  }

  #statusFor(parts: { readonly log: Logger; readonly onUnwritten?: (object: ResourceRef) => void }): LoggedStatus {
    return loggedStatus({
      status: this.records.status,
      safe: safeTexts(this.options.redactor),
      throttledLog: this.#throttledLog,
      onUnwritten: (object) => {
        const instance = this.source.instanceOf(object);
        if (instance !== undefined) this.#controller.requeue(instance, "status unwritten");
      },
      ...parts,
    });
  }
}

/** Whether the instance in the API server forwards its logs, or its status says so. */
function forwardsLogs(instance: ClusterObject | undefined): boolean {
  const { spec, status } = (instance ?? {}) as {
    readonly spec?: { readonly logs?: { readonly enabled?: unknown } };
    readonly status?: { readonly logs?: unknown };
  };
  return spec?.logs?.enabled === true || status?.logs !== undefined;
}

/** @returns a function that creates the ports of one run; its `log` has the fields of that run */
function reconcilePorts(work: OperatorWork): (status: LoggedStatus, log: Logger) => ReconcilePorts {
  const { metrics, source } = work;
  return (status, log) => ({
    ...work.ports,
    status,
    observer: {
      ...measuringObserver(metrics),
      failed: (instance, fault) => {
        log.warn("reconcile failed", { code: fault.code, ...(fault.cause !== undefined && { cause: fault.cause }) });
        if (isKeyFault(fault)) source.secretRefused(instance);
      },
      waiting: (_instance, why, delayMs) => log.info("waiting", { why, delayMs }),
    },
  });
}

/** @returns a function that creates the ports of one run; its `log` has the fields of that run */
function forwardingPorts(work: OperatorWork): (status: LoggedStatus, log: Logger) => ForwardLogsPorts {
  const { metrics, leadership, source, blocks, blockMeasure, outputs, logRecords: records, ports } = work;
  const { clock, random, stopping, logRowsMax } = work.options;
  return (status, log) => ({
    clock,
    random,
    source: ports.fed,
    baseUrlObjection: ports.baseUrlObjection,
    stopping: stopping.stop,
    domainOf: (instance) => work.domainOf(instance),
    openLogs: work.open,
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
