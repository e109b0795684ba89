// The work of the operator, wired up. Every replica watches; only the leader reconciles, writes statuses and emits events.
import { ChangeSignal } from "../async/change-signal.ts";
import type { KubeObject } from "../kube/kube-object.ts";
import { type ObjectName, nameKey, type ResourceKind, type ResourceRef } from "../model/resource.ts";
import { instanceNameOf } from "../source/cluster/cluster-object.ts";
import { type ClusterSource, createClusterSource } from "../source/cluster/cluster-source.ts";
import { type ClusterRecords, createClusterRecords } from "../source/cluster/cluster-records.ts";
import type { Permission } from "../waf/client.ts";
import { connectionsOf } from "./base-url-policy.ts";
import type { OnFeedsChanged } from "./feed-loop.ts";
import type { HistoryKeeper } from "./history-keeper.ts";
import { InstanceController } from "./instance-controller.ts";
import type { LogForwardingController } from "./log-forwarding-controller.ts";
import { type LogOutputs, createLogOutputs } from "./log-outputs.ts";
import { type LoggedStatusOptions, loggedStatus } from "./logged-status.ts";
import { operatorHistory } from "./operator-history.ts";
import { type OperatorFeeds, createOperatorFeeds } from "./operator-feeds.ts";
import { type OperatorBlocks, createOperatorBlocks, createOperatorForwarding } from "./operator-forwarding.ts";
import { measureWatches } from "./measure-watches.ts";
import type { OperatorWork, OperatorWorkOptions } from "./operator-options.ts";
import type { OperatorParts } from "./operator-ports.ts";
import { OperatorRuns } from "./operator-runs.ts";
import { type OperatorSight, operatorSight } from "./operator-sight.ts";
import { SelectedInstances, handOverMs } from "./selected-instances.ts";
import { safeTexts } from "./status-texts.ts";
import { ThrottledLog } from "./throttled-log.ts";
import { createUnattachedLoop, type UnattachedOptions } from "./unattached-loop.ts";
import { WafClients } from "./waf-clients.ts";
import { writePermission } from "./write-permission.ts";

export function createOperatorWork(options: OperatorWorkOptions): OperatorWork {
  return new Work(options);
}

class Work implements OperatorWork {
  readonly sight: OperatorSight;
  readonly #options: OperatorWorkOptions;
  readonly #throttledLog: ThrottledLog;
  readonly #source: ClusterSource;
  readonly #records: ClusterRecords;
  readonly #history: HistoryKeeper;
  readonly #wafClients: WafClients;
  readonly #feeds: OperatorFeeds;
  readonly #blocks: OperatorBlocks;
  readonly #controller: InstanceController;
  readonly #outputs: LogOutputs;
  readonly #forwarding: LogForwardingController;
  readonly #changed = new ChangeSignal();
  readonly #selected: SelectedInstances;
  readonly #runs: OperatorRuns;
  #running: Promise<unknown> = Promise.resolve();
  readonly #onFeedsChanged: OnFeedsChanged = (feeds) => this.#source.feeds.contentChanged(feeds);
  #isWorking = false;

  constructor(options: OperatorWorkOptions) {
    this.#options = options;
    const { metrics, log, clock, leadership, stopping, selector } = options;
    this.#throttledLog = new ThrottledLog(log, clock);
    this.#source = this.#makeSource();
    this.#selected = new SelectedInstances(clock, selector, (instance) => this.#labelsOf("WafInstance", instance));
    this.#records = this.#makeRecords();
    this.#history = operatorHistory({
      ...options,
      source: this.#source,
    });
    this.#wafClients = new WafClients({
      ...options,
      ...connectionsOf(options.baseUrls),
      permit: (_operation, instance) => {
        const permission = this.#permitCall(instance);
        return permission.permitted ? writePermission(leadership, stopping) : permission;
      },
      permitRead: (instance) => this.#permitCall(instance),
      onCall: (instance, call) => metrics.wafCalled(instance, call),
    });
    this.#outputs = createLogOutputs({ ...options, otlpEndpoint: options.otlpEndpoint, abandon: stopping.abandon });
    this.#feeds = createOperatorFeeds({
      ...options,
      source: this.#source,
      status: loggedStatus(this.#statusOptions(), {}),
      mayWrite: () => leadership.mayWrite(),
      isOwn: (feed) => this.#selected.matches(this.#labelsOf("WafFeed", feed)),
    });
    this.#blocks = createOperatorBlocks({
      ...options,
      mayRecord: () => leadership.mayRecord(),
      source: this.#source,
      onChange: (instance) => this.#controller.wake(instance, "automatic blocks changed"),
    });
    this.#runs = this.#makeRuns();
    this.#controller = this.#makeController();
    this.#forwarding = this.#makeForwarding();
    measureWatches(this.#source, metrics);
    this.sight = operatorSight({
      ...options,
      source: this.#source,
      wafClients: this.#wafClients,
      selected: this.#selected,
    });
  }

  async watch(signal: AbortSignal): Promise<void> {
    await this.#source.run(signal);
  }

  async whenSynced(signal: AbortSignal): Promise<void> {
    await this.#source.whenSynced(signal);
    // If the records can't be read in time, each instance reports the reason.
    await this.#records.whenUsable(signal);
  }

  async run(signal: AbortSignal): Promise<void> {
    this.#isWorking = true;
    // The last content of feeds is loaded before the first run, so that no rule appears to have lost its entries.
    await this.#feeds.loop.load();
    for (const instance of this.#source.instances()) {
      if (!this.#selected.has(instance)) continue;
      this.#options.metrics.addInstance(nameKey(instance));
      this.#wake(instance, "start");
    }
    this.#running = Promise.all([this.#controller.run(signal), this.#forwarding.run(signal), this.#lead(signal)]);
    await this.#running;
  }

  async ended(): Promise<void> {
    await this.#running;
    await this.#history.flush();
  }

  async close(eventFlushMs: number): Promise<void> {
    await this.#wafClients.close();
    await this.#outputs.close();
    await this.#records.close(eventFlushMs);
  }

  /** The work that concerns no single instance. */
  async #lead(signal: AbortSignal): Promise<void> {
    const unattached = createUnattachedLoop(
      this.#options,
      this.#changed,
      this.#unattached(),
      this.#records,
      this.#statusOptions(),
    );
    await Promise.all([
      this.#feeds.loop.run(signal, this.#onFeedsChanged),
      unattached.run(signal),
      this.#records.tidyUp(signal),
    ]);
  }

  #wake(instance: ObjectName, reason: string): void {
    this.#controller.wake(instance, reason);
    this.#forwarding.wake(instance, reason);
  }

  #labelsOf(kind: ResourceKind, { namespace, name }: ObjectName): Readonly<Record<string, string>> | undefined {
    const object = this.#source.objectOf({ kind, namespace, name });
    return object === undefined ? undefined : (object.metadata.labels ?? {});
  }

  /** Objects that no run covers belong to an operator by their own labels, like feeds, and all others by those of their instance. */
  #unattached(): UnattachedOptions["source"] {
    const source = this.#source;
    const isOwn = ({ meta }: { readonly meta: ResourceRef }): boolean =>
      this.#selected.matches(this.#labelsOf(meta.kind, meta));
    return {
      objects: (kind) =>
        source.objects(kind).filter((object) => {
          const instance = instanceNameOf(object);
          return instance === undefined ? this.#selected.matches(object.metadata.labels) : this.#selected.has(instance);
        }),
      // Undefined stands for an object that does not count, so that the caller's slices of time can end there.
      unattached: function* () {
        for (const object of source.unattached()) yield object !== undefined && isOwn(object) ? object : undefined;
      },
      unattachedNow: (ref) => source.unattachedNow(ref),
    };
  }

  /** Before each call, because an instance can be given to another operator at any time. */
  #permitCall(instance: ObjectName): Permission {
    return this.#selected.has(instance)
      ? { permitted: true }
      : { permitted: false, reason: "The labels of the instance no longer match --selector." };
  }

  /** Changes of labels alone cause no `onChange`, because they change nothing that is declared. */
  #noteLabels({ metadata: { namespace = "", name } }: KubeObject): void {
    const instance = { namespace, name };
    const membership = this.#selected.note(instance);
    if (!this.#isWorking) return;
    if (membership === "Left") this.#leave(instance);
    if (membership === "Joined") void this.#join(instance);
  }

  async #join(instance: ObjectName): Promise<void> {
    const { clock, stopping, metrics } = this.#options;
    // Timers may fire a little early.
    await clock.sleep(handOverMs + 100, stopping.stop);
    if (stopping.stop.aborted || !this.#selected.has(instance)) return;
    metrics.addInstance(nameKey(instance));
    this.#wake(instance, "selected");
  }

  #leave(instance: ObjectName): void {
    this.#controller.forget(instance);
    this.#forwarding.forget(instance);
    this.#runs.forget(instance);
    this.#options.metrics.forgetInstance(nameKey(instance));
  }

  #makeSource(): ClusterSource {
    return createClusterSource({
      ...this.#options,
      onChange: (instance, reason) => {
        this.#changed.notify();
        if (!this.#isWorking || !this.#selected.has(instance)) return;
        const declared = this.#source.declared(instance);
        if (declared !== undefined) this.#wafClients.pace(declared);
        this.#wake(instance, reason);
      },
      onUnattachedChange: () => this.#changed.notify(),
      onFeedChange: () => this.#feeds.loop.wake(),
      onStored: (change) => {
        this.#records.status.cached(change);
        if (change.type !== "Deleted" && change.object.kind === "WafInstance") this.#noteLabels(change.object);
      },
      onProblem: (subject, { code, message: problem }) =>
        this.#throttledLog.warn("watch failed", { subject, code, problem }),
    });
  }

  #makeRecords(): ClusterRecords {
    const { leadership, metrics, log } = this.#options;
    return createClusterRecords({
      ...this.#options,
      source: this.#source,
      mayWrite: () => leadership.mayWrite(),
      onEventDropped: (reason) => metrics.eventDropped(reason),
      onInventoryDeleted: (instance) => log.warn("orphaned inventory deleted", { instance: nameKey(instance) }),
    });
  }

  #makeController(): InstanceController {
    const { clock, random, metrics } = this.#options;
    const queueObserver = metrics.queue("instances");
    const controller = new InstanceController({
      startRun: (instance, reasons) => this.#runs.startRun(instance, reasons),
      isOwn: (instance) => this.#selected.has(instance),
      version: (instance) => this.#source.version(instance) + this.#blocks.book.version(instance),
      clock,
      random,
      queueObserver,
      measured: metrics.reconciles("instances"),
    });
    queueObserver.follow(() => controller.stats());
    return controller;
  }

  #makeRuns(): OperatorRuns {
    return new OperatorRuns({
      parts: this.#parts(),
      forwarding: {
        outputs: this.#outputs,
        logRecords: this.#blocks.records,
        measure: this.#blocks.measure,
        domainOf: (instance) => this.#runs.domainOf(instance),
        logRowsMax: this.#options.logRowsMax,
      },
      statusOptions: this.#statusOptions(),
      log: this.#options.log,
      onForgotten: (instance) => {
        this.#selected.forget(instance);
        this.#blocks.book.forget(instance);
        this.#blocks.measure.forget(instance);
      },
      onDomain: (instance) => this.#forwarding.wake(instance, "domain known"),
    });
  }

  #makeForwarding(): LogForwardingController {
    return createOperatorForwarding({
      ...this.#options,
      source: this.#source,
      isOwn: (instance) => this.#selected.has(instance),
      startRun: (instance, reasons) => this.#runs.startForwarding(instance, reasons),
    });
  }

  #parts(): OperatorParts {
    return {
      ...this.#options,
      source: this.#source,
      records: this.#records,
      history: this.#history,
      wafClients: this.#wafClients,
      feeds: this.#feeds.book,
      blocks: this.#blocks.book,
      gather: async (name) => {
        const gathered = await this.#source.gather(name);
        if (gathered?.key.state === "Present") this.#options.redactor.add(gathered.key.key, name);
        return gathered;
      },
    };
  }

  #statusOptions(): LoggedStatusOptions {
    return {
      status: this.#records.status,
      safe: safeTexts(this.#options.redactor),
      log: this.#options.log,
      throttledLog: this.#throttledLog,
      onUnwritten: (object) => {
        const instance = this.#source.instanceOf(object);
        if (instance !== undefined) this.#controller.requeue(instance, "status unwritten");
      },
    };
  }
}
