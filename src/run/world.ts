// What one reconcile run knows: what is declared, the record, what the WAF shows, and the plan for all of these. Whatever a run learns
// goes through `learn`, which plans again, so the plan always matches the rest. The run itself is in run.ts.
import { inSlices } from "../async/time-slices.ts";
import type { ListName } from "../model/declared.ts";
import type { ConfirmOptions, Gathered } from "../model/gathered.ts";
import { emptyInventory, type Inventory } from "../model/inventory.ts";
import { observeSpellings } from "../model/observe-spellings.ts";
import type { Observed, ObservedEntries } from "../model/observed.ts";
import type { Operation } from "../model/operation.ts";
import type { ObjectName } from "../model/resource.ts";
import type { WafResult } from "../model/waf-result.ts";
import { admitInstance } from "../decide/admit-instance.ts";
import { compileInSlices, type DesiredState, nothingDesired } from "../decide/desired.ts";
import { decideDomain } from "../decide/domain.ts";
import { type DriftedEntry, findDrift } from "../decide/drift.ts";
import type { Plan } from "../decide/plan.ts";
import { planInSlices } from "../decide/plan.ts";
import { summarizeLists } from "../decide/progress.ts";
import { noteDisputes } from "../decide/disputes.ts";
import { paceOf, type RunFacts } from "./facts.ts";
import type { Happening, ReconcilePorts, WafPort } from "./ports.ts";
import { blocked, resultOfFault, type RunResult } from "./run-result.ts";
import { emitAdoptions } from "./status/emit-entry-changes.ts";
import { emitApproval, emitDomainMove, emitDrift } from "./status/emit-events.ts";
import { type InstanceMemory, noteRefusal } from "./instance-memory.ts";
import { PlanPace } from "./plan-pace.ts";
import { ProgressReporter } from "./progress-reporter.ts";
import type { Release } from "./release.ts";
import { OpeningReport } from "./report.ts";
import { attemptIn, countUnmanaged, isSameWaf, orphansEntries, showsSame, wantsRemoval } from "./view.ts";
import { isRemoval, WriteLedger } from "./write-ledger.ts";

/** A confirmation of the declared state expires after this long. */
const confirmedForMs = 30_000;
/** How often a run waits for changing objects before it starts again. */
const settleRoundsMax = 1_000;
/** How often the plan for a recorded inventory may require another one. */
const savesMax = 10;

/** New information, from which the plan is made again. */
interface Learned {
  readonly gathered?: Gathered;
  readonly inventory?: Inventory;
  readonly observed?: Observed;
}

export class World {
  readonly name: ObjectName;
  readonly ports: ReconcilePorts;
  readonly memory: InstanceMemory;
  readonly ledger: WriteLedger;
  readonly opening: OpeningReport;
  readonly progress: ProgressReporter;
  /** What a run counts for its limits: calls, writes in a row with an unknown outcome or a limited rate, and verifications. */
  readonly counted = { calls: 0, unknown: 0, rateLimited: 0, verifications: 0 };
  readonly startedMs: number;
  /** The same moment by the monotonic clock. */
  readonly beganMs: number;
  /** Set while a deleted instance is released: nothing is declared, and further declarations no longer matter. */
  release: Release | undefined;
  /** The version of the source that `gathered` was read at. */
  version: number;
  gathered: Gathered;
  #desired: DesiredState | undefined;
  #waf: WafPort | undefined;
  /** The WAF as last read. Later writes are in the ledger. */
  #observed: Observed | undefined;
  #inventory = emptyInventory;
  #plan: Plan | undefined;
  /** The index of the plan's next operation. */
  #next = 0;
  #stored = emptyInventory;
  #revision = "";
  /** The version of the inventory that the status of the instance describes. */
  #reportedVersion = 0;
  /** Changes by another writer before the run. */
  #drift: readonly DriftedEntry[] = [];
  /** See `countUnmanaged`. */
  #unrecorded = 0;
  readonly #pace: PlanPace;
  /** When (monotonic) a fresh read last confirmed the declared state; undefined after a change. */
  #confirmedMs: number | undefined;
  /** Whether `gathered` is from a fresh read and not from a cache. */
  #isRead = false;
  /** The lists that were verified to belong to the domain. */
  #verified: Observed["lists"] | undefined;

  constructor(name: ObjectName, ports: ReconcilePorts, memory: InstanceMemory, version: number, gathered: Gathered) {
    this.name = name;
    this.ports = ports;
    this.memory = memory;
    this.version = version;
    this.gathered = gathered;
    this.startedMs = ports.clock.nowMs();
    this.beganMs = ports.clock.monotonicMs();
    this.ledger = new WriteLedger((refusal, displaced) => {
      this.happened({ kind: "Refused", refusal });
      if (displaced !== undefined) noteRefusal(memory, displaced, ports.clock.nowMs(), this.startedMs);
    });
    this.opening = new OpeningReport(ports, memory);
    this.progress = new ProgressReporter(ports, memory, this.beganMs);
    this.#pace = new PlanPace(ports.clock);
    memory.hooks ??= ports.newHooks?.();
  }

  get desired(): DesiredState {
    return known(this.#desired);
  }

  get waf(): WafPort {
    return known(this.#waf);
  }

  get observed(): Observed {
    return known(this.#observed);
  }

  get inventory(): Inventory {
    return this.#inventory;
  }

  get plan(): Plan {
    return known(this.#plan);
  }

  /** Whether the WAF was read, so that there is a plan. */
  get isPlanned(): boolean {
    return this.#plan !== undefined;
  }

  /** The plan's next operation; undefined if none is left. */
  get operation(): Operation | undefined {
    return this.plan.operations[this.#next];
  }

  /** The number of remaining operations of the plan. */
  get left(): number {
    return this.plan.operations.length - this.#next;
  }

  /** Moves on to the next operation. */
  advance(): void {
    this.#next += 1;
  }

  /** Checks that the WAF may be called at all, and opens it. */
  admit(): RunResult | undefined {
    const { instance } = this.gathered;
    const admission = admitInstance(this.gathered, this.ports.baseUrlObjection);
    if (admission.kind === "Blocked") return admission;
    this.memory.key = { key: admission.key, baseUrl: instance.baseUrl, uid: instance.meta.uid };
    this.#waf = this.ports.openWaf(instance, admission.key);
    return undefined;
  }

  /** Loads the record, and makes sure that the instance can't disappear without its entries. */
  async load(): Promise<RunResult | undefined> {
    const { ports, memory, gathered } = this;
    const stored = await ports.inventory.load(this.name);
    if (stored.state === "Unreachable") return blocked("InventoryUnwritable", stored.problem);
    if (stored.state === "Unreadable") return blocked("InventoryUnreadable", stored.problem);
    this.#stored = stored.inventory;
    this.#inventory = stored.inventory;
    this.#revision = stored.revision;
    await this.#compile(stored.inventory, memory.lastObserved);
    const problem =
      this.release === undefined ? await ports.lifecycle.ensureFinalizer(gathered.instance.meta) : undefined;
    if (problem !== undefined) return blocked("InventoryUnwritable", problem);
    this.opening.begin(this.facts("Started"));
    return undefined;
  }

  /** Reads the WAF, makes sure that it is the right one, and makes the first plan. */
  async look(): Promise<RunResult | undefined> {
    const { ports, memory, gathered } = this;
    const { meta } = gathered.instance;
    const read = await this.#readWaf();
    await this.opening.begun();
    if (!read.ok) return resultOfFault(read.fault);
    const observed = read.value;
    const domain = decideDomain(gathered.instance, this.#stored, observed.domain, known(memory.key).key);
    if (domain.state === "Changed") return blocked("DomainChanged", domain.message);
    emitDomainMove(ports.status, memory.emitted, meta, domain.told);
    if (this.desired.dependsOnManaged) await this.#compile(domain.inventory, observed);
    // An inventory that was restored from a backup is older than the status. A missing one is not, and neither matters in a deletion.
    const reported = this.release === undefined ? ports.status.read(meta)?.["inventoryVersion"] : undefined;
    this.#reportedVersion = typeof reported === "number" ? reported : 0;
    const isMissing = this.#revision === "" && this.#reportedVersion > 0;
    const inventory = isMissing ? { ...domain.inventory, version: this.#reportedVersion } : domain.inventory;
    this.#drift = findDrift(this.desired, observed, memory.lastSeen);
    emitDrift(ports.status, meta, this.#drift);
    for (const drift of this.#drift) this.happened({ kind: "Drifted", drift });
    const disputes = noteDisputes(inventory.disputes, this.#drift, ports.clock.nowMs());
    this.#inventory = disputes === inventory.disputes ? inventory : { ...inventory, disputes };
    this.#observed = observed;
    await inSlices(ports.clock, this.#planInSlices(this.startedMs));
    if (this.#revision === "") this.#unrecorded = countUnmanaged(this.desired, observed, this.plan.inventory);
    ports.observer.planned?.(this.name, this.plan);
    return undefined;
  }

  /** Compiles what is declared. The record and the lists decide conflicts, and what is remembered. */
  async #compile(record: Inventory | undefined, observed: Observed | undefined): Promise<void> {
    const compiling = this.#compileInSlices(this.startedMs, record, observed);
    this.#desired = await inSlices(this.ports.clock, compiling);
    this.memory.record = this.desired.dependsOnManaged ? record : undefined;
  }

  *#compileInSlices(nowMs: number, record?: Inventory, observed?: Observed): Generator<undefined, DesiredState> {
    if (this.release !== undefined) return nothingDesired(this.gathered.instance, this.memory.books);
    return yield* compileInSlices(this.gathered, nowMs, record, observed, this.memory.books);
  }

  /** Plans again with new information. Refused writes are not sent again before the next read of their list. */
  async learn(learned: Learned): Promise<void> {
    await inSlices(this.ports.clock, this.#learnInSlices(learned));
  }

  *#learnInSlices({ gathered, inventory, observed }: Learned): Generator<undefined, void> {
    const nowMs = this.ports.clock.nowMs();
    this.gathered = gathered ?? this.gathered;
    this.#inventory = inventory ?? this.#inventory;
    this.#observed = observed ?? this.observed;
    if (gathered !== undefined || this.desired.dependsOnManaged) {
      this.#desired = yield* this.#compileInSlices(nowMs, this.#inventory, this.ledger.shown(this.#observed));
    }
    yield* this.#planInSlices(nowMs);
  }

  *#planInSlices(nowMs: number): Generator<undefined, void> {
    const { desired, inventory } = this;
    const plan = yield* planInSlices({
      desired,
      inventory,
      observed: this.ledger.shown(this.observed),
      reportedVersion: this.#reportedVersion,
      olderRefusals: this.memory.olderRefusals,
      countsRemovals: this.#confirmedMs !== undefined,
      nowMs,
    });
    const operations = plan.operations.filter((operation) => !this.ledger.awaitsRead(operation));
    this.#plan = operations.length === plan.operations.length ? plan : { ...plan, operations };
    this.#next = 0;
  }

  /** True if the declared state may be newer than what the run knows, or a rule has expired since. */
  get #isOutdated(): boolean {
    const { nextExpiryMs } = this.desired;
    if (nextExpiryMs !== undefined && nextExpiryMs <= this.ports.clock.nowMs()) return true;
    return this.ports.source.version(this.name) !== this.version;
  }

  /** Whether the next operation must wait for a plan of the newer declared state. Additions continue during the pause between plans. */
  get needsRefresh(): boolean {
    const { operation } = this;
    const maySend = operation !== undefined && !isRemoval(operation) && this.#pace.isResting;
    return !maySend && this.#isOutdated;
  }

  /** Gathers again and plans again. */
  async refresh(): Promise<RunResult | undefined> {
    const version = this.ports.source.version(this.name);
    const gathered = await this.ports.source.gather(this.name);
    if (this.release !== undefined) {
      this.version = version;
      return gathered === undefined || wantsRemoval(gathered) ? undefined : { kind: "Outdated" };
    }
    const ended = this.#endedBy(gathered);
    if (ended !== undefined || gathered === undefined) return ended;
    this.version = version;
    this.#confirmedMs = undefined;
    this.#isRead = false;
    await this.#pace.inSlices(this.#learnInSlices({ gathered }));
    return undefined;
  }

  /**
   * True if this run has read the declared state from its source, the cache of this process has caught up with such a read, or
   * the declared state no longer matters.
   */
  get isFresh(): boolean {
    return this.#isRead || this.memory.hasCaughtUp || this.release !== undefined;
  }

  /** Whether the declared state is fresh enough: a removal needs a recent read, other writes a read since the process started. */
  isConfirmedFor(operation: Operation): boolean {
    if (!isRemoval(operation)) return this.isFresh;
    return this.#confirmedMs !== undefined && this.ports.clock.monotonicMs() - this.#confirmedMs < confirmedForMs;
  }

  /** True while missing objects may only be in the middle of a replacement. */
  get isUnsettled(): boolean {
    return this.release === undefined && this.#confirmedMs === undefined && this.ports.source.isSettled?.() === false;
  }

  /** Reads the declared state from its source. If this fails, no removal is planned, and a new process writes nothing. */
  async confirm(options: ConfirmOptions = {}): Promise<RunResult | undefined> {
    if (this.release !== undefined) {
      this.#confirmedMs = this.ports.clock.monotonicMs();
      return undefined;
    }
    const confirmed = await this.ports.source.confirm(this.name, { ...options, signal: this.ports.stopping });
    this.#confirmedMs = "isUnsettled" in confirmed ? undefined : this.ports.clock.monotonicMs();
    let { gathered } = this;
    if (confirmed.state === "Read") {
      const ended = this.#endedBy(confirmed.gathered);
      if (ended !== undefined || confirmed.gathered === undefined) return ended;
      this.memory.hasCaughtUp ||= !this.#isRead && showsSame(gathered, confirmed.gathered);
      gathered = confirmed.gathered;
      this.#isRead = true;
    } else if (!this.isFresh) {
      const message = `wafsync writes nothing until it has confirmed the declared objects with a fresh read. ${confirmed.problem}`;
      return blocked("Unconfirmed", message);
    } else {
      gathered = { ...gathered, unconfirmed: confirmed.problem };
    }
    await this.#pace.inSlices(this.#learnInSlices({ gathered }));
    return undefined;
  }

  /** Reads the lists that were written to since their last read, and plans again. */
  async readAgain(): Promise<RunResult | undefined> {
    for (const list of this.ledger.unread) {
      const atMs = this.ports.clock.nowMs();
      const read = await this.#readList(list, this.observed);
      if (!read.ok) return resultOfFault(read.fault);
      const { lists, readAtMs } = this.observed;
      this.#observed = {
        ...this.observed,
        lists: { ...lists, [list]: read.value },
        readAtMs: { ...readAtMs, [list]: atMs },
      };
      for (const operation of this.ledger.takeSettled(list, read.value)) this.happened({ kind: "Settled", operation });
      this.#inventory = this.ledger.listRead(list, read.value, this, this.ports.clock.nowMs());
    }
    await this.learn({});
    return undefined;
  }

  /** Reads the state of the WAF, one call after another. Anything but the documented shape is a fault, never an empty list. */
  async #readWaf(): Promise<WafResult<Observed>> {
    const { clock, abandon } = this.ports;
    const { lastObserved } = this.memory;
    const origins = await this.waf.readOrigins({ signal: abandon });
    if (!origins.ok) return origins;
    const blocklistAtMs = clock.nowMs();
    const blocklist = await this.#readList("blocklist", lastObserved);
    if (!blocklist.ok) return blocklist;
    const allowlistAtMs = clock.nowMs();
    const allowlist = await this.#readList("allowlist", lastObserved);
    if (!allowlist.ok) return allowlist;
    return {
      ok: true,
      value: {
        domain: origins.value.domain,
        primaryOrigin: origins.value.primary,
        lists: { blocklist: blocklist.value, allowlist: allowlist.value },
        readAtMs: { blocklist: blocklistAtMs, allowlist: allowlistAtMs },
      },
    };
  }

  /** Declared entries, and those of the previous read, need not be parsed again. */
  async #readList(list: ListName, last: Observed | undefined): Promise<WafResult<ObservedEntries>> {
    const read = await this.waf.readList(list, { signal: this.ports.abandon });
    if (!read.ok) return read;
    return { ok: true, value: observeSpellings(read.value, this.desired.lists[list], last?.lists[list] ?? new Map()) };
  }

  /** Whether the plan requires another inventory than the stored one. */
  get isUnsaved(): boolean {
    return this.plan.inventoryChanged || this.inventory !== this.#stored;
  }

  /**
   * Stores the inventory of the plan before any of its operations is performed, and plans again, because it is an input of the plan.
   * A fresh read comes before the first save of a process. It also comes first if a stale cache may lack the rule or origin that
   * retains an entry that the plan drops, or the replacement of the one that declared it.
   */
  async record(): Promise<RunResult | undefined> {
    for (let round = 0, saves = 0; this.isUnsaved; round += 1) {
      const beforeRemovals = orphansEntries(this.inventory, this.observed, this.plan);
      const isConfirmed = this.isFresh && (this.#confirmedMs !== undefined || !beforeRemovals);
      if (!isConfirmed && this.ports.stopping.aborted) return { kind: "Interrupted" };
      if (round >= settleRoundsMax) return { kind: "Outdated" };
      if (isConfirmed && saves === savesMax) return { kind: "Unsettled" };
      if (isConfirmed) saves += 1;
      const ended = isConfirmed
        ? await this.#save()
        : this.isUnsettled && this.#isOutdated
          ? await this.refresh()
          : await this.confirm({ beforeRemovals });
      if (ended !== undefined) return ended;
    }
    return undefined;
  }

  async #save(): Promise<RunResult | undefined> {
    const { inventory: before, observed, plan } = this;
    // Only if owners are all that changed, nothing follows from the lists.
    const followsFromLists = before !== this.#stored || !plan.onlyOwnersChanged;
    const ended = followsFromLists ? await this.#verifyDomain() : undefined;
    if (ended !== undefined) return ended;
    const { inventory, held, adoptions } = plan;
    // A restored inventory stays recognizable until it is accepted.
    const version =
      held?.obstacle?.kind !== "Restored" ? Math.max(inventory.version, this.#reportedVersion) + 1 : inventory.version;
    const next = { ...inventory, version };
    const saved = await this.ports.inventory.save(this.name, next, this.#revision);
    if (saved.state === "Conflict") return blocked("InventoryConflict", saved.problem);
    if (saved.state === "Failed") return blocked("InventoryUnwritable", saved.problem);
    this.#recorded(plan, next.approvals > this.#stored.approvals ? next.approval : undefined);
    this.ledger.recorded(before, next, observed, adoptions.length);
    this.#stored = next;
    this.#revision = saved.revision;
    await this.learn({ inventory: next });
    return undefined;
  }

  /** Reports what takes effect with the record. */
  #recorded({ adoptions }: Plan, approval: Inventory["approval"]): void {
    const { ports, memory, gathered } = this;
    if (approval !== undefined) emitApproval(ports.status, memory.emitted, gathered.instance.meta, approval);
    emitAdoptions(ports.status, gathered, adoptions);
    for (const adoption of adoptions) this.happened({ kind: "Adopted", adoption });
    if (approval !== undefined) this.happened({ kind: "Approved", approval });
  }

  /** Adds to the history. Call it before the world changes. */
  happened(happening: Happening): void {
    this.ports.history?.happened(happening, this, this.ports.clock.nowMs());
  }

  /**
   * Lists do not identify their WAF. If the API key moved to another WAF after the domain was read, the lists must not cause any
   * entry to be dropped from the inventory. The domain is therefore read again before the first save that is based on the lists.
   */
  async #verifyDomain(): Promise<RunResult | undefined> {
    if (this.#verified === this.observed.lists) return undefined;
    const read = await this.waf.readOrigins({ signal: this.ports.abandon });
    if (!read.ok) return resultOfFault(read.fault);
    const moved = this.movedTo(read.value.domain);
    if (moved === undefined) this.#verified = this.observed.lists;
    return moved;
  }

  /** A result depends on a response of the API, so the domain is read again before the next save. */
  doubtDomain(): void {
    this.#verified = undefined;
  }

  /** Each accepted write returns its domain. A different domain than the one that was read ends the run. */
  movedTo(domain: string): RunResult | undefined {
    const { observed } = this;
    if (domain.toLowerCase() === observed.domain.toLowerCase()) return undefined;
    const message = `The API key belonged to ${observed.domain} when the lists were read, and to ${domain} at the last write: wafsync writes nothing more until it has identified the WAF.`;
    return blocked("DomainChanged", message);
  }

  /** What the run knows at the moment, for its reports. Before the WAF was read, this is only what is declared. */
  facts(
    phase: RunFacts["phase"],
    ended?: { readonly result: RunResult; readonly retryAtMs?: number | undefined },
  ): RunFacts {
    const { ledger, ports } = this;
    const known = {
      gathered: this.gathered,
      desired: this.desired,
      phase,
      result: ended?.result,
      done: ledger.done,
      changes: ledger.changes(),
      unrecorded: this.#unrecorded,
      drift: this.#drift,
      waiting: this.progress.waiting,
      nowMs: ports.clock.nowMs(),
      retryAtMs: ended?.retryAtMs,
    };
    const plan = this.#plan;
    if (plan === undefined) {
      return { ...known, observed: undefined, plan, lists: undefined, inventory: undefined, pace: undefined };
    }
    const { inventory } = this;
    const observed = ledger.shown(this.observed);
    const decided = { held: plan.held, overflowOn: (list: ListName) => plan.lists[list].overflow };
    const remaining = plan.operations.slice(this.#next);
    return {
      ...known,
      observed,
      plan,
      lists: this.#next === 0 ? plan.lists : summarizeLists(observed, inventory, remaining, decided),
      inventory,
      pace: paceOf(ledger.done, this.left, ports.clock.monotonicMs() - this.beganMs),
    };
  }

  /** The facts at the end of a run, which may have ended before it compiled what is declared. */
  async lastFacts(ended: { readonly result: RunResult; readonly retryAtMs?: number | undefined }): Promise<RunFacts> {
    if (this.#desired === undefined) await this.#compile(this.memory.record, this.memory.lastObserved);
    return this.facts("Ended", ended);
  }

  /** `Gone` if the instance no longer exists, `Outdated` if the run has to start again. */
  #endedBy(gathered: Gathered | undefined): RunResult | undefined {
    if (gathered === undefined) return { kind: "Gone" };
    return isSameWaf(gathered, this.gathered) ? undefined : { kind: "Outdated" };
  }

  /** Identifies everything except the WAF that this attempt depends on. */
  get attempt(): string {
    return attemptIn(this.gathered);
  }
}

function known<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("The run does not know this yet");
  return value;
}
