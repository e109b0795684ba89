// The work of the operator, wired up. Every replica watches; only the leader reconciles, writes statuses and emits events.
import { ChangeSignal } from "../async/change-signal.ts";
import { type ObjectName, nameKey } from "../model/resource.ts";
import { type ClusterSource, createClusterSource } from "../source/cluster/cluster-source.ts";
import { type ClusterRecords, createClusterRecords } from "../source/cluster/cluster-records.ts";
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
import { OperatorShards } from "./operator-shards.ts";
import { type OperatorSight, operatorSight } from "./operator-sight.ts";
import { safeTexts } from "./status-texts.ts";
import { ThrottledLog } from "./throttled-log.ts";
import { createUnattachedLoop } from "./unattached-loop.ts";
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
  readonly shards: OperatorShards | undefined;
  readonly #runs: OperatorRuns;
  readonly #followingFeeds = new AbortController();
  #running: Promise<unknown> = Promise.resolve();
  #leading: Promise<unknown> = Promise.resolve();
  readonly #onFeedsChanged: OnFeedsChanged = (feeds) => this.#source.feeds.contentChanged(feeds);
  #isWorking = false;

  constructor(options: OperatorWorkOptions) {
    this.#options = options;
    const { metrics, log, clock, leadership, stopping } = options;
    this.#throttledLog = new ThrottledLog(log, clock);
    this.#source = this.#makeSource();
    this.#records = this.#makeRecords();
    this.#history = operatorHistory({
      ...options,
      source: this.#source,
      leadership: { mayRecord: () => leadership.mayRecord() || this.shards?.mayRecord() === true },
    });
    this.shards = this.#makeShards();
    this.#wafClients = new WafClients({
      ...options,
      ...connectionsOf(options.baseUrls),
      permit: () => writePermission(leadership, stopping),
      share: this.shards?.admission,
      onCall: (instance, call) => metrics.wafCalled(instance, call),
    });
    this.#outputs = createLogOutputs({ ...options, otlpEndpoint: options.otlpEndpoint, abandon: stopping.abandon });
    this.#feeds = createOperatorFeeds({
      ...options,
      source: this.#source,
      status: loggedStatus(this.#statusOptions(), {}),
      mayWrite: () => leadership.mayWrite(),
    });
    this.#blocks = createOperatorBlocks({
      ...options,
      mayRecord: () => leadership.mayRecord() || this.shards?.mayRecord() === true,
      source: this.#source,
      onChange: (instance) => this.#controller.wake(instance, "automatic blocks changed"),
    });
    this.#runs = this.#makeRuns();
    this.#controller = this.#makeController();
    this.#forwarding = this.#makeForwarding();
    measureWatches(this.#source, metrics);
    this.sight = operatorSight({ ...options, source: this.#source, wafClients: this.#wafClients, shards: this.shards });
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
      // With shards, only the instances of this process have figures.
      if (this.shards === undefined) this.#options.metrics.addInstance(nameKey(instance));
      this.#wake(instance, "start");
    }
    const following = AbortSignal.any([signal, this.#followingFeeds.signal]);
    this.#running = Promise.all([
      this.#controller.run(signal),
      this.#forwarding.run(signal),
      this.shards === undefined ? this.#lead(signal) : this.#feeds.loop.follow(following, this.#onFeedsChanged),
    ]);
    await this.#running;
  }

  async lead(signal: AbortSignal): Promise<void> {
    this.#followingFeeds.abort();
    // The former leader may have stored something since.
    await this.#feeds.book.follow(signal);
    this.#leading = this.#lead(signal);
    await this.#leading;
  }

  async ended(): Promise<void> {
    await Promise.all([this.#running, this.#leading]);
    await this.#history.flush();
  }

  async close(eventFlushMs: number): Promise<void> {
    await this.#wafClients.close();
    await this.#outputs.close();
    await this.#records.close(eventFlushMs);
  }

  /** The work that only one process may do. */
  async #lead(signal: AbortSignal): Promise<void> {
    const unattached = createUnattachedLoop(
      this.#options,
      this.#changed,
      this.#source,
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

  #makeSource(): ClusterSource {
    return createClusterSource({
      ...this.#options,
      onChange: (instance, reason) => {
        this.#changed.notify();
        if (!this.#isWorking) return;
        const declared = this.#source.declared(instance);
        if (declared !== undefined) this.#wafClients.pace(declared);
        this.#wake(instance, reason);
      },
      onUnattachedChange: () => this.#changed.notify(),
      onFeedChange: () => this.#feeds.loop.wake(),
      onStored: (change) => this.#records.status.cached(change),
      onProblem: (subject, { code, message: problem }) =>
        this.#throttledLog.warn("watch failed", { subject, code, problem }),
    });
  }

  #makeRecords(): ClusterRecords {
    const { leadership, metrics, log } = this.#options;
    return createClusterRecords({
      ...this.#options,
      source: this.#source,
      mayWrite: () => leadership.mayWrite() || this.shards?.mayWrite() === true,
      onEventDropped: (reason) => metrics.eventDropped(reason),
      onInventoryDeleted: (instance) => log.warn("orphaned inventory deleted", { instance: nameKey(instance) }),
    });
  }

  #makeController(): InstanceController {
    const { clock, random, metrics } = this.#options;
    const queueObserver = metrics.queue("instances");
    const controller = new InstanceController({
      startRun: (instance, reasons) => this.#runs.startRun(instance, reasons),
      version: (instance) => this.#source.version(instance) + this.#blocks.book.version(instance),
      clock,
      random,
      queueObserver,
      measured: metrics.reconciles("instances"),
    });
    queueObserver.follow(() => controller.stats());
    return controller;
  }

  #makeShards(): OperatorShards | undefined {
    const { sharding } = this.#options;
    if (sharding === undefined) return undefined;
    return new OperatorShards({
      ...this.#options,
      ...sharding,
      source: this.#source,
      inventory: this.#records.inventory,
      emit: (note) => this.#records.emit(note),
      wake: (instance, reason) => {
        if (this.#isWorking) this.#wake(instance, reason);
      },
      flush: async () => await this.#history.flush(),
      leave: (instance) => {
        this.#controller.forget(instance);
        this.#forwarding.forget(instance);
        this.#runs.forget(instance);
        this.#options.metrics.forgetInstance(nameKey(instance));
      },
    });
  }

  #makeRuns(): OperatorRuns {
    const { leadership } = this.#options;
    return new OperatorRuns({
      parts: this.#parts(),
      forwarding: {
        outputs: this.#outputs,
        logRecords: this.#blocks.records,
        measure: this.#blocks.measure,
        domainOf: (instance) => this.#runs.domainOf(instance),
        // Only the leader reports to the sources of feeds.
        countBlocked: (gathered, entries) => {
          if (this.shards === undefined || leadership.mayWrite()) this.#feeds.countBlocked(gathered, entries);
        },
        logRowsMax: this.#options.logRowsMax,
      },
      statusOptions: this.#statusOptions(),
      log: this.#options.log,
      shards: this.shards,
      onForgotten: (instance) => {
        this.#blocks.book.forget(instance);
        this.#blocks.measure.forget(instance);
      },
      onDomain: (instance) => this.#forwarding.wake(instance, "domain known"),
      requeue: (instance, reason) => this.#controller.requeue(instance, reason),
    });
  }

  #makeForwarding(): LogForwardingController {
    return createOperatorForwarding({
      ...this.#options,
      source: this.#source,
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
