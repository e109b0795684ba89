// The single exit of a reconcile run: schedules the next run, and makes the final report on every object.
import { upwardBackOffDelayMs } from "../async/back-off.ts";
import type { Clock } from "../async/clock.ts";
import { monotonicTimeOf, wallTimeOf } from "../async/clock.ts";
import { earliest } from "../async/earliest.ts";
import type { ObjectName } from "../model/resource.ts";
import type { RunFacts } from "./facts.ts";
import type { ReconcilePorts } from "./ports.ts";
import { isCutOff, isTransient } from "./run-result.ts";
import type { RunResult } from "./run-result.ts";
import { emitEntryChanges } from "./status/emit-entry-changes.ts";
import { emitOutcome } from "./status/emit-events.ts";
import { forgetRulesBut } from "./instance-memory.ts";
import type { InstanceMemory } from "./instance-memory.ts";
import { releaseEndsMs } from "./release.ts";
import { reportFacts } from "./report.ts";
import type { World } from "./world.ts";

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
  /** The version of the source that the run has taken into account. */
  readonly version: number;
}

/** Ends every run, regardless of how far it progressed. @param isDeferred whether it only reported, during a backoff */
export async function finishRun(world: World, result: RunResult, isDeferred: boolean): Promise<ReconcileOutcome> {
  const { ports, memory, version } = world;
  const retryAtMs = isDeferred ? backOffEndMs(ports, memory) : noteResult(world, result);
  const facts = await world.lastFacts({ result, retryAtMs });
  if (world.isPlanned) rememberLists(world, facts);
  if (result.kind !== "Gone" && world.release === undefined) {
    emitEntryChanges(ports.status, facts.gathered, facts.changes);
  }
  if (isCutOff(result)) return { result, facts, wakeAtMs: retryAtMs, pendingClears: 0, version };
  const others = memory.hooks?.atEnd(ports, facts);
  if (!isDeferred) {
    forgetRulesBut(memory, new Set(facts.desired.rules.map(({ id }) => id)));
    emitOutcome(ports.status, memory.emitted, facts);
  }
  await reportFacts(ports, memory, facts, hasTime(ports, facts.gathered.instance.meta, version));
  await others?.afterReport();
  const pendingClears = others?.pending.length ?? 0;
  return { result, facts, wakeAtMs: earliest(retryAtMs, others?.wakeAtMs), pendingClears, version };
}

function backOffEndMs({ clock }: ReconcilePorts, { backOff }: InstanceMemory): number | undefined {
  return backOff === undefined ? undefined : wallTimeOf(clock, backOff.untilMs);
}

/** True for a limited time, and then for as long as nothing changes: after a change, another, possibly urgent, run follows. */
function hasTime({ source, clock }: ReconcilePorts, instance: ObjectName, version: number): () => boolean {
  const untilMs = clock.monotonicMs() + reportMsMin;
  return () => clock.monotonicMs() < untilMs || source.version(instance) === version;
}

/** Counts failures, and starts or ends the backoff. Returns when to run again. */
function noteResult(world: World, result: RunResult): number | undefined {
  const { ports, memory, attempt } = world;
  const hasFailed = isTransient(result);
  memory.failures = hasFailed ? memory.failures + 1 : 0;
  if (result.kind === "Failed") ports.observer.failed?.(world.name, result.fault);
  const wakeAtMs = byReleaseDeadline(memory, wakeTime(world, result), ports.clock);
  memory.backOff =
    wakeAtMs !== undefined && hasFailed
      ? { untilMs: monotonicTimeOf(ports.clock, wakeAtMs), result, attempted: attempt }
      : undefined;
  return wakeAtMs;
}

function rememberLists({ memory, ledger, ports }: World, { observed, result }: RunFacts): void {
  memory.lastObserved = observed;
  // A list whose last writes are not confirmed says nothing about drift. Without a read, nothing was written.
  if (ledger.unread.size > 0) memory.lastSeen = undefined;
  else if (observed !== undefined) {
    memory.lastSeen = { domain: observed.domain, lists: observed.lists, removed: memory.removed };
  }
  if (result?.kind === "Done") memory.lastSyncMs = ports.clock.nowMs();
}

/** A deletion ends at its deadline, even during a backoff. */
function byReleaseDeadline(memory: InstanceMemory, wakeAtMs: number | undefined, clock: Clock): number | undefined {
  const endsMs = releaseEndsMs(memory);
  if (wakeAtMs === undefined || endsMs === undefined || endsMs <= clock.monotonicMs()) return wakeAtMs;
  return Math.min(wakeAtMs, wallTimeOf(clock, endsMs));
}

/** When to run again without a change: the next expiry, resync or second read, or the backoff after a failure. */
function wakeTime(world: World, result: RunResult): number | undefined {
  const { ports, memory, version, gathered } = world;
  const { clock, random, source } = ports;
  const nowMs = clock.nowMs();
  const resyncMs = nowMs + gathered.instance.resyncIntervalMs;
  switch (result.kind) {
    case "Done": {
      const arrivalMs = memory.arrivedAtMs === undefined ? nowMs : wallTimeOf(clock, memory.arrivedAtMs);
      return Math.min(
        resyncMs,
        world.desired.nextExpiryMs ?? resyncMs,
        world.plan.lookAgainMs ?? resyncMs,
        arrivalMs > nowMs ? arrivalMs : resyncMs,
      );
    }
    case "Blocked":
    case "Failed":
    case "Unsettled": {
      if (!isTransient(result)) return Math.min(resyncMs, nowMs + retryMsMax);
      const options = { baseMs: retryBaseMs, maxMs: retryMsMax, attempt: memory.failures, random };
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
