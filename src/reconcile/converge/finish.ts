// The single exit of a reconcile run: schedules the next run, and makes the final report on every object.
import { upwardBackOffDelayMs } from "../../async/back-off.ts";
import type { Clock } from "../../async/clock.ts";
import { monotonicTimeOf, wallTimeOf } from "../../async/clock.ts";
import { earliest } from "../../async/earliest.ts";
import { factsWithoutRead } from "../facts.ts";
import type { ObjectName } from "../../model/resource.ts";
import type { RunFacts } from "../facts.ts";
import type { ReconcilePorts } from "../ports.ts";
import { isCutOff, isTransient } from "../run-result.ts";
import type { RunResult } from "../run-result.ts";
import { emitEntryChanges } from "../status/emit-entry-changes.ts";
import { emitOutcome } from "../status/emit-events.ts";
import { forgetRulesBut } from "./instance-memory.ts";
import type { InstanceMemory } from "./instance-memory.ts";
import { releaseEndsMs } from "./release.ts";
import { reportFacts } from "./report.ts";
import type { Run } from "./run-state.ts";
import type { Declared } from "./view.ts";
import { attemptIn } from "./view.ts";

const retryBaseMs = 1_000;
const retryMsMax = 300_000;
/** The minimum time for the final report of a run, even if another run follows immediately. */
const reportMsMin = 300;

/** How far a run progressed: not at all, not as far as reading the WAF, or through its plan. */
export type Ending =
  | { readonly kind: "Gone"; readonly version: number }
  | { readonly kind: "BackedOff"; readonly declared: Declared }
  | { readonly kind: "Unread"; readonly declared: Declared; readonly result: RunResult }
  | { readonly kind: "Ran"; readonly run: Run; readonly result: RunResult };

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

/** Ends every run, regardless of how far it progressed. */
export async function finishRun(
  ports: ReconcilePorts,
  memory: InstanceMemory,
  ending: Ending,
): Promise<ReconcileOutcome> {
  if (ending.kind === "Gone") {
    const result: RunResult = { kind: "Gone" };
    return { result, facts: undefined, wakeAtMs: undefined, pendingClears: 0, version: ending.version };
  }
  const result = ending.kind === "BackedOff" ? (memory.backOff?.result ?? { kind: "Unsettled" }) : ending.result;
  const wakeAtMs =
    ending.kind === "BackedOff" ? backOffEndMs(ports, memory) : noteResult(ports, memory, ending, result);
  if (ending.kind === "Ran") rememberLists(memory, ending.run, result);
  const facts = factsAt(ports, ending, result, wakeAtMs);
  const { version } = ending.kind === "Ran" ? ending.run.view : ending.declared;
  if (result.kind !== "Gone") emitEntryChanges(ports.status, facts, facts.changes);
  if (isCutOff(result)) {
    return { result, facts, wakeAtMs, pendingClears: 0, version };
  }
  const others = memory.hooks?.atEnd(ports, facts);
  if (ending.kind !== "BackedOff") {
    forgetRulesBut(memory, new Set(facts.desired.rules.map(({ id }) => id)));
    emitOutcome(ports.status, memory.emitted, facts);
  }
  await reportFacts(ports, memory, facts, hasTime(ports, facts.gathered.instance.meta, version));
  await others?.afterReport();
  const pendingClears = others?.pending.length ?? 0;
  return { result, facts, wakeAtMs: earliest(wakeAtMs, others?.wakeAtMs), pendingClears, version };
}

function backOffEndMs({ clock }: ReconcilePorts, { backOff }: InstanceMemory): number | undefined {
  return backOff === undefined ? undefined : wallTimeOf(clock, backOff.untilMs);
}

/** True for a limited time, and then for as long as nothing changes: after a change, another, possibly urgent, run follows. */
function hasTime({ source, clock }: ReconcilePorts, instance: ObjectName, version: number): () => boolean {
  const untilMs = clock.monotonicMs() + reportMsMin;
  return () => clock.monotonicMs() < untilMs || source.version(instance) === version;
}

function factsAt(
  ports: ReconcilePorts,
  ending: Exclude<Ending, { kind: "Gone" }>,
  result: RunResult,
  retryAtMs: number | undefined,
) {
  if (ending.kind === "Ran") return ending.run.facts("Ended", { result, retryAtMs });
  return factsWithoutRead(ending.declared, { phase: "Ended", result, nowMs: ports.clock.nowMs(), retryAtMs });
}

/** Counts failures, and starts or ends the backoff. Returns when to run again. */
function noteResult(
  ports: ReconcilePorts,
  memory: InstanceMemory,
  ending: Extract<Ending, { kind: "Ran" | "Unread" }>,
  result: RunResult,
): number | undefined {
  const declared = ending.kind === "Ran" ? ending.run.view : ending.declared;
  const hasFailed = isTransient(result);
  memory.failures = hasFailed ? memory.failures + 1 : 0;
  if (result.kind === "Failed") ports.observer.failed?.(declared.gathered.instance.meta, result.fault);
  const lookAgainMs = ending.kind === "Ran" ? ending.run.plan.lookAgainMs : undefined;
  const wakeAtMs = byReleaseDeadline(memory, wakeTime(ports, memory, declared, result, lookAgainMs), ports.clock);
  memory.backOff =
    wakeAtMs !== undefined && hasFailed
      ? { untilMs: monotonicTimeOf(ports.clock, wakeAtMs), result, attempted: attemptIn(declared.gathered) }
      : undefined;
  return wakeAtMs;
}

function rememberLists(memory: InstanceMemory, run: Run, result: RunResult): void {
  const observed = run.ledger.shown(run.view.observed);
  memory.lastObserved = observed;
  // A list whose last writes are not confirmed says nothing about drift.
  memory.lastSeen =
    run.ledger.unread.size === 0
      ? { domain: observed.domain, lists: observed.lists, removed: memory.removed }
      : undefined;
  if (result.kind === "Done") memory.lastSyncMs = run.ports.clock.nowMs();
}

/** A deletion ends at its deadline, even during a backoff. */
function byReleaseDeadline(memory: InstanceMemory, wakeAtMs: number | undefined, clock: Clock): number | undefined {
  const endsMs = releaseEndsMs(memory);
  if (wakeAtMs === undefined || endsMs === undefined || endsMs <= clock.monotonicMs()) return wakeAtMs;
  return Math.min(wakeAtMs, wallTimeOf(clock, endsMs));
}

/** When to run again without a change: the next expiry, resync or second read, or the backoff after a failure. */
function wakeTime(
  { clock, random, source }: ReconcilePorts,
  memory: InstanceMemory,
  { version, gathered, desired }: Declared,
  result: RunResult,
  lookAgainMs: number | undefined,
): number | undefined {
  const nowMs = clock.nowMs();
  const resyncMs = nowMs + gathered.instance.resyncIntervalMs;
  switch (result.kind) {
    case "Done": {
      const arrivalMs = memory.arrivedAtMs === undefined ? nowMs : wallTimeOf(clock, memory.arrivedAtMs);
      return Math.min(
        resyncMs,
        desired.nextExpiryMs ?? resyncMs,
        lookAgainMs ?? resyncMs,
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
