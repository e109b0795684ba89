// The work of the operator, wired up: the watches, the reconcile runs, log forwarding, status and events. Every replica
// watches; only the leader runs, writes status and emits events.
import { ChangeSignal } from "../async/change-signal.ts";
import type { Clock } from "../async/clock.ts";
import type { ApiServer } from "../kube/api-server.ts";
import type { Redactor } from "../model/redactor.ts";
import { type ObjectName, nameKey } from "../model/resource.ts";
import { type ClusterSource, createClusterSource } from "../source/cluster/cluster-source.ts";
import { type ClusterRecords, createClusterRecords } from "../source/cluster/cluster-records.ts";
import type { Logger } from "../telemetry/log.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import { type BaseUrlPolicy, connectionsOf } from "./base-url-policy.ts";
import type { HistoryKeeper } from "./history-keeper.ts";
import { type InstanceRun, InstanceController } from "./instance-controller.ts";
import type { FeedPolicy } from "./feed-fetcher.ts";
import type { Leadership } from "./leadership.ts";
import { LogForwardingController } from "./log-forwarding-controller.ts";
import { forwardsLogs, logForwardingPorts } from "./log-forwarding-ports.ts";
import { type LogOutputs, createLogOutputs } from "./log-outputs.ts";
import { type LoggedStatusOptions, loggedStatus } from "./logged-status.ts";
import { measureOutcome } from "./measure-reconciles.ts";
import { operatorHistory } from "./operator-history.ts";
import { type OperatorFeeds, createOperatorFeeds } from "./operator-feeds.ts";
import { measureWatches } from "./measure-watches.ts";
import { type OperatorParts, operatorPorts } from "./operator-ports.ts";
import { type OperatorSight, operatorSight } from "./operator-sight.ts";
import { runFields } from "./run-fields.ts";
import { safeTexts } from "./status-texts.ts";
import type { Stopping } from "./stopping.ts";
import { ThrottledLog } from "./throttled-log.ts";
import { createUnattachedLoop } from "./unattached-loop.ts";
import type { AnswerLimits } from "../waf/client.ts";
import { WafClients } from "./waf-clients.ts";
import { writePermission } from "./write-permission.ts";

export interface OperatorWork {
  /** Watches the objects of the cluster until the signal aborts. */
  watch(signal: AbortSignal): Promise<void>;
  /** Resolves when all objects have been listed once, or when the signal aborts. */
  whenSynced(signal: AbortSignal): Promise<void>;
  /** Reconciles until the signal aborts and the current runs have ended. */
  run(signal: AbortSignal): Promise<void>;
  /** Resolves when nothing runs. */
  ended(): Promise<void>;
  /** What a page shows of it. */
  readonly sight: OperatorSight;
  close(eventFlushMs: number): Promise<void>;
}

export interface OperatorWorkOptions {
  readonly api: ApiServer;
  readonly metrics: Metrics;
  readonly leadership: Leadership;
  readonly namespace: string | undefined;
  readonly podName: string;
  readonly version: string;
  /** The base URL of an OpenTelemetry collector; undefined if there is none. */
  readonly otlpEndpoint?: string | undefined;
  readonly baseUrls: BaseUrlPolicy;
  /** Limits for the responses of one WAF, and for its log rows. */
  readonly limits?: AnswerLimits | undefined;
  readonly logRowsMax?: number | undefined;
  readonly feedPolicy: FeedPolicy;
  /** Whether records of wafsync 0.1 in ConfigMaps are migrated. */
  readonly migratesConfigMaps: boolean;
  readonly clock: Clock;
  readonly random: () => number;
  readonly redactor: Redactor;
  readonly log: Logger;
  readonly stopping: Stopping;
}

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
  readonly #controller: InstanceController;
  readonly #outputs: LogOutputs;
  readonly #forwarding: LogForwardingController;
  readonly #changed = new ChangeSignal();
  /** What the key of each instance belongs to, as its last run found. */
  readonly #domains = new Map<string, string>();
  #running: Promise<unknown> = Promise.resolve();
  #isWorking = false;

  constructor(options: OperatorWorkOptions) {
    this.#options = options;
    const { metrics, log, clock, leadership, stopping } = options;
    this.#throttledLog = new ThrottledLog(log, clock);
    this.#source = this.#makeSource();
    this.#records = this.#makeRecords();
    this.#history = operatorHistory({ ...options, source: this.#source });
    this.#wafClients = new WafClients({
      ...options,
      ...connectionsOf(options.baseUrls),
      permit: () => writePermission(leadership, stopping),
      onCall: (instance, call) => metrics.wafCalled(instance, call),
    });
    this.#outputs = createLogOutputs({ ...options, otlpEndpoint: options.otlpEndpoint, abandon: stopping.abandon });
    this.#feeds = createOperatorFeeds({
      ...options,
      source: this.#source,
      status: loggedStatus(this.#statusOptions(), {}),
      mayWrite: () => leadership.mayWrite(),
    });
    this.#controller = this.#makeController();
    this.#forwarding = this.#makeForwarding();
    measureWatches(this.#source, metrics);
    this.sight = operatorSight({ ...options, source: this.#source, wafClients: this.#wafClients });
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
      this.#options.metrics.addInstance(nameKey(instance));
      this.#wake(instance, "start");
    }
    this.#running = Promise.all([
      this.#controller.run(signal),
      this.#forwarding.run(signal),
      this.#feeds.loop.run(signal, () => {
        for (const instance of this.#source.feeds.users()) this.#wake(instance, "feeds changed");
      }),
      createUnattachedLoop(this.#options.clock, this.#changed, this.#source, this.#records, this.#statusOptions()).run(
        signal,
      ),
      this.#records.tidyUp(signal),
    ]);
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
      onFormerRecord: (instance) => log.warn("obsolete record found", { instance: nameKey(instance) }),
    });
  }

  #makeController(): InstanceController {
    const { clock, random, metrics } = this.#options;
    const queueObserver = metrics.queue("instances");
    const controller = new InstanceController({
      startRun: (instance, reasons) => this.#startRun(instance, reasons),
      version: (instance) => this.#source.version(instance) + this.#feeds.book.version(),
      clock,
      random,
      queueObserver,
      measured: metrics.reconciles("instances"),
    });
    queueObserver.follow(() => controller.stats());
    return controller;
  }

  #startRun(instance: ObjectName, reasons: readonly string[]): InstanceRun {
    const { metrics, clock } = this.#options;
    const fields = runFields(instance, reasons);
    const log = this.#options.log.child(fields);
    return {
      ports: operatorPorts(this.#parts(), loggedStatus(this.#statusOptions(), fields), log),
      onOutcome: (outcome, result, durationMs) => {
        const isGone = outcome.result.kind === "Gone";
        log.debug("reconcile finished", { result, outcome: outcome.result.kind, durationMs: Math.round(durationMs) });
        if (isGone && outcome.facts !== undefined) log.info("instance released");
        measureOutcome(metrics, clock, instance, outcome);
        this.#noteDomain(instance, outcome.facts?.inventory?.domain);
        if (!isGone) return;
        this.#domains.delete(nameKey(instance));
        void this.#wafClients.forget(nameKey(instance));
      },
      onError: (error) => log.error("reconcile panicked", { error }),
    };
  }

  /** Log forwarding waits for the domain, which belongs to every entry. */
  #noteDomain(instance: ObjectName, domain: string | undefined): void {
    const name = nameKey(instance);
    if (domain === undefined || this.#domains.get(name) === domain) return;
    this.#domains.set(name, domain);
    this.#forwarding.wake(instance, "domain known");
  }

  #makeForwarding(): LogForwardingController {
    const { clock, random, metrics } = this.#options;
    const queueObserver = metrics.queue("logs");
    const portsOf = logForwardingPorts({
      ...this.#parts(),
      api: this.#options.api,
      outputs: this.#outputs,
      formerRecords: this.#records.former,
      domainOf: (instance) => this.#domains.get(nameKey(instance)),
      countBlocked: this.#feeds.countBlocked,
      logRowsMax: this.#options.logRowsMax,
    });
    const controller = new LogForwardingController({
      startRun: (instance, reasons) => {
        const fields = runFields(instance, reasons);
        const log = this.#options.log.child(fields);
        return {
          ports: portsOf(loggedStatus(this.#statusOptions(), fields), log),
          onError: (error) => log.error("log forwarding panicked", { error }),
        };
      },
      concerns: (instance) => forwardsLogs(this.#source.objectOf({ kind: "WafInstance", ...instance })),
      clock,
      random,
      queueObserver,
      measured: metrics.reconciles("logs"),
    });
    queueObserver.follow(() => controller.stats());
    return controller;
  }

  #parts(): OperatorParts {
    return {
      ...this.#options,
      source: this.#source,
      records: this.#records,
      history: this.#history,
      wafClients: this.#wafClients,
      feeds: this.#feeds.book,
      gather: async (name) => {
        const gathered = await this.#source.gather(name);
        if (gathered?.key.state === "Present") this.#options.redactor.add(gathered.key.key);
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
