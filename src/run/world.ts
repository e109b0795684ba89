// What one reconcile run knows: what is declared, the record, what the WAF shows, and the plan for all of these. Whatever a run learns
// goes through `learn`, which plans again, so the plan always matches the rest. The run itself is in run.ts.
import { inSlices } from "../async/time-slices.ts";
import { requestedAtAnnotation } from "../kinds/kinds.ts";
import { type ListName, listNames } from "../model/declared.ts";
import type { ConfirmOptions, Gathered } from "../model/gathered.ts";
import { emptyInventory, type Inventory } from "../model/inventory.ts";
import { observeSpellings } from "../model/observed.ts";
import type { Observed } from "../model/observed.ts";
import type { Effect, Operation } from "../model/operation.ts";
import type { ObjectName } from "../model/resource.ts";
import type { WafPort } from "../model/waf-result.ts";
import { admitInstance, attemptOf, decideDomain } from "../decide/domain.ts";
import { compileInSlices, type DesiredState, nothingDesired } from "../decide/desired.ts";
import { type Plan, planInSlices } from "../decide/plan.ts";
import { progressOf } from "../decide/progress.ts";
import { type DriftedEntry, findDrift, noteDisputes } from "../decide/disputes.ts";
import { blocked, resultOfFault, type RunFacts, type RunResult } from "./facts.ts";
import type { Happening, ReconcilePorts } from "./ports.ts";
import { emitApproval, emitChange, emitDrift } from "./status/events.ts";
import { type InstanceMemory, EarlyReports } from "./report.ts";
import { type Release, wantsRemoval } from "./release.ts";
import { whileArriving } from "./take-over.ts";
import { isRemoval, WriteLedger } from "./write-ledger.ts";

/** A confirmation of the declared state expires after this long. */
const confirmedForMs = 30_000;
/** How often the plan for a recorded inventory may require another one. */
const savesMax = 10;

/** Before the first read. */
const unread: Pick<Observed, "lists" | "readAtMs"> = {
  lists: { blocklist: new Map(), allowlist: new Map() },
  readAtMs: { blocklist: 0, allowlist: 0 },
};

/**
 * While changes never stop, calls continue between two plans. Otherwise, a guest who changes objects all the time could delay the owner's
 * next call indefinitely. Planning takes at most a quarter of the time, and an urgent address waits at most 250 ms for the next plan.
 */
export function pauseMsAfter(tookMs: number): number {
  return Math.min(tookMs * 3, 250);
}

/** New information, from which the plan is made again. */
type Learned = Partial<Pick<World, "gathered" | "inventory">>;

export class World {
  readonly name: ObjectName;
  readonly ports: ReconcilePorts;
  readonly memory: InstanceMemory;
  readonly ledger: WriteLedger;
  readonly reports: EarlyReports;
  /** Since the run began: calls, verifications, newer declared states. In a row: unknown outcomes, limited rates, and saves. */
  readonly counted = { calls: 0, unknown: 0, rateLimited: 0, saves: 0, verifications: 0, refreshes: 0 };
  /** When the run began, by the monotonic clock. */
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
  /** The number of declared entries that were on the lists before there was a record. */
  #unrecorded = 0;
  /** Until when (monotonic) no other plan follows, so that calls continue in between. */
  #restsUntilMs = Number.NEGATIVE_INFINITY;
  /** The number of calls at the last save. A call follows each, or changes during saves could delay all calls. */
  #callsAtSave: number | undefined;
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
    this.gathered = whileArriving(gathered, ports, memory);
    this.beganMs = ports.clock.monotonicMs();
    this.ledger = new WriteLedger(this);
    this.reports = new EarlyReports(this);
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
    await inSlices(this.ports.clock, this.#compile(stored.inventory, memory.lastObserved));
    const problem =
      this.release === undefined ? await ports.lifecycle.ensureFinalizer(gathered.instance.meta) : undefined;
    if (problem !== undefined) return blocked("InventoryUnwritable", problem);
    await this.reports.open();
    return undefined;
  }

  /** Reads the WAF, makes sure that it is the right one, and makes the first plan. */
  async look(): Promise<RunResult | undefined> {
    const { ports, memory, gathered } = this;
    const { meta } = gathered.instance;
    const read = await this.waf.readOrigins({ signal: ports.abandon });
    if (!read.ok) return resultOfFault(read.fault);
    const { domain: domainOfKey, primary: primaryOrigin } = read.value;
    this.#observed = { ...(memory.lastObserved ?? unread), domain: domainOfKey, primaryOrigin };
    const ended = await this.#readLists(listNames);
    if (ended !== undefined) return ended;
    const { observed } = this;
    const domain = decideDomain(gathered.instance, this.#stored, observed.domain, known(memory.key).key);
    if (domain.state === "Changed") return blocked("DomainChanged", domain.message);
    const moved = domain.told === undefined ? undefined : { reason: "DomainMoved", message: domain.told };
    emitChange(this, meta, "domain", moved);
    // An inventory that was restored from a backup is older than the status. A missing one is not, and neither matters in a deletion.
    const reported = this.release === undefined ? ports.status.read(meta)?.["inventoryVersion"] : undefined;
    this.#reportedVersion = typeof reported === "number" ? reported : 0;
    const isMissing = this.#revision === "" && this.#reportedVersion > 0;
    const inventory = isMissing ? { ...domain.inventory, version: this.#reportedVersion } : domain.inventory;
    await this.learn({ inventory });
    const last = memory.lastSeen?.domain === observed.domain ? memory.lastSeen : undefined;
    this.#drift = last === undefined ? [] : findDrift(gathered.instance, this.plan, last);
    const disputes = noteDisputes(inventory.disputes, this.#drift, ports.clock.nowMs());
    emitDrift(this, this.#drift);
    for (const drift of this.#drift) this.happened({ kind: "Drifted", drift });
    if (disputes !== inventory.disputes) await this.learn({ inventory: { ...inventory, disputes } });
    if (this.#revision === "") {
      const rows = listNames.flatMap((list) => this.plan.outcomes[list]);
      this.#unrecorded = rows.filter(({ outcome }) => outcome.kind === "Foreign").length;
    }
    ports.observer.planned?.(this.name, this.plan, observed.domain);
    return undefined;
  }

  /** Compiles what is declared. The record and the lists decide conflicts, and what is remembered. */
  *#compile(record: Inventory | undefined, observed: Observed | undefined): Generator<undefined, void> {
    const { books } = this.memory;
    const compiling = compileInSlices(this.gathered, this.ports.clock.nowMs(), record, observed, books);
    this.#desired = this.release === undefined ? yield* compiling : nothingDesired(this.gathered.instance, books);
    this.memory.record = this.desired.dependsOnManaged ? record : undefined;
  }

  /** Writes of origins change the inventory, which the next operation may depend on. For entries, the plan has assumed the answer. */
  async follow(inventory: Inventory): Promise<undefined> {
    if (inventory !== this.#inventory) await this.learn({ inventory });
  }

  /** Plans again with new information. After a change of what is declared, the next such plan has to wait. */
  async learn(learned: Learned): Promise<void> {
    await inSlices(this.ports.clock, this.#learn(learned), (tookMs) => {
      if (learned.gathered !== undefined) this.#restsUntilMs = this.ports.clock.monotonicMs() + pauseMsAfter(tookMs);
    });
  }

  *#learn({ gathered, inventory }: Learned): Generator<undefined, void> {
    this.gathered = gathered ?? this.gathered;
    this.#inventory = inventory ?? this.#inventory;
    const observed = this.ledger.shown(this.observed);
    if (gathered !== undefined || this.desired.dependsOnManaged) yield* this.#compile(this.#inventory, observed);
    const plan = yield* this.#planFor(observed);
    // Refused writes are not sent again before the next read of their list.
    const operations = plan.operations.filter((operation) => !this.ledger.awaitsRead(operation));
    this.#plan = operations.length === plan.operations.length ? plan : { ...plan, operations };
    this.#next = 0;
  }

  #planFor(observed: Observed): Generator<undefined, Plan> {
    return planInSlices({
      desired: this.desired,
      inventory: this.#inventory,
      observed,
      reportedVersion: this.#reportedVersion,
      olderRefusals: this.memory.olderRefusals,
      approval: this.ports.review?.approvalOf(this.name),
      countsRemovals: this.#confirmedMs !== undefined,
      nowMs: this.ports.clock.nowMs(),
    });
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
    const isPause = this.counted.calls === this.#callsAtSave || this.ports.clock.monotonicMs() < this.#restsUntilMs;
    const maySend = operation !== undefined && !isRemoval(operation) && isPause;
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
    this.counted.refreshes += 1;
    this.#confirmedMs = undefined;
    this.#isRead = false;
    await this.learn({ gathered: whileArriving(gathered, this.ports, this.memory) });
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
      const read = whileArriving(confirmed.gathered, this.ports, this.memory);
      this.memory.hasCaughtUp ||= !this.#isRead && showsSame(gathered, read);
      gathered = read;
      this.#isRead = true;
    } else if (!this.isFresh) {
      const message = `wafsync writes nothing until it has confirmed the declared objects with a fresh read. ${confirmed.problem}`;
      return blocked("Unconfirmed", message);
    } else {
      gathered = { ...gathered, unconfirmed: confirmed.problem };
    }
    await this.learn({ gathered });
    return undefined;
  }

  /** Reads the lists that were written to since their last read, and plans again. */
  async readAgain(): Promise<RunResult | undefined> {
    const ended = await this.#readLists(this.ledger.unread);
    if (ended === undefined) await this.learn({});
    return ended;
  }

  /**
   * One call after another. Anything but the documented shape is a fault, never an empty list. Declared entries, and those of the
   * previous read, need not be parsed again.
   */
  async #readLists(lists: readonly ListName[]): Promise<RunResult | undefined> {
    for (const list of lists) {
      const last = this.observed;
      const readAtMs = { ...last.readAtMs, [list]: this.ports.clock.nowMs() };
      const read = await this.waf.readList(list, { signal: this.ports.abandon });
      if (!read.ok) return resultOfFault(read.fault);
      const entries = observeSpellings(read.value, this.desired.lists[list], last.lists[list]);
      this.#observed = { ...last, readAtMs, lists: { ...last.lists, [list]: entries } };
      this.#inventory = this.ledger.listRead(list, entries);
    }
    return undefined;
  }

  /** Whether the plan requires another inventory than the stored one. */
  get isUnsaved(): boolean {
    return this.plan.inventory !== this.#stored;
  }

  /**
   * Stores the inventory of the plan before any of its operations is performed, and plans again, because it is an input of the plan.
   * A fresh read comes before the first save of a process. It also comes first if a stale cache may lack the rule or origin that
   * retains an entry that the plan drops, or the replacement of the one that declared it.
   */
  async record(): Promise<RunResult | undefined> {
    const beforeRemovals = orphansEntries(this.inventory, this.plan);
    const isConfirmed = this.isFresh && (this.#confirmedMs !== undefined || !beforeRemovals);
    if (isConfirmed) return await this.#save();
    if (this.isUnsettled && this.#isOutdated) return await this.refresh();
    return await this.confirm({ beforeRemovals });
  }

  /** The result if the run comes to no end: newer declarations explain it, or another writer is active, and the instance backs off. */
  get outpaced(): RunResult {
    return { kind: this.counted.refreshes > 0 ? "Outdated" : "Unsettled" };
  }

  /** Whether this may be done: false if a user has reviewed another plan. */
  permits(effect: Effect): boolean {
    return this.ports.review?.permits(this.name, effect) ?? true;
  }

  async #save(): Promise<RunResult | undefined> {
    const { inventory: before, plan } = this;
    if (this.counted.saves === savesMax) return this.outpaced;
    this.counted.saves += 1;
    if (!plan.adoptions.every((adoption) => this.permits({ kind: "Adopt", ...adoption })))
      return { kind: "Interrupted" };
    // Only if owners are all that changed, nothing follows from the lists.
    const followsFromLists = before !== this.#stored || !plan.onlyOwnersChanged;
    const ended = followsFromLists ? await this.#verifyDomain() : undefined;
    if (ended !== undefined) return ended;
    const { inventory, held } = plan;
    // A restored inventory stays recognizable until it is accepted.
    const version =
      held?.obstacle?.kind !== "Restored" ? Math.max(inventory.version, this.#reportedVersion) + 1 : inventory.version;
    const next = { ...inventory, version };
    const saved = await this.ports.inventory.save(this.name, next, this.#revision);
    if (saved.state !== "Saved") return blocked("InventoryUnwritable", saved.problem);
    for (const adoption of plan.adoptions) this.happened({ kind: "Adopted", adoption });
    const approval = next.approvals > this.#stored.approvals ? next.approval : undefined;
    if (approval !== undefined) {
      emitApproval(this, approval);
      this.happened({ kind: "Approved", approval });
    }
    this.ledger.recorded(before, plan);
    this.#stored = next;
    this.#revision = saved.revision;
    this.#callsAtSave = this.counted.calls;
    await this.learn({ inventory: next });
    return undefined;
  }

  /** Tells the history. Call it before the world changes. */
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

  /**
   * What the run knows at the moment, for its reports. Before the WAF was read, this is only what is declared. After calls, the
   * outcomes are those of another plan, which takes these into account.
   */
  async facts(result?: RunResult): Promise<RunFacts> {
    const { gathered, desired, inventory, ledger } = this;
    const observed = this.#plan && ledger.shown(this.observed);
    const isPast = this.#next > 0 && observed !== undefined;
    const plan = isPast ? await inSlices(this.ports.clock, this.#planFor(observed)) : this.#plan;
    return {
      gathered,
      desired,
      result,
      observed,
      plan,
      progress: plan && progressOf(desired.rules, plan.outcomes),
      inventory: plan && inventory,
      done: ledger.done,
      unrecorded: this.#unrecorded,
      drift: this.#drift,
      pace: plan && { left: this.left, perSecond: this.#perSecond },
      waiting: this.reports.waiting,
      nowMs: this.ports.clock.nowMs(),
    };
  }

  get #perSecond(): number {
    const { added, removed } = this.ledger.done;
    return ((added + removed) * 1000) / Math.max(1, this.ports.clock.monotonicMs() - this.beganMs);
  }

  /** The facts at the end of a run, which may have ended before it compiled what is declared. */
  async lastFacts(result: RunResult): Promise<RunFacts> {
    const { record, lastObserved } = this.memory;
    if (this.#desired === undefined) await inSlices(this.ports.clock, this.#compile(record, lastObserved));
    return await this.facts(result);
  }

  /** `Gone` if the instance no longer exists, `Outdated` if the run has to start again. */
  #endedBy(gathered: Gathered | undefined): RunResult | undefined {
    if (gathered === undefined) return { kind: "Gone" };
    return wafOf(gathered) === wafOf(this.gathered) ? undefined : { kind: "Outdated" };
  }

  /** Identifies everything except the WAF that this attempt depends on. */
  get attempt(): string {
    const { meta } = this.gathered.instance;
    return attemptOf(this.gathered, meta.annotations[requestedAtAnnotation] ?? "", meta.generation);
  }
}

function known<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("The run does not know this yet");
  return value;
}

/** Identifies the WAF, its key and whether the instance is being deleted: if one of these changes, the run has to start again. */
function wafOf(gathered: Gathered): string {
  return attemptOf(gathered, "", gathered.instance.meta.deleting);
}

/** True if the plan drops a managed entry or origin from the inventory that may still be on the WAF. */
function orphansEntries({ origins }: Inventory, { inventory: next, outcomes }: Plan): boolean {
  if ([...origins.keys()].some((host) => !next.origins.has(host))) return true;
  return listNames.some((list) =>
    outcomes[list].some((row) => row.shown && row.recorded !== undefined && !next.entries[list].has(row.entry)),
  );
}

/** True if a cache shows the same content of every object as a fresh read. */
export function showsSame(cached: Gathered, read: Gathered): boolean {
  return cached === read || contentOf(cached) === contentOf(read);
}

function contentOf({ instance, rules, origins, cacheClears, brokenSources, ...gathered }: Gathered): string {
  const { autoBlocks = [], brokenReferences, invalidObjects = [] } = gathered;
  const broken = [...(brokenReferences?.objects.values() ?? [])].map(({ declared }) => declared);
  const objects = [instance, ...rules, ...origins, ...cacheClears, ...autoBlocks, ...broken];
  return JSON.stringify([
    objects.map((object) => JSON.stringify(object)).toSorted(),
    [...invalidObjects],
    brokenSources,
  ]);
}
