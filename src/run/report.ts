// The reports of a run: what it knows goes to the status of the instance and of everything attached to it. Every run ends here, with the
// final report and the time of the next run. The port writes only differences.
import { monotonicTimeOf, wallTimeOf } from "../async/clock.ts";
import { TimeSlices } from "../async/time-slices.ts";
import { mapConcurrently } from "../async/map-concurrently.ts";
import { instanceStatus, ruleStatus, originStatus } from "./status/statuses.ts";
import { writeStatus } from "./status/write-status.ts";
import { isCutOff, isTransient, type RunFacts, type RunResult } from "./facts.ts";
import type { ResourceMeta } from "../model/resource.ts";
import type { ReconcilePorts, ReportedObject, RunHooks } from "./ports.ts";
import { upwardBackOffDelayMs } from "../async/back-off.ts";
import { earliest } from "../async/earliest.ts";
import { emitOutcome } from "./status/events.ts";
import { releaseEndsMs } from "./release.ts";
import type { World } from "./world.ts";
import type { ApiKey } from "../model/api-key.ts";
import type { Inventory, Refusal } from "../model/inventory.ts";
import type { Observed, SeenLists } from "../model/observed.ts";
import { Books } from "../decide/desired.ts";
import { isRefusalOver } from "../decide/ownership.ts";

/** The shortest time between two progress reports of one run. */
export const progressIntervalMsMin = 2_000;
/** Writing many small statuses one after another takes long; writing all of them in parallel delays other requests. */
const statusesAtOnceMax = 3;

type ReportPorts = Pick<ReconcilePorts, "status" | "statusOf" | "clock">;

/** Writes the statuses of all objects for which a report `isWanted`. Returns whether one of them could not be written. */
export async function reportFacts(
  ports: ReportPorts,
  memory: InstanceMemory,
  facts: RunFacts,
  isWanted: (object: ResourceMeta) => boolean = () => true,
): Promise<boolean> {
  // Usually, nothing is written and nothing waits, so yield explicitly: otherwise, the whole report would run in one piece.
  const slices = new TimeSlices(ports.clock);
  let hasUnwritten = false;
  await mapConcurrently(statusesOf(facts, memory, ports), statusesAtOnceMax, async ([meta, after]) => {
    if (slices.isOver) await slices.pause();
    if (isWanted(meta) && (await writeStatus(ports.status, meta, after)) !== undefined) hasUnwritten = true;
  });
  return hasUnwritten;
}

/** The next status of every object: of the instance, of the objects of hooks, and of the rules, those of owners first, and origins. */
function statusesOf(facts: RunFacts, memory: InstanceMemory, { statusOf }: ReportPorts): ReportedObject[] {
  const { gathered, desired } = facts;
  const { meta } = gathered.instance;
  const others = memory.hooks?.report(facts);
  const instance: ReportedObject = [meta, (before) => ({ ...instanceStatus(before, facts), ...others?.instance })];
  // No run covers objects that are attached to an instance that is being deleted.
  if (meta.deleting) return [instance];
  const rules = desired.rules
    .filter(({ rule }) => !rule.meta.deleting)
    .toSorted((a, b) => Number(b.isOwners) - Number(a.isOwners))
    .map((rule): ReportedObject => {
      const changedMs = memory.ruleChangedMs.get(rule.id);
      const after = (before: object) => statusOf?.(before, rule, facts) ?? ruleStatus(before, rule, facts, changedMs);
      return [rule.rule.meta, after];
    });
  const origins = desired.compiledOrigins.map((origin): ReportedObject => [
    origin.origin.meta,
    (before) => originStatus(before, origin, facts),
  ]);
  return [instance, ...(others?.objects ?? []), ...rules, ...origins];
}

/** The reports of a run before its end. They are written in parallel with its calls, so that no call of the WAF waits for them. */
export class EarlyReports {
  /** Why the run is waiting at the moment. */
  waiting: string | undefined;
  readonly #world: World;
  #written: Promise<unknown> = Promise.resolve();
  #isWriting = false;
  #lastMs: number;
  #hasEnded = false;

  constructor(world: World) {
    this.#world = world;
    this.#lastMs = world.ports.clock.monotonicMs();
  }

  /**
   * Reports on new versions of objects: reports of an earlier run stay valid while the WAF is read again. Rules and origins, of which
   * there may be thousands, wait for the first progress or the end of the run, which often comes within a second.
   */
  async open(): Promise<void> {
    const { ports, memory } = this.#world;
    await reportFacts(ports, memory, await this.#world.facts(), (object) => {
      if (object.kind === "WafIpRule" || object.kind === "WafOrigin") return false;
      return ports.status.read(object)?.["observedGeneration"] !== object.generation;
    });
  }

  /** Starts a report if one is due. Throws the error of an earlier report that failed. */
  async progress(): Promise<void> {
    const { ports, memory } = this.#world;
    const nowMs = ports.clock.monotonicMs();
    const intervalMs = ports.progressIntervalMs?.() ?? progressIntervalMsMin;
    if (nowMs - this.#lastMs < intervalMs || this.#isWriting) return;
    await this.#written;
    this.#lastMs = nowMs;
    const facts = await this.#world.facts();
    this.#isWriting = true;
    const goesOn = (): boolean => !this.#hasEnded && !ports.stopping.aborted;
    this.#written = reportFacts(ports, memory, facts, ({ kind }) => kind === "WafInstance" || goesOn());
    const note = (): void => void (this.#isWriting = false);
    this.#written.then(note, note);
  }

  /** Ends all reports early: unwritten statuses are left to the final report. */
  async end(): Promise<void> {
    this.#hasEnded = true;
    await this.#written;
  }
}

// The end of a run.

const retryBaseMs = 1_000;
const retryMsMax = 300_000;
/** The minimum time for the final report of a run, even if another run follows immediately. */
const reportMsMin = 300;

/** The outcome of a run, and when to run again without a change. */
export interface ReconcileOutcome {
  readonly result: RunResult;
  /** The reported facts; undefined if there was nothing to report on. */
  readonly facts: RunFacts | undefined;
  readonly wakeAtMs: number | undefined;
  /** Cache clears that are neither finished nor suspended. */
  readonly pendingClears: number;
  /** Whether a status of the final report could not be written. */
  readonly hasUnwritten?: boolean;
  /** The version of the source that the run has taken into account. */
  readonly version: number;
}

/** Ends every run, regardless of how far it progressed. @param isDeferred whether it only reported, during a backoff */
export async function finishRun(world: World, result: RunResult, isDeferred: boolean): Promise<ReconcileOutcome> {
  const { ports, memory, version } = world;
  const retryAtMs = isDeferred
    ? memory.backOff && wallTimeOf(ports.clock, memory.backOff.untilMs)
    : noteResult(world, result);
  const facts = await world.lastFacts(result);
  const { observed } = facts;
  if (observed !== undefined) {
    memory.lastObserved = observed;
    // A list whose last writes are not confirmed says nothing about drift.
    memory.lastSeen = world.ledger.unread.length === 0 ? observed : undefined;
  }
  if (isCutOff(result)) return { result, facts, wakeAtMs: retryAtMs, pendingClears: 0, version };
  if (!isDeferred) {
    memory.forget(new Set(facts.desired.rules.map(({ id }) => id)), ports.clock.nowMs());
    emitOutcome(world, facts);
  }
  const others = memory.hooks?.atEnd(ports.status, facts);
  // After a limited time, only for as long as nothing changes: after a change, another, possibly urgent, run follows.
  const untilMs = ports.clock.monotonicMs() + reportMsMin;
  const hasTime = () => ports.clock.monotonicMs() < untilMs || ports.source.version(world.name) === version;
  const hasUnwritten = await reportFacts(ports, memory, facts, ({ kind }) => kind === "WafInstance" || hasTime());
  for (const object of others?.expired ?? []) if (!ports.stopping.aborted) await ports.source.removeObject?.(object);
  const pendingClears = others?.pending.length ?? 0;
  return { result, facts, wakeAtMs: earliest(retryAtMs, others?.wakeAtMs), pendingClears, hasUnwritten, version };
}

/** Counts failures, and starts or ends the backoff. Returns when to run again. */
function noteResult(world: World, result: RunResult): number | undefined {
  const { ports, memory, attempt } = world;
  const failures = isTransient(result) ? (memory.backOff?.failures ?? 0) + 1 : 0;
  if (result.kind === "Failed") ports.observer.failed?.(world.name, result.fault);
  // A deletion ends at its deadline, even during a backoff.
  const endsMs = releaseEndsMs(memory);
  const isAhead = endsMs !== undefined && endsMs > ports.clock.monotonicMs();
  const dueMs = wakeTime(world, result, failures);
  const wakeAtMs = dueMs && earliest(dueMs, isAhead ? wallTimeOf(ports.clock, endsMs) : undefined);
  memory.backOff =
    wakeAtMs !== undefined && failures > 0
      ? { untilMs: monotonicTimeOf(ports.clock, wakeAtMs), result, attempted: attempt, failures }
      : undefined;
  return wakeAtMs;
}

/** When to run again without a change: the next expiry, resync or second read, or the backoff after a failure. */
function wakeTime(world: World, result: RunResult, failures: number): number | undefined {
  const { ports, memory, version, gathered } = world;
  const { clock, random, source } = ports;
  const nowMs = clock.nowMs();
  const resyncMs = nowMs + gathered.instance.resyncIntervalMs;
  switch (result.kind) {
    case "Done": {
      const arrivalMs = memory.arrivedAtMs === undefined ? nowMs : wallTimeOf(clock, memory.arrivedAtMs);
      const { nextExpiryMs } = world.desired;
      return earliest(resyncMs, nextExpiryMs, world.plan.lookAgainMs, arrivalMs > nowMs ? arrivalMs : undefined);
    }
    case "Blocked":
    case "Failed":
    case "Unsettled": {
      if (!isTransient(result)) return Math.min(resyncMs, nowMs + retryMsMax);
      const options = { baseMs: retryBaseMs, maxMs: retryMsMax, attempt: failures, random };
      const askedMs = result.kind === "Failed" ? (result.fault.retryAfterMs ?? 0) : 0;
      return nowMs + Math.max(upwardBackOffDelayMs(options), askedMs);
    }
    case "Outdated":
      // If only a fresh read shows the change, the cache is behind. A change of the cache starts a run anyway.
      return source.version(gathered.instance.meta) === version ? nowMs + retryBaseMs : nowMs;
    case "Yielded":
      return nowMs;
    case "Interrupted":
    case "Gone":
      return undefined;
  }
}

// What the process remembers about one instance between two runs. Losing it only repeats events: everything that must survive is
// in the inventory.

interface BackOff {
  readonly untilMs: number;
  readonly result: RunResult;
  /** Another attempt, as with a new key, is made at once. */
  readonly attempted: string;
  readonly failures: number;
}

export class InstanceMemory {
  /** Set while the instance backs off: until when (monotonic), from which attempt, and after how many failed runs in a row. */
  backOff: BackOff | undefined;
  /** Whether the cache has caught up with a fresh read of this process, so that it is not older than the process. */
  hasCaughtUp = false;
  /** The lists as the last run left them. */
  lastSeen: SeenLists | undefined;
  /** Refused writes of the last hour that the inventory has no room for, by `operationKey`. */
  readonly olderRefusals = new Map<string, Refusal>();
  lastObserved: Observed | undefined;
  /** The record when it last affected the desired state, so that a run that can't load it reports the same result. */
  record: Inventory | undefined;
  /** `namespace/name` of the instance whose record was taken over or no longer exists. */
  continued: string | undefined;
  /** Until when (monotonic) removals are on hold while the objects of an instance that continues another one arrive. */
  arrivedAtMs: number | undefined;
  /**
   * The last key that could be read, to clean up the WAF even if the Secret is deleted before the instance. It is not sent to
   * another URL, or for another instance with the same name.
   */
  key: { readonly key: ApiKey; readonly baseUrl: string; readonly uid: string } | undefined;
  /** When (monotonic) the release of a deleted instance began or last made progress. */
  releasingSinceMs: number | undefined;
  /** The smallest number of removals that any run of the release left. */
  removalsLeft: number | undefined;
  /** When an entry of the rule last changed on the WAF, by `namespace/name`. */
  readonly ruleChangedMs = new Map<string, number>();
  /** What else happens in its runs; undefined before the first one. */
  hooks: RunHooks | undefined;
  /** The last event about each subject, so that none is emitted twice: a word, or a word and the `namespace/name` of a rule. */
  readonly emitted = new Map<string, string>();
  readonly books = new Books();

  /** Forgets rules that no longer exist, so that a new rule with the same name starts from scratch, and refusals that have ended. */
  forget(existing: ReadonlySet<string>, nowMs: number): void {
    for (const [operation, refusal] of this.olderRefusals)
      if (isRefusalOver(refusal, nowMs)) this.olderRefusals.delete(operation);
    for (const id of this.ruleChangedMs.keys()) if (!existing.has(id)) this.ruleChangedMs.delete(id);
    for (const subject of this.emitted.keys()) {
      const [, id] = subject.split(" ");
      if (id !== undefined && !existing.has(id)) this.emitted.delete(subject);
    }
  }
}
