// What the operator works with: the objects of the cluster, the passes over instances, status and events. Watching goes on in
// every replica; passes, status and events are the leader's alone.
import type { Clock } from "../async/clock.ts";
import { ChangeSignal } from "../async/change-signal.ts";
import type { ApiServer } from "../kube/api-server.ts";
import type { Redactor } from "../model/redactor.ts";
import type { ObjectName } from "../model/resource.ts";
import { nameKey } from "../model/resource.ts";
import { keepLogPart } from "../reconcile/logs/forward-status.ts";
import type { ConvergePorts, StatusPort } from "../reconcile/ports.ts";
import type { ClusterSource } from "../source/cluster/cluster-source.ts";
import { createClusterSource } from "../source/cluster/cluster-source.ts";
import { createClusterRecords } from "../source/cluster/cluster-records.ts";
import type { ClusterRecords } from "../source/cluster/cluster-records.ts";
import type { Logger } from "../telemetry/log.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { BaseUrlPolicy } from "./base-url-policy.ts";
import { baseUrlObjection } from "./base-url-policy.ts";
import { InstanceController } from "./instance-controller.ts";
import type { Leadership } from "./leadership.ts";
import { LogForwardingController } from "./log-forwarding-controller.ts";
import { forwardsLogs, logForwardingPorts } from "./log-forwarding-ports.ts";
import type { LogOutputs } from "./log-outputs.ts";
import { createLogOutputs } from "./log-outputs.ts";
import { measureOutcome, measuringObserver } from "./measure-reconciles.ts";
import { tendLeftOut } from "./report-unattached.ts";
import { ThrottledLog } from "./throttled-log.ts";
import type { Stopping } from "./stopping.ts";
import { WafClients } from "./waf-clients.ts";

export interface OperatorWork {
  /** Follows the objects of the cluster until the signal aborts. */
  watch(signal: AbortSignal): Promise<void>;
  /** Resolves when all objects were seen once, or the signal aborts. */
  whenSynced(signal: AbortSignal): Promise<void>;
  /** Runs passes until the signal aborts and those that run have ended. */
  run(signal: AbortSignal): Promise<void>;
  /** Resolves when no pass runs. */
  ended(): Promise<void>;
  notReadyBecause(): string | undefined;
  close(eventFlushMs: number): Promise<void>;
}

export interface OperatorWorkOptions {
  readonly api: ApiServer;
  readonly metrics: Metrics;
  readonly leadership: Leadership;
  readonly namespace: string | undefined;
  readonly podName: string;
  readonly version: string;
  /** Base URL of an OpenTelemetry collector; undefined if there is none. */
  readonly otlpEndpoint?: string | undefined;
  readonly baseUrls: BaseUrlPolicy;
  readonly clock: Clock;
  readonly random: () => number;
  readonly redactor: Redactor;
  readonly log: Logger;
  readonly stopping: Stopping;
}

const neverListed = { isSynced: false, relists: 0 };

/** What no pass works on is looked at all together, this long after a change. */
const leftOutDelayMs = 500;
const leftOutIntervalMs = 60_000;

export function createOperatorWork(options: OperatorWorkOptions): OperatorWork {
  return new Work(options);
}

class Work implements OperatorWork {
  readonly #options: OperatorWorkOptions;
  readonly #source: ClusterSource;
  readonly #records: ClusterRecords;
  readonly #wafClients: WafClients;
  readonly #controller: InstanceController;
  readonly #outputs: LogOutputs;
  readonly #forwarding: LogForwardingController;
  readonly #changed = new ChangeSignal();
  #running: Promise<unknown> = Promise.resolve();
  #isWorking = false;

  constructor(options: OperatorWorkOptions) {
    this.#options = options;
    const { api, clock, random, namespace, metrics, log, leadership, podName } = options;
    const problems = new ThrottledLog(log, clock);
    this.#source = createClusterSource({
      api,
      clock,
      random,
      namespace,
      onChange: (instance, reason) => {
        this.#changed.notify();
        if (this.#isWorking) this.#wake(instance, reason);
      },
      onProblem: (subject, { code, message: problem }) =>
        problems.warn("objects can't be read", { subject, code, problem }),
    });
    this.#records = createClusterRecords({
      api,
      clock,
      random,
      ...(namespace === undefined ? {} : { namespace }),
      source: this.#source,
      podName,
      mayWrite: () => leadership.mayWrite(),
      onEventDropped: (reason) => metrics.eventDropped(reason),
      onProblem: (problem, object) => {
        const subject = object === undefined ? "" : `${object.kind} ${nameKey(object)}`;
        problems.warn("a record could not be written", { subject, code: "", problem });
        const instance = object === undefined ? undefined : this.#source.instanceOf(object);
        if (instance !== undefined) this.#controller.lookAgain(instance, "status unwritten");
      },
    });
    this.#wafClients = new WafClients({
      clock,
      permit: () => this.#permission(),
      onCall: (instance, call) => metrics.wafCalled(instance, call),
    });
    const queueMetrics = metrics.queue("instances");
    this.#controller = new InstanceController({
      ports: this.#ports(),
      clock,
      random,
      queueObserver: queueMetrics,
      onOutcome: (instance, outcome, durationMs) => {
        const { end } = outcome;
        log.debug("pass ended", { instance: nameKey(instance), end: end.end, durationMs: Math.round(durationMs) });
        measureOutcome(metrics, clock, (meta) => this.#records.status.read(meta), instance, outcome);
        if (end.end === "Gone" && outcome.facts !== undefined)
          log.info("instance released", { instance: nameKey(instance) });
        if (end.end === "Gone") void this.#wafClients.forget(nameKey(instance));
      },
      onError: (instance, error) => log.error("a pass failed unexpectedly", { instance, error }),
    });
    queueMetrics.follow(() => this.#controller.stats());
    const { version, otlpEndpoint, stopping } = options;
    this.#outputs = createLogOutputs({ otlpEndpoint, version, podName, clock, abandon: stopping.abandon });
    this.#forwarding = this.#makeForwarding();
    this.#measureWatches();
  }

  async watch(signal: AbortSignal): Promise<void> {
    await this.#source.run(signal);
  }

  async whenSynced(signal: AbortSignal): Promise<void> {
    await this.#source.whenSynced(signal);
  }

  async run(signal: AbortSignal): Promise<void> {
    this.#isWorking = true;
    for (const instance of this.#source.instances()) {
      this.#options.metrics.addInstance(nameKey(instance));
      this.#wake(instance, "start");
    }
    const running = Promise.all([
      this.#controller.run(signal),
      this.#forwarding.run(signal),
      this.#tendLeftOut(signal),
      this.#records.tidyUp(signal),
    ]);
    this.#running = running;
    await running;
  }

  async ended(): Promise<void> {
    await this.#running;
  }

  notReadyBecause(): string | undefined {
    return this.#source.notReadyBecause();
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

  #measureWatches(): void {
    for (const { plural } of this.#source.health()) {
      this.#options.metrics.watch(
        plural,
        () => this.#source.health().find((health) => health.plural === plural) ?? neverListed,
      );
    }
  }

  #makeForwarding(): LogForwardingController {
    const { metrics, log } = this.#options;
    const queueMetrics = metrics.queue("logs");
    const controller = new LogForwardingController({
      ports: logForwardingPorts({
        ...this.#options,
        source: this.#source,
        records: this.#records,
        wafClients: this.#wafClients,
        outputs: this.#outputs,
        gather: async (name) => await this.#gather(name),
        status: this.#loggedStatus(),
      }),
      queueObserver: queueMetrics,
      concerns: (instance) => forwardsLogs(this.#source.objectOf({ kind: "WafInstance", ...instance })),
      onError: (instance, error) => log.error("a look at the logs failed unexpectedly", { instance, error }),
    });
    queueMetrics.follow(() => controller.stats());
    return controller;
  }

  #permission() {
    const { leadership, stopping } = this.#options;
    if (stopping.stop.aborted) return { permitted: false, reason: "wafsync is stopping." } as const;
    if (!leadership.mayWrite()) return { permitted: false, reason: "This process does not hold the Lease." } as const;
    return { permitted: true } as const;
  }

  /** What a person is told about an object stands in the log, too. */
  #loggedStatus(): StatusPort {
    const { log } = this.#options;
    const { status } = this.#records;
    return {
      read: (meta) => status.read(meta),
      write: async (meta, next) => {
        // What it says of logs is written by others, at any time.
        if (meta.kind === "WafInstance") await status.update(meta, (current) => keepLogPart(next, current));
        else await status.write(meta, next);
      },
      event: (meta, event) => {
        const { type, reason, message } = event;
        log[type === "Warning" ? "warn" : "info"](reason, { object: `${meta.kind} ${nameKey(meta)}`, message });
        status.event(meta, event);
      },
    };
  }

  async #tendLeftOut(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!signal.aborted) {
      const { version } = this.#changed;
      await tendLeftOut(this.#source, this.#records, clock.nowMs());
      // What could not be written is tried again, also if nothing changes.
      const over = new AbortController();
      const either = AbortSignal.any([signal, over.signal]);
      await Promise.race([this.#changed.wait(version, either), clock.sleep(leftOutIntervalMs, either)]);
      over.abort();
      await clock.sleep(leftOutDelayMs, signal);
    }
  }

  async #gather(name: ObjectName) {
    const gathered = await this.#source.gather(name);
    if (gathered?.key.state === "Present") this.#options.redactor.add(gathered.key.key);
    return gathered;
  }

  #ports(): ConvergePorts {
    const { clock, random, metrics, stopping, baseUrls, log } = this.#options;
    const source = this.#source;
    const measuring = measuringObserver(metrics);
    return {
      source: {
        gather: async (name: ObjectName) => await this.#gather(name),
        confirm: async (name: ObjectName) => await source.confirm(name),
        version: (name: ObjectName) => source.version(name),
        isUninstalling: async () => await source.isUninstalling(),
        removeObject: async (object) => {
          if (this.#permission().permitted) await source.remove(object);
        },
      },
      inventory: this.#records.inventory,
      lifecycle: this.#records.lifecycle,
      status: this.#loggedStatus(),
      openWaf: (instance, key) => {
        // Before its first call, so that the figures of its first pass are not lost.
        metrics.addInstance(nameKey(instance.meta));
        return this.#wafClients.open(instance, key);
      },
      clock,
      random,
      observer: {
        ...measuring,
        failed: (instance, fault) => {
          log.warn("the WAF could not be worked on", { instance: nameKey(instance), code: fault.code });
          if (fault.code === "BadApiKey" || fault.code === "MissingApiKey") source.secretRefused(instance);
        },
        waiting: (instance, why, delayMs) => log.info("waiting", { instance: nameKey(instance), why, delayMs }),
      },
      baseUrlObjection: (baseUrl) => baseUrlObjection(baseUrls, baseUrl),
      stopping: stopping.stop,
      abandon: stopping.abandon,
    };
  }
}
