// wafsync without a cluster: reconciles a directory of YAML files, with inventory and status in a state directory.
//
// Start: files, state directory (locked), WAFs. Stop: no new calls, end of the call in flight, connections, lock.
import type { SecretValue } from "../feeds/feed-fetcher.ts";
import { continuesOf } from "../model/continues.ts";
import type { SecretKeyRef, DeclaredCacheClear } from "../model/declared.ts";
import { nameKey, notReadyKinds, type ObjectName, type ResourceMeta } from "../model/resource.ts";
import { counted } from "../model/texts.ts";
import { FileRecordStore } from "../records/file-record-store.ts";
import { createInventoryRecords } from "../records/inventory-records.ts";
import type { RecordStore } from "../records/record-store.ts";
import type { RunFacts } from "../run/facts.ts";
import type { ReconcileObserver, ReconcilePorts, ReviewPort, StatusPort } from "../run/ports.ts";
import { type ReconcileOutcome, reportFacts } from "../run/report.ts";
import { previewInstance, reconcileInstance } from "../run/run.ts";
import { DirectorySource } from "../source/directory/directory-source.ts";
import { type EnvironmentKey, type Unattached, unattachedOf } from "../source/directory/gather.ts";
import {
  type DirectorySnapshot,
  placeOfSource,
  blocksRemovalsOf,
  isError,
  type SourceFault,
} from "../source/directory/snapshot.ts";
import type { RemoteState } from "../source/directory/remote-state.ts";
import { openStateDirectory, viewStateDirectory } from "../source/directory/state-directory.ts";
import { StatusFiles } from "../source/directory/status-files.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import { saysNotReady } from "./measure.ts";
import { reportedStatus } from "./reported-status.ts";
import { SeenKeeper } from "./seen-keeper.ts";
import { type Place, Work, type WorkOptions } from "./work.ts";

export interface StandaloneOptions extends WorkOptions {
  readonly directory: string;
  readonly stateDirectory: string;
  /** The remote state whose files the state directory has; every process holds it while it makes calls. */
  readonly remote?: RemoteState | undefined;
  /** The API key for the single instance whose Secret is not in the directory. */
  readonly environmentKey: EnvironmentKey | undefined;
  /** Writes neither to the WAF nor to the state directory, and takes no lock. */
  readonly isDryRun: boolean;
  /** Shown by other processes that wait for this one. */
  readonly command: string;
  readonly observer: ReconcileObserver;
  /** Absent if anything may be written. */
  readonly review?: ReviewPort | undefined;
  /** Undefined if nothing is measured. */
  readonly metrics?: Metrics | undefined;
  /** Called for every event. */
  readonly onEvent?: StatusPort["event"];
}

export interface InstanceResult {
  readonly instance: ObjectName;
  readonly outcome: ReconcileOutcome;
}

export interface Preview {
  readonly facts: RunFacts;
  /** Cache clears that a run would handle: one call clears for all of them. */
  readonly pendingClears: readonly DeclaredCacheClear[];
}

interface NotOpened {
  readonly ok: false;
  readonly problem: string;
  /** Whether another process is using the state directory. */
  readonly isInUse?: true;
}

export type OpenedStandalone = { readonly ok: true; readonly standalone: Standalone } | NotOpened;

type OpenedStore = Extract<Awaited<ReturnType<typeof openStore>>, { readonly ok: true }>;

/** Opens the state directory and reads the files. `problem` says what to do. */
export async function openStandalone(options: StandaloneOptions): Promise<OpenedStandalone> {
  const { directory, stateDirectory, environmentKey, clock } = options;
  const source = new DirectorySource({ directory, stateDirectory, environmentKey, clock });
  const [store] = await Promise.all([openStore(options), source.load()]);
  if (!store.ok) {
    await source.close();
    return store;
  }
  return { ok: true, standalone: new Standalone(options, source, store) };
}

/** Gives up on an instance after this many failed runs in a row. */
const failuresMax = 6;
/** Also gives up after this many runs for a pending cache clear. Usually, the deadline of the clear ends the wait earlier. */
const clearRunsMax = 50;

export class Standalone {
  readonly #options: StandaloneOptions;
  readonly #source: DirectorySource;
  readonly #store: OpenedStore;
  readonly #work: Work;
  #onOutcome: (result: InstanceResult) => void = () => undefined;
  #forgetting: Promise<void> = Promise.resolve();

  constructor(options: StandaloneOptions, source: DirectorySource, store: OpenedStore) {
    this.#options = options;
    this.#source = source;
    this.#store = store;
    this.#work = new Work(options, this.#place());
  }

  /** Why the state directory can't be used any longer, in a sentence. */
  lost(): string | undefined {
    return this.#store.state.lost();
  }

  /** The faults of the files, and everything that refers to an instance that is not declared. */
  faults(): { readonly faults: readonly SourceFault[]; readonly unattached: readonly Unattached[] } {
    const snapshot = this.#source.snapshot();
    return { faults: snapshot.faults, unattached: unattachedOf(snapshot) };
  }

  /**
   * Instances with managed entries that are no longer declared: their entries stay on the WAF. Excludes instances that an invalid
   * file may declare, and instances that another one continues.
   */
  async orphaned(): Promise<readonly ObjectName[]> {
    const { declared: objects, faults } = this.#source.snapshot();
    const metas = objects.WafInstance.map(({ meta }) => meta);
    const continued = metas.map(continuesOf).flatMap((one) => (one.state === "Named" ? [nameKey(one.former)] : []));
    const declared = new Set([...metas.map(nameKey), ...continued]);
    const mayBeDeclared = (name: ObjectName): boolean => faults.some((fault) => blocksRemovalsOf(fault, name));
    return (await this.#recorded()).filter((name) => !declared.has(nameKey(name)) && !mayBeDeclared(name));
  }

  async #recorded(): Promise<readonly ObjectName[]> {
    const found = await this.#store.files.list("Inventory");
    return found.ok ? found.value : [];
  }

  /** Whether earlier runs have left the inventory of any instance. */
  async hasRecord(): Promise<boolean> {
    return (await this.#recorded()).length > 0;
  }

  /** Brings the metrics of the files and objects up to date, for a process that holds the state directory. */
  measureObjects(metrics: Metrics): void {
    const snapshot = this.#source.snapshot();
    const isSynced = !snapshot.faults.some(isError);
    metrics.leading("folder", true);
    metrics.watches(() => [{ plural: "files", isSynced, relists: 0 }]);
    const unattached = new Set(unattachedOf(snapshot).map(({ declared: { meta } }) => meta));
    const byKind = Map.groupBy(unattached, ({ kind }) => `${kind} InstanceNotFound` as const);
    metrics.unattached(new Map([...byKind].map(([key, metas]) => [key, metas.length])));
    const isNotReady = (meta: ResourceMeta): boolean => !unattached.has(meta) && saysNotReady(this.readStatus(meta));
    for (const kind of notReadyKinds)
      metrics.notReady(kind, snapshot.declared[kind].filter(({ meta }) => isNotReady(meta)).length);
  }

  readStatus(...[meta]: Parameters<StatusPort["read"]>): ReturnType<StatusPort["read"]> {
    return this.#store.status.read(meta);
  }

  /** File and line of the entry that a status identifies by `source`: `rules.yaml:12`. */
  placeOf(meta: ResourceMeta, source: string): string {
    return placeOfSource(this.#source.snapshot(), meta, source);
  }

  /** Why statuses or events could not be written, one sentence each. Nothing else depends on them. */
  problems(): readonly string[] {
    return this.#store.problems;
  }

  /** The problems of each feed, in one or more sentences. */
  feedProblems(): readonly string[] {
    return this.#work.feeds?.problems() ?? [];
  }

  /** Plans every instance, without writing anything. */
  async preview(): Promise<readonly Preview[]> {
    await this.#fetchFeeds();
    const instances = this.#source.instances();
    const previews = await Promise.all(instances.map(async (name) => await this.#previewInstance(name)));
    return previews.filter((item) => item !== undefined);
  }

  /**
   * Brings all instances to their declared state, concurrently, and stops retrying an instance after several failed runs. Watches
   * the files during this time, so that an urgent rule does not wait for a long list. @param only the instances, if not all
   */
  async applyOnce(
    onFiles: () => Promise<void>,
    only: readonly ObjectName[] = this.#source.instances(),
  ): Promise<readonly InstanceResult[]> {
    const applied = new AbortController();
    let notified = Promise.resolve();
    const stop = AbortSignal.any([applied.signal, this.#options.stopping.stop]);
    const watching = this.#source.watch(() => {
      this.#pace();
      notified = notified.then(onFiles);
    }, stop);
    try {
      await this.#fetchFeeds();
      await this.#store.seen.take(only);
      const results = await Promise.all(only.map(async (name) => await this.#runUntilApplied(name)));
      await this.#store.seen.putBack();
      await this.#forgetGone();
      return results;
    } finally {
      applied.abort();
      await watching;
      await notified;
    }
  }

  /** Keeps every instance in its declared state and follows changes of the files, until the process stops. */
  async follow(onFiles: () => void, onOutcome: (result: InstanceResult) => void): Promise<void> {
    const { stop } = this.#options.stopping;
    const { seen } = this.#store;
    this.#onOutcome = onOutcome;
    await seen.take(this.#source.instances());
    const forgetGone = (): void =>
      void (this.#forgetting = this.#forgetting.then(async () => await this.#forgetGone()));
    forgetGone();
    await this.#source.watch(() => {
      this.#pace();
      onFiles();
      forgetGone();
      this.#work.feeds?.wake();
      this.#wakeAll("files changed");
    }, stop);
    await this.#work.run(stop, () => this.#source.instances());
    await seen.putBack();
  }

  /** Closes everything, the lock last. */
  async close(): Promise<void> {
    await this.#source.close();
    await this.#forgetting;
    await this.#work.wafClients.close();
    await this.#store.status.flush();
    await this.#store.history?.flush();
    await this.#store.state.release();
  }

  #place(): Place {
    const source = this.#source;
    const { inventory, history, records, seen } = this.#store;
    const { redactor, onEvent, observer, isDryRun, stopping } = this.#options;
    const status = reportedStatus({ status: this.#store.status, redactor, onEvent });
    return {
      inventory,
      history,
      records,
      // There is no finalizer, because a deleted file is gone immediately.
      lifecycle: { ensureFinalizer: async () => undefined, removeFinalizer: async () => undefined },
      declared: {
        gather: async (name) => await source.gather(name),
        confirm: async (name, how) => await source.confirm(name, how),
        isSettled: () => source.isSettled(),
        version: () => source.version() + (this.#work.feeds?.version() ?? 0),
      },
      feeds: {
        records,
        readSecret: async (namespace, ref) => secretIn(source.snapshot(), namespace, ref),
        // The author of the files owns all of them, and a plan shows every feed.
        feeds: () => ({ used: source.snapshot().declared.WafFeed, unused: [] }),
      },
      status,
      startRun: (instance) => ({
        status,
        observer,
        logObserver: {},
        onOutcome: (outcome) => this.#onOutcome({ instance, outcome }),
      }),
      memoryOf: (instance) => seen.memoryOf(instance),
      // Looked at before each call: another process that has the state directory now must not find this one at work.
      mayCall: () => {
        const lost = this.lost();
        return lost === undefined ? { permitted: true } : { permitted: false, reason: lost };
      },
      mayWrite: () => {
        if (isDryRun) return { permitted: false, reason: "A dry run writes nothing." };
        return stopping.stop.aborted ? { permitted: false, reason: "wafsync is stopping." } : { permitted: true };
      },
      hidesCause: false,
      readsLogs: (instance) =>
        source.snapshot().declared.WafAutoBlock.some((block) => nameKey(block.instance) === nameKey(instance)),
      outputOf: undefined,
      metrics: this.#options.metrics,
      onFeedsChanged: () => this.#wakeAll("feeds changed"),
    };
  }

  #wakeAll(reason: string): void {
    for (const instance of this.#source.instances()) this.#work.wake(instance, reason);
  }

  /** The modules are loaded with the first declared feed, because most directories have none. */
  async #fetchFeeds(): Promise<void> {
    if (this.#source.snapshot().declared.WafFeed.length === 0) return;
    await (await this.#work.openFeeds()).once(this.#options.stopping.stop);
  }

  /** Applies changed request intervals: with a shorter one, a waiting call starts earlier. */
  #pace(): void {
    for (const instance of this.#source.snapshot().declared.WafInstance) this.#work.wafClients.pace(instance);
  }

  /**
   * Recreating an object with the same name starts from scratch. An unreadable file is not a deletion, and a missing object may
   * only be in the middle of a replacement.
   */
  async #forgetGone(): Promise<void> {
    const { status, files, onProblem } = this.#store;
    if ((await status.others(metasIn(this.#source.snapshot()))).length === 0) return;
    if (!(await this.#source.settle(this.#options.stopping.stop))) return;
    const snapshot = this.#source.snapshot();
    if (snapshot.faults.some(isError)) return;
    for (const instance of this.#work.known())
      if (snapshot.find("WafInstance", instance) === undefined) this.#work.forget(instance);
    const feeds = await files.list("Feed");
    if (!feeds.ok) onProblem(feeds.problem);
    for (const feed of feeds.ok ? feeds.value : []) {
      const isGone = snapshot.find("WafFeed", feed) === undefined;
      const problem = isGone ? await files.remove({ type: "Feed", ...feed }) : undefined;
      if (problem !== undefined) onProblem(problem);
    }
    // Last, because existing statuses indicate that there is something to remove.
    await status.keepOnly(metasIn(snapshot));
  }

  #ports(): ReconcilePorts {
    const { observer, review } = this.#options;
    return { ...this.#work.ports, observer, review };
  }

  async #previewInstance(name: ObjectName): Promise<Preview | undefined> {
    const { seen } = this.#store;
    await seen.take([name]);
    const memory = seen.memoryOf(name);
    const ports = this.#ports();
    const facts = await previewInstance(name, ports, memory);
    if (facts === undefined) return undefined;
    const pendingClears = memory.hooks?.atEnd(ports.status, facts).pending ?? [];
    await reportFacts(ports, memory, facts);
    return { facts, pendingClears: facts.result?.kind === "Done" ? pendingClears : [] };
  }

  /** Retries transient failures, and waits for pending cache clears. @returns the outcome of the last run */
  async #runUntilApplied(instance: ObjectName): Promise<InstanceResult> {
    const { clock, observer, stopping } = this.#options;
    const { seen } = this.#store;
    const memory = seen.memoryOf(instance);
    for (let failures = 0, clearRuns = 0; ;) {
      const outcome = await reconcileInstance(instance, this.#ports(), memory);
      const { result, wakeAtMs, pendingClears } = outcome;
      const isForClears = result.kind === "Done" && pendingClears > 0;
      failures = hasFailedTransiently(outcome) ? failures + 1 : 0;
      clearRuns += isForClears ? 1 : 0;
      const runsAgain = isForClears ? clearRuns < clearRunsMax : failures > 0 && failures < failuresMax;
      if (!runsAgain || wakeAtMs === undefined) return { instance, outcome };
      const delayMs = Math.max(0, wakeAtMs - clock.nowMs());
      const why = isForClears
        ? `${counted(pendingClears, "cache clear is", "cache clears are")} pending`
        : `${result.kind === "Failed" ? result.fault.message : "the lists keep changing"} (attempt ${failures} of ${failuresMax})`;
      observer.waiting?.(instance, why, delayMs);
      await clock.sleep(delayMs, stopping.stop);
      if (stopping.stop.aborted) return { instance, outcome };
    }
  }
}

/** Whether the next run can succeed without a change. It can't after an invalid API key, for example. */
function hasFailedTransiently({ result }: ReconcileOutcome): boolean {
  if (result.kind === "Unsettled" || result.kind === "Outdated") return true;
  if (result.kind !== "Failed") return false;
  return !["BadApiKey", "NotFound", "ContractBroken", "TooLarge"].includes(result.fault.code);
}

function metasIn({ declared }: DirectorySnapshot): ResourceMeta[] {
  return Object.values(declared).flatMap((objects) => objects.map(({ meta }) => meta));
}

function secretIn(snapshot: DirectorySnapshot, namespace: string, { name, key }: SecretKeyRef): SecretValue {
  const secretName = nameKey({ namespace, name });
  const secret = snapshot.find("Secret", { namespace, name });
  if (secret === undefined) return { ok: false, problem: `Secret ${secretName} is not in the directory: add it.` };
  const value = secret.texts.get(key);
  return value === undefined
    ? { ok: false, problem: `Secret ${secretName} has no key ${key}: add it.` }
    : { ok: true, value };
}

// What is stored without a cluster: in the locked state directory, or, for a dry run, only in memory on top of the directory's content.

/** Further problems are not kept, because the first ones show the cause. */
const problemsMax = 10;

async function openStore(options: StandaloneOptions) {
  const { stateDirectory: path, clock, isDryRun, stopping, remote } = options;
  const onLost = (): void => stopping.begin("The state directory was lost.");
  const held = await remote?.hold(stopping.stop, onLost);
  if (held?.ok === false) return held;
  const opened = isDryRun
    ? { ok: true as const, state: viewStateDirectory(path, remote) }
    : await openStateDirectory({ ...options, path, onLost });
  if (!opened.ok) return opened;
  const { state } = opened;
  const problems: string[] = [];
  const onProblem = (problem: string): void => {
    if (problems.length < problemsMax && !problems.includes(problem)) problems.push(problem);
  };
  const files = new FileRecordStore(state);
  const records = isDryRun ? unsaved(files) : files;
  // A plan needs no history.
  const history = isDryRun ? undefined : new (await import("../history/history.ts")).History(records, clock, onProblem);
  return {
    ok: true as const,
    state,
    files,
    /** The same without the changes of a dry run. */
    records,
    inventory: createInventoryRecords(records),
    // The stored status says which cache clears have finished.
    status: new StatusFiles({ state, clock, onProblem }),
    seen: new SeenKeeper(records, onProblem),
    history,
    /** Why statuses, events and the like could not be written, one sentence each. */
    problems,
    onProblem,
  };
}

function unsaved(files: RecordStore): RecordStore {
  return {
    load: async (key) => await files.load(key),
    save: async (_key, _text, revision) => ({ state: "Saved", revision }),
    remove: async () => undefined,
    placeOf: (key) => files.placeOf(key),
  };
}
