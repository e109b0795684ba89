// The state of one reconcile run: its view, and the plan for this view. All new information goes through `see`, which plans again,
// so the plan always matches the view. `record` stores the inventory before the writes that depend on it.
import { inSlices } from "../../async/time-slices.ts";
import type { ConfirmOptions, Gathered } from "../../model/gathered.ts";
import type { Inventory } from "../../model/inventory.ts";
import type { Operation } from "../../model/operation.ts";
import type { ObjectName } from "../../model/resource.ts";
import type { DesiredState } from "../../plan/instance/desired.ts";
import { compileInSlices } from "../../plan/instance/desired.ts";
import type { Plan } from "../../plan/instance/plan.ts";
import { planInSlices } from "../../plan/instance/plan.ts";
import type { RunFacts } from "../facts.ts";
import type { ReconcilePorts, WafPort } from "../ports.ts";
import type { RunResult } from "../run-result.ts";
import { resultOfFault } from "../run-result.ts";
import { Afterwards } from "./afterwards.ts";
import { ClearSchedule } from "./clear-schedule.ts";
import { DomainCheck } from "./domain-check.ts";
import { emitRecorded } from "./emit-recorded.ts";
import { noteRefusal } from "./instance-memory.ts";
import type { InstanceMemory } from "./instance-memory.ts";
import { noteRefusals, noteSettled } from "./note-history.ts";
import { observeList, withListRead } from "./observe-waf.ts";
import { PlanPace } from "./plan-pace.ts";
import { ProgressReporter } from "./progress-reporter.ts";
import { factsOfRun, type RunEnd } from "./run-facts.ts";
import type { RunStart } from "./run-start.ts";
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
  readonly clears = new ClearSchedule();
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
  readonly unrecorded: number;
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
    this.unrecorded = stored.revision === "" ? countUnmanaged(view, plan.inventory) : 0;
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
    return yield* compileInSlices(gathered, nowMs, inventory.entries, this.ledger.shown(observed));
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
    const version = held?.restored === undefined ? Math.max(inventory.version, reportedVersion) + 1 : inventory.version;
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

  /** Returns the current facts of the run. */
  facts(phase: RunFacts["phase"], ended?: RunEnd): RunFacts {
    return factsOfRun(this, phase, ended);
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
