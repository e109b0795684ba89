// The state of one reconcile run: its view, and the plan for this view. All new information goes through `see`, which plans again,
// so the plan always matches the view. `record` stores the inventory before the writes that depend on it.
import type { Clock } from "../../async/clock.ts";
import { inSlices } from "../../async/time-slices.ts";
import type { ConfirmOptions, Gathered } from "../../model/gathered.ts";
import type { Inventory } from "../../model/inventory.ts";
import type { Operation } from "../../model/operation.ts";
import type { ObjectName } from "../../model/resource.ts";
import type { DesiredState } from "../../plan/instance/desired.ts";
import { compileInSlices } from "../../plan/instance/desired.ts";
import type { Plan } from "../../plan/instance/plan.ts";
import { planInSlices } from "../../plan/instance/plan.ts";
import { summarizeLists } from "../../plan/instance/progress.ts";
import type { RunFacts } from "../facts.ts";
import { paceOf } from "../facts.ts";
import type { ReconcilePorts, WafPort } from "../ports.ts";
import type { RunResult } from "../run-result.ts";
import { resultOfFault } from "../run-result.ts";
import { noteRefusal } from "./instance-memory.ts";
import type { InstanceMemory } from "./instance-memory.ts";
import { Afterwards, emitRecorded, noteRefusals, noteSettled } from "./note-history.ts";
import { DomainCheck, observeList, withListRead } from "./observe-waf.ts";
import { ProgressReporter } from "./progress-reporter.ts";
import type { View } from "./view.ts";
import { countUnmanaged, isSameWaf, orphansEntries, showsSame, wantsRemoval } from "./view.ts";
import { WriteLedger, isRemoval } from "./write-ledger.ts";

/** A confirmation of the declared state expires after this long. */
const confirmedForMs = 30_000;
/** How often a run waits for changing objects before it starts again. */
const settleRoundsMax = 1_000;
/** How often the plan for a recorded inventory may require another one. */
const recordsMax = 10;

/** New information, from which the run compiles the desired state. */
type Learned = Partial<Omit<View, "desired">>;

export class Run {
  readonly name: ObjectName;
  readonly ports: ReconcilePorts;
  readonly memory: InstanceMemory;
  readonly waf: WafPort;
  readonly ledger: WriteLedger;
  readonly domain: DomainCheck;
  readonly afterwards = new Afterwards();
  readonly progress: ProgressReporter;
  /** By the monotonic clock. */
  readonly beganMs: number;
  readonly #followsSource: boolean;
  readonly #pace: PlanPace;
  #view: View;
  #plan: Plan;
  /** The index of the plan's next operation. */
  #next = 0;
  #stored: Inventory;
  #revision: string;
  /** See `countUnmanaged`. */
  readonly #unrecorded: number;
  /** When (monotonic) a fresh read last confirmed the declared state; undefined after a change. */
  #confirmedMs: number | undefined;
  /** Whether the view is from a fresh read and not from a cache. */
  #isRead = false;

  /** Plans from the view, and creates the run. */
  static async begin(start: RunStart): Promise<Run> {
    const { ports, memory, view, startedMs } = start;
    const planning = planInSlices({ ...view, olderRefusals: memory.olderRefusals, nowMs: startedMs });
    return new Run(start, await inSlices(ports.clock, planning));
  }

  private constructor(start: RunStart, plan: Plan) {
    const { name, ports, memory, waf, startedMs, beganMs, view, stored, followsSource } = start;
    this.name = name;
    this.ports = ports;
    this.memory = memory;
    this.waf = waf;
    this.ledger = new WriteLedger((refusal) => noteRefusal(memory, refusal, ports.clock.nowMs(), startedMs));
    this.domain = new DomainCheck(waf);
    this.progress = new ProgressReporter(ports, memory, beganMs);
    this.beganMs = beganMs;
    this.#followsSource = followsSource;
    this.#pace = new PlanPace(ports.clock);
    this.#view = view;
    this.#stored = stored.inventory;
    this.#revision = stored.revision;
    this.#plan = plan;
    this.#unrecorded = stored.revision === "" ? countUnmanaged(view, plan.inventory) : 0;
  }

  get view(): View {
    return this.#view;
  }

  get plan(): Plan {
    return this.#plan;
  }

  /** The plan's next operation; undefined if none is left. */
  get operation(): Operation | undefined {
    return this.#plan.operations[this.#next];
  }

  /** The number of remaining operations of the plan. */
  get left(): number {
    return this.#plan.operations.length - this.#next;
  }

  /** Moves on to the next operation. */
  advance(): void {
    this.#next += 1;
  }

  /** Updates the view and plans again. Refused writes are not sent again before the next read of their list. */
  async see(learned: Learned): Promise<void> {
    await inSlices(this.ports.clock, this.#seeInSlices(learned));
  }

  *#seeInSlices(learned: Learned): Generator<undefined, void> {
    const nowMs = this.ports.clock.nowMs();
    const desired = yield* this.#compileInSlices(learned, nowMs);
    const view = { ...this.#view, ...learned, desired };
    const observed = this.ledger.shown(view.observed);
    const { olderRefusals } = this.memory;
    const countsRemovals = this.#confirmedMs !== undefined;
    const plan = yield* planInSlices({ ...view, observed, olderRefusals, countsRemovals, nowMs });
    const operations = plan.operations.filter((operation) => !this.ledger.awaitsRead(operation));
    this.#view = view;
    this.#plan = operations.length === plan.operations.length ? plan : { ...plan, operations };
    this.#next = 0;
  }

  *#compileInSlices(learned: Learned, nowMs: number): Generator<undefined, DesiredState> {
    const { desired, gathered, inventory, observed } = { ...this.#view, ...learned };
    if (learned.gathered === undefined && !desired.dependsOnManaged) return desired;
    return yield* compileInSlices(gathered, nowMs, inventory, this.ledger.shown(observed));
  }

  /** True if the declared state may be newer than the view, or a rule has expired since. */
  isOutdated(): boolean {
    const { nextExpiryMs } = this.#view.desired;
    if (nextExpiryMs !== undefined && nextExpiryMs <= this.ports.clock.nowMs()) return true;
    return this.ports.source.version(this.name) !== this.#view.version;
  }

  /** Whether the next operation must wait for a plan of the newer declared state. Additions continue during the pause between plans. */
  needsRefresh(): boolean {
    const { operation } = this;
    const maySend = operation !== undefined && !isRemoval(operation) && this.#pace.isResting;
    return !maySend && this.isOutdated();
  }

  /** Gathers again and plans again. */
  async refresh(): Promise<RunResult | undefined> {
    const version = this.ports.source.version(this.name);
    const gathered = await this.ports.source.gather(this.name);
    if (!this.#followsSource) {
      this.#view = { ...this.#view, version };
      return gathered === undefined || wantsRemoval(gathered) ? undefined : { kind: "Outdated" };
    }
    const ended = this.#endedBy(gathered);
    if (ended !== undefined || gathered === undefined) return ended;
    this.#confirmedMs = undefined;
    this.#isRead = false;
    await this.#pace.inSlices(this.#seeInSlices({ version, gathered }));
    return undefined;
  }

  /**
   * True if this run has read the declared state from its source, the cache of this process has caught up with such a read, or
   * the declared state no longer matters.
   */
  get isFresh(): boolean {
    return this.#isRead || this.memory.hasCaughtUp || !this.#followsSource;
  }

  /** Whether the declared state is fresh enough: a removal needs a recent read, other writes a read since the process started. */
  isConfirmedFor(operation: Operation): boolean {
    if (!isRemoval(operation)) return this.isFresh;
    return this.#confirmedMs !== undefined && this.ports.clock.monotonicMs() - this.#confirmedMs < confirmedForMs;
  }

  /**
   * True if the plan needs a fresh read first: it would be the first write of this process, or a stale cache may lack the rule or
   * origin that retains an entry that the plan drops.
   */
  needsConfirmation(): boolean {
    if ((this.isUnrecorded || this.#plan.operations.length > 0) && !this.isFresh) return true;
    return orphansEntries(this.#view, this.#plan);
  }

  /** Entries that the plan drops may belong to a rule that is being replaced: waits until the replacement is complete. */
  async #settleOrphans(): Promise<RunResult | undefined> {
    for (let round = 0; this.isUnsettled && orphansEntries(this.#view, this.#plan); round += 1) {
      if (this.ports.stopping.aborted) return { kind: "Interrupted" };
      if (round >= settleRoundsMax) return { kind: "Outdated" };
      const ended = this.isOutdated() ? await this.refresh() : await this.confirm({ beforeRemovals: true });
      if (ended !== undefined) return ended;
    }
    return undefined;
  }

  /** True while missing objects may only be in the middle of a replacement. */
  get isUnsettled(): boolean {
    return this.#followsSource && this.#confirmedMs === undefined && this.ports.source.isSettled?.() === false;
  }

  /** Reads the declared state from its source. If this fails, no removal is planned, and a new process writes nothing. */
  async confirm(options: ConfirmOptions = {}): Promise<RunResult | undefined> {
    if (!this.#followsSource) {
      this.#confirmedMs = this.ports.clock.monotonicMs();
      return undefined;
    }
    const confirmed = await this.ports.source.confirm(this.name, { ...options, signal: this.ports.stopping });
    this.#confirmedMs = "isUnsettled" in confirmed ? undefined : this.ports.clock.monotonicMs();
    let { gathered } = this.#view;
    if (confirmed.state === "Read") {
      const ended = this.#endedBy(confirmed.gathered);
      if (ended !== undefined || confirmed.gathered === undefined) return ended;
      this.memory.hasCaughtUp ||= !this.#isRead && showsSame(gathered, confirmed.gathered);
      gathered = confirmed.gathered;
      this.#isRead = true;
    } else if (!this.isFresh) {
      const message = `wafsync writes nothing until it has confirmed the declared objects with a fresh read. ${confirmed.problem}`;
      return { kind: "Blocked", blocker: "Unconfirmed", message };
    } else {
      gathered = { ...gathered, unconfirmed: confirmed.problem };
    }
    await this.#pace.inSlices(this.#seeInSlices({ gathered }));
    return undefined;
  }

  /** Reads the lists that were written to since their last read, plans again, and records the result. */
  async readAgain(): Promise<RunResult | undefined> {
    for (const list of this.ledger.unread) {
      const atMs = this.ports.clock.nowMs();
      const { desired, observed: last } = this.#view;
      const read = await observeList(this.waf, list, { desired, last }, { signal: this.ports.abandon });
      if (!read.ok) return resultOfFault(read.fault);
      const view = { ...this.#view, observed: withListRead(this.#view.observed, list, read.value, atMs) };
      noteSettled(this.ports, this.name, this.ledger.takeSettled(list, read.value), view);
      const inventory = this.ledger.listRead(list, read.value, view, this.ports.clock.nowMs());
      noteRefusals(this.ports, this.name, view.inventory, inventory);
      this.#view = { ...view, inventory };
    }
    await this.see({});
    return this.record();
  }

  /** Stores the inventory of the plan before any of its operations is performed, and plans again, because it is an input of the plan. */
  async record(): Promise<RunResult | undefined> {
    for (let round = 0; this.isUnrecorded; round += 1) {
      const ended = round < recordsMax ? await this.#save() : ({ kind: "Unsettled" } as const);
      if (ended !== undefined) return ended;
      await this.see({});
    }
    return undefined;
  }

  /** Whether the plan requires another inventory than the stored one. */
  get isUnrecorded(): boolean {
    return this.#plan.inventoryChanged || this.#view.inventory !== this.#stored;
  }

  async #save(): Promise<RunResult | undefined> {
    const ended =
      (await this.#settleOrphans()) ??
      (this.#followsFromLists()
        ? await this.domain.ensure(this.#view.observed, { signal: this.ports.abandon })
        : undefined);
    if (ended !== undefined) return ended;
    const { inventory: before, observed, reportedVersion } = this.#view;
    const { inventory, held } = this.#plan;
    // A restored inventory stays recognizable until it is accepted.
    const version =
      held?.obstacle?.kind !== "Restored" ? Math.max(inventory.version, reportedVersion) + 1 : inventory.version;
    const next = { ...inventory, version };
    const saved = await this.ports.inventory.save(this.name, next, this.#revision);
    if (saved.state === "Conflict") return { kind: "Blocked", blocker: "InventoryConflict", message: saved.problem };
    if (saved.state === "Failed") return { kind: "Blocked", blocker: "InventoryUnwritable", message: saved.problem };
    emitRecorded(this.ports, this.memory, this.#view, this.#plan, next.approvals > this.#stored.approvals);
    const { adoptions } = this.#plan;
    this.ledger.recorded(before, next, observed, adoptions.length);
    this.#stored = next;
    this.#revision = saved.revision;
    this.#view = { ...this.#view, inventory: next };
    return undefined;
  }

  /** Returns the current facts of the run, for its reports. */
  facts(
    phase: RunFacts["phase"],
    ended?: { readonly result: RunResult; readonly retryAtMs?: number | undefined },
  ): RunFacts {
    const { plan, left, ledger, ports, view } = this;
    const { gathered, desired, inventory, drift } = view;
    const observed = ledger.shown(view.observed);
    const remaining = plan.operations.slice(this.#next);
    return {
      gathered,
      desired,
      phase,
      result: ended?.result,
      observed,
      plan,
      lists:
        this.#next === 0
          ? plan.lists
          : summarizeLists(observed, inventory, remaining, {
              held: plan.held,
              overflowOn: (list) => plan.lists[list].overflow,
            }),
      inventory,
      done: ledger.done,
      changes: ledger.changes(),
      unrecorded: this.#unrecorded,
      drift,
      pace: paceOf(ledger.done, left, ports.clock.monotonicMs() - this.beganMs),
      waiting: this.progress.waiting,
      nowMs: ports.clock.nowMs(),
      retryAtMs: ended?.retryAtMs,
    };
  }

  /** `Gone` if the instance no longer exists, `Outdated` if the run has to start again. */
  #endedBy(gathered: Gathered | undefined): RunResult | undefined {
    if (gathered === undefined) return { kind: "Gone" };
    return isSameWaf(gathered, this.#view.gathered) ? undefined : { kind: "Outdated" };
  }

  /** False if only the owners of entries changed. */
  #followsFromLists(): boolean {
    return this.#view.inventory !== this.#stored || !this.#plan.onlyOwnersChanged;
  }
}

/** What a run starts with. */
export interface RunStart {
  readonly name: ObjectName;
  readonly ports: ReconcilePorts;
  readonly memory: InstanceMemory;
  readonly waf: WafPort;
  /** By the wall clock. */
  readonly startedMs: number;
  /** The same moment by the monotonic clock. */
  readonly beganMs: number;
  readonly view: View;
  /** The stored inventory. Differences in the view's inventory have yet to be recorded. */
  readonly stored: { readonly inventory: Inventory; readonly revision: string };
  /** False for an instance that is being deleted, because further declarations no longer matter. */
  readonly followsSource: boolean;
}

// Pauses between two plans: while changes never stop, calls continue in between. Otherwise, a guest who changes objects all the
// time could delay the owner's next call indefinitely.

/** After a plan, no other plan is made for this many times its duration, so that planning takes at most a quarter of the time. */
const pausePerWork = 3;
/** The longest that an urgent address waits for the next plan. */
const pauseMsMax = 250;

/** Limits how often a run plans again. */
export class PlanPace {
  readonly #clock: Pick<Clock, "monotonicMs" | "sleep">;
  #restsUntilMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Pick<Clock, "monotonicMs" | "sleep">) {
    this.#clock = clock;
  }

  /** Whether another plan would follow the last one too soon. */
  get isResting(): boolean {
    return this.#clock.monotonicMs() < this.#restsUntilMs;
  }

  /** Plans in slices, and then starts the pause. The time of other work in between does not count. */
  async inSlices<T>(work: Generator<undefined, T>): Promise<T> {
    const timed = this.#timed(work);
    const { result, tookMs } = await inSlices(this.#clock, timed);
    this.#restsUntilMs = this.#clock.monotonicMs() + Math.min(tookMs * pausePerWork, pauseMsMax);
    return result;
  }

  /** Does the same work, and adds up the time of its slices. */
  *#timed<T>(work: Generator<undefined, T>): Generator<undefined, { readonly result: T; readonly tookMs: number }> {
    for (let tookMs = 0; ;) {
      const beganMs = this.#clock.monotonicMs();
      const slice = work.next();
      tookMs += this.#clock.monotonicMs() - beganMs;
      if (slice.done === true) return { result: slice.value, tookMs };
      yield;
    }
  }
}
