// The work on the instances of a cluster or of a folder: reconcile runs, logs, feeds and automatic blocks, woken by changes. What only
// some installations need is loaded on demand, because commands over a folder have to start quickly.
import type { Clock } from "../async/clock.ts";
import type { BlockBook } from "../blocks/block-book.ts";
import { withAutoBlocks } from "../blocks/block-rules.ts";
import { blockStatusFrom } from "../blocks/block-status.ts";
import { CacheClears } from "../clears/clears.ts";
import type { FeedPolicy } from "../feeds/feed-fetcher.ts";
import { withFeeds } from "../feeds/feed-source.ts";
import type { ForwardLogsPorts } from "../logs/forward-ports.ts";
import type { DeclaredInstance } from "../model/declared.ts";
import type { Redactor } from "../model/redactor.ts";
import { nameKey, type ObjectName } from "../model/resource.ts";
import type { ApiKey } from "../model/api-key.ts";
import type { RecordStore } from "../records/record-store.ts";
import type { ReconcileOutcome, InstanceMemory } from "../run/report.ts";
import type { ReconcileObserver, ReconcilePorts, SourcePort } from "../run/ports.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { ReconcileResult } from "../telemetry/metrics-runtime.ts";
import type { AnswerLimits, Permission, WafClient } from "../waf/client.ts";
import type { KeyLocks } from "../waf/lane.ts";
import { type BaseUrlPolicy, baseUrlObjection, connectionsOf } from "./base-url-policy.ts";
import { InstanceController } from "./controller.ts";
import type { Feeds, FeedsOptions, OnFeedsChanged } from "../feeds/feeds.ts";
import type { LogController } from "./log-controller.ts";
import type { ReportedStatus } from "./reported-status.ts";
import type { StoppingControl } from "./stopping.ts";
import { measuredRun, measureOutcome } from "./measure.ts";
import { WafClients } from "./waf-clients.ts";

/** The options of the process, declared once. */
export interface WorkOptions {
  readonly baseUrls: BaseUrlPolicy;
  /** Limits for the responses of one WAF; unlimited if undefined. */
  readonly limits?: AnswerLimits | undefined;
  /** The maximum number of rows of an instance that are forwarded in an hour, and remembered; undefined for the default. */
  readonly logRowsMax?: number | undefined;
  readonly feedPolicy: FeedPolicy;
  /** The version of wafsync, which is sent to feeds. */
  readonly version: string;
  /** Coordinates with other processes on this machine that use the same API key; undefined in a cluster. */
  readonly locks?: KeyLocks | undefined;
  readonly clock: Clock;
  readonly random: () => number;
  readonly redactor: Redactor;
  readonly stopping: StoppingControl;
}

/** How one run reports. */
export interface RunReports {
  readonly status: ReportedStatus;
  readonly observer: ReconcileObserver;
  readonly logObserver: Pick<ForwardLogsPorts["observer"], "failed">;
  /** Called at the end of a reconcile run. Must not throw. */
  readonly onOutcome?: (outcome: ReconcileOutcome, result: ReconcileResult, durationMs: number) => void;
  /** Called if the run threw, which is a bug in wafsync. Must not throw. */
  readonly onError?: (error: unknown) => void;
}

/** What differs between a cluster and a folder. */
export interface Place extends Pick<ReconcilePorts, "inventory" | "history" | "lifecycle"> {
  readonly declared: SourcePort;
  /** Where the positions in logs are stored. */
  readonly records: RecordStore;
  readonly feeds: Pick<FeedsOptions, "records" | "readSecret" | "feeds" | "isOwn">;
  /** For whatever belongs to no run. */
  readonly status: ReportedStatus;
  readonly startRun: (instance: ObjectName, reasons: readonly string[]) => RunReports;
  readonly memoryOf?: (instance: ObjectName) => InstanceMemory;
  /** Whether this process works on the instance; on all, if undefined. */
  readonly isOwn?: (instance: ObjectName) => boolean;
  /** Whether the process may call this WAF; asked before each call. */
  readonly mayCall: (instance: ObjectName) => Permission;
  /** Whether the process may write to WAFs, and forward logs. */
  readonly mayWrite: () => Permission;
  readonly hidesCause?: boolean;
  /** Whether the logs of the instance are forwarded or judged. Must be cheap, because it is called at every change. */
  readonly readsLogs: (instance: ObjectName) => boolean;
  /** Undefined if logs are only judged. */
  readonly outputOf: ForwardLogsPorts["outputOf"] | undefined;
  readonly onFeedsChanged: OnFeedsChanged;
  /** Called when everything about the instance is forgotten. */
  readonly onForgotten?: (instance: ObjectName) => void;
  /** Undefined if nothing is measured. */
  readonly metrics: Metrics | undefined;
}

export class Work {
  readonly options: WorkOptions;
  readonly place: Place;
  readonly wafClients: WafClients;
  /** The declared objects with the entries of feeds, and not yet those of automatic blocks. */
  readonly fed: SourcePort;
  /** The ports of all runs, but for how they report. */
  readonly ports: ReconcilePorts;
  readonly #controller: InstanceController;
  readonly #domains = new Map<string, { readonly domain: string | undefined }>();
  #feeds: Feeds | undefined;
  #blocks: BlockBook | undefined;
  #logs: LogController | undefined;

  constructor(options: WorkOptions, place: Place) {
    this.options = options;
    this.place = place;
    this.wafClients = this.#makeWafClients();
    const declared = { ...place.declared, gather: async (name: ObjectName) => await this.#gather(name) };
    this.fed = withFeeds(declared, (feed) => this.#feeds?.view(feed));
    this.ports = this.#makePorts();
    this.#controller = this.#makeController();
  }

  get feeds(): Feeds | undefined {
    return this.#feeds;
  }

  async openFeeds(): Promise<Feeds> {
    const { openFeeds } = await import("../feeds/feeds.ts");
    const { feeds, status, metrics } = this.place;
    const ports = { ...feeds, status, observer: metrics?.feeds };
    return (this.#feeds ??= openFeeds({ ...this.options, ...ports }));
  }

  /** The results of the log reader, whose records are used before it has read anything. */
  async openBlocks(): Promise<BlockBook> {
    if (this.#blocks !== undefined) return this.#blocks;
    const [{ BlockBook }, { LogRecords }] = await Promise.all([
      import("../blocks/block-book.ts"),
      import("../logs/log-records.ts"),
    ]);
    return (this.#blocks ??= new BlockBook({
      records: new LogRecords(this.place.records),
      clock: this.options.clock,
      onChange: (instance) => this.#controller.wake(instance, "automatic blocks changed"),
    }));
  }

  readonly open = (instance: DeclaredInstance, key: ApiKey): WafClient => this.wafClients.open(instance, key);

  /** Undefined until a run has read the WAF or has ended. */
  domainOf(instance: ObjectName): { readonly domain: string | undefined } | undefined {
    return this.#domains.get(nameKey(instance));
  }

  wake(instance: ObjectName, reason: string): void {
    this.#controller.wake(instance, reason);
    this.#logs?.wake(instance, reason);
  }

  /** Works until the signal aborts and the current runs have ended. */
  async run(signal: AbortSignal, instances: () => readonly ObjectName[]): Promise<void> {
    const feeds = await this.openFeeds();
    // The last content of feeds is loaded before the first run, so that no rule appears to have lost its entries.
    await feeds.load();
    const { openLogs } = await import("./log-controller.ts");
    const logs = openLogs(this, await this.openBlocks());
    this.#logs = logs;
    for (const instance of instances()) this.wake(instance, "start");
    await Promise.all([
      this.#controller.run(signal),
      logs.run(signal),
      feeds.run(signal, (changed) => this.place.onFeedsChanged(changed)),
    ]);
  }

  /** How a run reports, and is measured. */
  startRun(instance: ObjectName, reasons: readonly string[]): RunReports {
    const own = this.place.startRun(instance, reasons);
    const { metrics } = this.place;
    return metrics === undefined ? own : measuredRun(own, metrics);
  }

  /** Every instance that has had a run. */
  known(): readonly ObjectName[] {
    return this.#controller.known();
  }

  /** Forgets everything about the instance, as if the process had just started. */
  forget(instance: ObjectName): void {
    this.#controller.forget(instance);
    this.#release(instance);
  }

  #release(instance: ObjectName): void {
    this.#domains.delete(nameKey(instance));
    this.#logs?.forget(instance);
    this.#blocks?.forget(instance);
    void this.wafClients.forget(nameKey(instance));
    this.place.metrics?.forgetInstance(nameKey(instance));
    this.place.metrics?.autoBlocksSeen(nameKey(instance), new Map());
    this.place.onForgotten?.(instance);
  }

  async #gather(name: ObjectName): ReturnType<SourcePort["gather"]> {
    const gathered = await this.place.declared.gather(name);
    if (gathered !== undefined) this.place.metrics?.addInstance(nameKey(name));
    if (gathered?.key.state === "Present") this.options.redactor.add(gathered.key.key, name.namespace);
    return gathered;
  }

  #makeWafClients(): WafClients {
    const { mayCall, mayWrite, metrics, hidesCause } = this.place;
    const connections = connectionsOf(this.options.baseUrls);
    return new WafClients({
      ...this.options,
      ...connections,
      hidesCause: hidesCause ?? connections.hidesCause,
      permit: (instance, effect) => {
        const permission = mayCall(instance);
        return permission.permitted && effect === "Write" ? mayWrite() : permission;
      },
      onCall: metrics && ((instance, call) => metrics.wafCalled(instance, call)),
    });
  }

  #makePorts(): ReconcilePorts {
    const { clock, random, stopping, baseUrls } = this.options;
    const blocks = {
      view: async (instance: ObjectName) => await (await this.openBlocks()).view(instance),
      version: (instance: ObjectName) => this.#blocks?.version(instance) ?? 0,
      known: (instance: ObjectName) => this.#blocks?.known(instance),
    };
    return {
      ...this.place,
      clock,
      random,
      source: withAutoBlocks(this.fed, blocks),
      statusOf: blockStatusFrom(blocks),
      newHooks: () => new CacheClears(),
      openWaf: this.open,
      baseUrlObjection: (baseUrl) => baseUrlObjection(baseUrls, baseUrl),
      stopping: stopping.stop,
      abandon: stopping.abandon,
      observer: {},
    };
  }

  #makeController(): InstanceController {
    const { clock, random } = this.options;
    const { metrics } = this.place;
    return new InstanceController({
      ...this.place,
      clock,
      random,
      startRun: (instance, reasons) => {
        const { status, observer, onOutcome, onError } = this.startRun(instance, reasons);
        const planned: ReconcileObserver["planned"] = (name, plan, domain) => {
          observer.planned?.(name, plan, domain);
          this.#noteDomain(name, domain);
        };
        return {
          ports: { ...this.ports, status, observer: { ...observer, planned } },
          onError,
          onOutcome: (outcome, result, durationMs) => {
            onOutcome?.(outcome, result, durationMs);
            if (metrics !== undefined) measureOutcome(metrics, clock, instance, outcome, this.#blocks?.known(instance));
            if (outcome.result.kind === "Gone") this.#release(instance);
            else this.#noteDomain(instance, this.domainOf(instance)?.domain);
          },
        };
      },
      version: (instance) => this.ports.source.version(instance),
    });
  }

  /** Log forwarding waits for the domain, which is part of every entry. */
  #noteDomain(instance: ObjectName, domain: string | undefined): void {
    const known = this.domainOf(instance);
    if (known !== undefined && known.domain === domain) return;
    this.#domains.set(nameKey(instance), { domain });
    this.#logs?.wake(instance, "domain known");
  }
}
