// The environment of a reconcile run, in memory and in virtual time: declared state, inventory, WAF, status. Tests can change
// it, and execute runs in it as the process does, including crashes and restarts. Every status that is written in a test is judged.
import { CacheClears } from "../../../src/clears/clears.ts";
import { afterEach } from "@jest/globals";
import type { Gathered } from "../../../src/model/gathered.ts";
import { eventsOf, type HistoryEvent } from "../../../src/history/events.ts";
import type { Inventory } from "../../../src/model/inventory.ts";
import { nameKey, type ResourceMeta } from "../../../src/model/resource.ts";
import { type ReconcileOutcome, InstanceMemory } from "../../../src/run/report.ts";
import { previewInstance, reconcileInstance } from "../../../src/run/run.ts";
import type { RunFacts } from "../../../src/run/facts.ts";
import type { ReconcilePorts } from "../../../src/run/ports.ts";
import { seededRandom } from "../builders/seeded-random.ts";
import { createVirtualClock, type VirtualClock } from "../fakes/virtual-clock.ts";
import { instanceName } from "../builders/declare.ts";
import { gathered } from "../builders/gathered.ts";
import { isCrash } from "../fakes/crash.ts";
import { FakeWaf, type FakeWafOptions, type WafCallName } from "../fakes/fake-waf.ts";
import { MemoryInventory } from "../fakes/memory-inventory.ts";
import { MemoryLifecycle } from "../fakes/memory-lifecycle.ts";
import { RecordedStatus } from "../fakes/recorded-status.ts";
import { ScriptedSource } from "../fakes/scripted-source.ts";

const passTimeMsMax = 24 * 3_600_000;

export interface ConvergeWorldOptions extends Partial<Omit<FakeWafOptions, "clock">> {
  readonly declared?: Partial<Gathered>;
}

/** The statuses in all worlds of the running test. */
const statuses: RecordedStatus[] = [];

afterEach(() => {
  const faults = statuses.splice(0).flatMap((status) => status.faults);
  if (faults.length > 0) throw new Error(faults.join("\n"));
});

/** A world after a first run with this declared state. */
export async function converged(declared: Partial<Gathered> = {}): Promise<ConvergeWorld> {
  const world = new ConvergeWorld({ declared });
  await world.pass();
  return world;
}

export class ConvergeWorld {
  readonly clock: VirtualClock = createVirtualClock();
  readonly source = new ScriptedSource();
  readonly inventory = new MemoryInventory();
  readonly lifecycle = new MemoryLifecycle();
  /** The reasons why runs waited. */
  readonly waits: string[] = [];
  readonly status = new RecordedStatus();
  /** The history entries of all runs. */
  readonly history: HistoryEvent[] = [];
  /** The histories that instances continue, as reported by runs. */
  readonly continued: string[] = [];
  readonly waf: FakeWaf;
  /** In chronological order, `saved` for each save of the inventory, and the call for each write to the WAF. */
  readonly journal: string[] = [];
  readonly #random = seededRandom(1);
  #memory = new InstanceMemory();
  #stopping = new AbortController();
  #abandon = new AbortController();
  baseUrlObjection: string | undefined;
  /** Whether other instances wait for the worker. */
  isTurnOver: NonNullable<ReconcilePorts["isTurnOver"]> = () => false;

  constructor(options: ConvergeWorldOptions = {}) {
    const { declared, ...waf } = options;
    this.waf = new FakeWaf({ clock: this.clock, ...waf });
    statuses.push(this.status);
    this.source.declare(gathered(declared));
    this.inventory.onSaved = () => void this.journal.push("saved");
    this.onCall(() => undefined);
  }

  /** Called before each call to the WAF takes effect. */
  onCall(look: NonNullable<FakeWaf["onCall"]>): void {
    this.waf.onCall = (call) => {
      this.journal.push([call.name, call.list, call.text].filter(Boolean).join(" "));
      look(call);
    };
  }

  /** Acts once, before the nth call with this name takes effect. */
  at(name: WafCallName, nth: number, act: () => void): void {
    this.onCall((call) => {
      if (call.name === name && this.waf.count(name) === nth) act();
    });
  }

  get instance(): ResourceMeta {
    return this.declared().instance.meta;
  }

  /** The current declared state. */
  declared(): Gathered {
    const found = this.source.declared(instanceName);
    if (found === undefined) throw new Error("No instance is declared");
    return found;
  }

  declare(change: Partial<Gathered>): void {
    this.source.change((before) => ({ ...before, ...change }));
  }

  /** The stored managed entries. */
  owned(): Inventory {
    return this.inventory.of(instanceName);
  }

  /** The plan of a run, without applying it. */
  async preview(): Promise<RunFacts | undefined> {
    const previewed = previewInstance(instanceName, this.#ports(), new InstanceMemory());
    let over = false;
    void previewed.finally(() => (over = true));
    await this.clock.advanceUntil(() => over, passTimeMsMax);
    return await previewed;
  }

  /** Executes one run to its end, after this change of the declared state. Advances the clock through the run's waits. */
  async pass(change?: Partial<Gathered>): Promise<ReconcileOutcome> {
    if (change !== undefined) this.declare(change);
    const { promise, isOver } = this.begin();
    await this.clock.advanceUntil(isOver, passTimeMsMax);
    return await promise;
  }

  async passAfter(delayMs: number): Promise<ReconcileOutcome> {
    await this.clock.advance(delayMs);
    return await this.pass();
  }

  /** The second read of the lists, after which removed entries are deleted from the record. */
  async lookAgain(): Promise<ReconcileOutcome> {
    return await this.passAfter(this.declared().instance.consistencyWindowMs);
  }

  /** Starts a run, for tests that observe it while it is in progress. */
  begin(): { readonly promise: Promise<ReconcileOutcome>; readonly isOver: () => boolean } {
    let over = false;
    const end = (): void => void (over = true);
    const promise = reconcileInstance(instanceName, this.#ports(), this.#memory);
    promise.then(end, end);
    return { promise, isOver: () => over };
  }

  /** Executes one run that may be killed: then it returns undefined, and the memory of the process is lost. */
  async passOrCrash(): Promise<ReconcileOutcome | undefined> {
    try {
      return await this.pass();
    } catch (error) {
      if (!isCrash(error)) throw error;
      this.restart();
      return undefined;
    }
  }

  /** Executes runs at the requested times until one is done; throws after too many runs. */
  async passesUntilDone(passesMax = 20): Promise<ReconcileOutcome[]> {
    const outcomes: ReconcileOutcome[] = [];
    for (let count = 0; count < passesMax; count += 1) {
      const outcome = await this.passOrCrash();
      if (outcome === undefined) continue;
      outcomes.push(outcome);
      if (outcome.result.kind === "Done") return outcomes;
      await this.sleepUntil(outcome.wakeAtMs);
    }
    throw new Error(`Not done after ${passesMax} runs: ${JSON.stringify(outcomes.at(-1)?.result)}`);
  }

  /** Executes runs at the requested times until the instance is released; throws after too many runs. */
  async passesUntilGone(passesMax = 10): Promise<void> {
    for (let count = 0; count < passesMax; count += 1) {
      const { result, wakeAtMs } = await this.pass();
      if (result.kind === "Gone") return;
      await this.sleepUntil(wakeAtMs);
    }
    throw new Error(`Not released after ${passesMax} runs`);
  }

  async sleepUntil(wakeAtMs: number | undefined): Promise<void> {
    if (wakeAtMs !== undefined) await this.clock.advance(Math.max(0, wakeAtMs - this.clock.nowMs()));
  }

  /** Asks the process to end: it starts no new call. */
  stop(): void {
    this.#stopping.abort();
  }

  /** The process ends without waiting for the running call. */
  abandon(): void {
    this.#stopping.abort();
    this.#abandon.abort();
  }

  /** The number of cache clears after an hour, with one run before a restart and one after it. */
  async clearsAnHourLater(): Promise<number> {
    await this.clock.advance(3_600_000);
    await this.pass();
    this.restart();
    await this.pass();
    return this.waf.cacheClears;
  }

  /** Starts a new process, which knows only the stored data. */
  restart(): void {
    this.#memory = new InstanceMemory();
    this.#stopping = new AbortController();
    this.#abandon = new AbortController();
  }

  #ports(): ReconcilePorts {
    return {
      baseUrlObjection: () => this.baseUrlObjection,
      isTurnOver: (turn) => this.isTurnOver(turn),
      source: this.source,
      inventory: this.inventory,
      history: {
        happened: (...args) => eventsOf(...args).forEach((event) => this.history.push(event)),
        continues: (instance, former) => void this.continued.push(`${nameKey(former)} by ${nameKey(instance)}`),
      },
      lifecycle: this.lifecycle,
      openWaf: (_instance, key) => this.waf.port(key),
      newHooks: () => new CacheClears(),
      status: this.status,
      clock: this.clock,
      random: this.#random,
      observer: { waiting: (_instance, why) => void this.waits.push(why) },
      stopping: this.#stopping.signal,
      abandon: this.#abandon.signal,
    };
  }
}
