// Clears the cache for the WafCacheClear objects and the completed rollouts that are due. One call serves all of them, including
// those that are waiting. Each attempt is recorded before its call, so a killed process may clear once too often, but never
// misses a clear.
import { earliest } from "../../async/earliest.ts";
import type { DeclaredCacheClear } from "../../model/declared.ts";
import type { Inventory } from "../../model/inventory.ts";
import { nameKey } from "../../model/resource.ts";
import { listed } from "../../model/sentence.ts";
import type { WafFault } from "../../model/waf-result.ts";
import { workloadKey } from "../../model/workload.ts";
import type { ClearFinish, ClearRecord } from "../../plan/cache-clear/cache-clear.ts";
import { decideAfterFault, withAttempt } from "../../plan/cache-clear/cache-clear.ts";
import { handledBy, withHandled } from "../../plan/cache-clear/triggers.ts";
import type { AdvancedClears } from "../cache-clear/advance-clears.ts";
import { advanceClears, clearTroubleOf, emitFinish } from "../cache-clear/advance-clears.ts";
import type { RolloutClears } from "../cache-clear/rollouts.ts";
import { decideRollouts, rolloutFaultAfter, rolloutsIgnored, withRolloutsCleared } from "../cache-clear/rollouts.ts";
import type { ObjectEvent } from "../ports.ts";
import type { RunResult } from "../run-result.ts";
import type { Run } from "./run-state.ts";

/** Calls for one instance are at least this far apart, so that objects created one after another share the second call. */
const callIntervalMs = 2_000;
/** How long to wait after a rate-limited call for rollouts whose response does not say how long. */
const rateLimitedMs = 10_000;
const workloadsNamedMax = 5;

/**
 * Advances the cache clears if the declared state has changed or a scheduled time has come, and calls the WAF once if any clear
 * is due. Otherwise, it is cheap enough to be called before every write. Problems of the whole instance end the run.
 */
export async function clearDueCaches(run: Run): Promise<RunResult | undefined> {
  const { memory, ports } = run;
  const { gathered, desired, inventory } = run.view;
  const nowMs = ports.clock.nowMs();
  if (!run.clears.isDue(gathered, nowMs)) return undefined;
  const trouble = clearTroubleOf({ result: undefined, desired });
  const handled = inventory.handledTriggers;
  const clears = advanceClears(ports.status, memory.cacheClears, { gathered, handled, trouble, nowMs });
  const rollouts = decideRollouts(memory.cacheClears, { gathered, records: inventory.rollouts, trouble, nowMs });
  if (gathered.workloads === undefined) emitRolloutsIgnored(run);
  run.clears.advanced(gathered, earliest(clears.nextMs, rollouts.dueMs), nowMs);
  const ended = await remember(run, {
    handledTriggers: withHandled(handled, clears.handled, "Recalled"),
    rollouts: rollouts.records,
  });
  await report(run, clears.finished);
  if (ended !== undefined || (clears.due.length === 0 && (rollouts.dueMs ?? Number.POSITIVE_INFINITY) > nowMs))
    return ended;
  if (ports.stopping.aborted) return { kind: "Interrupted" };
  // The first write of a process requires a fresh read, which may show that nothing is due.
  if (!run.isFresh) return (await run.confirm()) ?? (await run.record()) ?? (await clearDueCaches(run));
  return callOnce(run, clears, rollouts);
}

async function callOnce(
  run: Run,
  { due, waiting }: AdvancedClears,
  rollouts: RolloutClears,
): Promise<RunResult | undefined> {
  const { memory, waf, ports } = run;
  const { clock, abandon, observer, stopping } = ports;
  for (const clear of due) keep(run, clear, withAttempt(known(run, clear), clock.nowMs()));
  await report(run, due);
  if (stopping.aborted) return { kind: "Interrupted" };
  const result = await waf.clearCache({ signal: abandon });
  const nowMs = clock.nowMs();
  memory.cacheClears.wait(nowMs + callIntervalMs, nowMs);
  run.clears.called(nowMs);
  observer.clearTried?.(run.name, due.length > 0 ? "WafCacheClear" : "Rollout", result.ok);
  if (!result.ok) return settleFault(run, due, rollouts, result.fault);
  const caller = due[0] === undefined ? (namesOf(rollouts)[0] ?? "") : nameKey(due[0].meta);
  const cleared = { all: [...due, ...waiting], by: due[0], caller };
  return run.domain.movedFrom(run.view.observed, result.value.domain) ?? settleCleared(run, cleared, rollouts, nowMs);
}

interface Cleared {
  readonly all: readonly DeclaredCacheClear[];
  /** The object that the call was made for; undefined if it was made for a rollout. */
  readonly by: DeclaredCacheClear | undefined;
  /** The name of the object or workload that the call was made for. */
  readonly caller: string;
}

/** One call clears everything, so all clears that were waiting when it began are complete. */
async function settleCleared(
  run: Run,
  { all, by, caller }: Cleared,
  rollouts: RolloutClears,
  nowMs: number,
): Promise<RunResult | undefined> {
  const times = { atMs: nowMs, clearedAtMs: nowMs };
  const finished = all.map((clear): readonly [DeclaredCacheClear, ClearRecord] => {
    const finish: ClearFinish =
      clear === by ? { state: "Cleared", ...times } : { state: "Coalesced", ...times, with: caller };
    return [clear, { ...known(run, clear), message: "", finish }];
  });
  for (const [clear, record] of finished) keep(run, clear, record);
  const { memory, ports, view } = run;
  const { inventory } = view;
  const ended = await remember(run, {
    handledTriggers: withHandled(inventory.handledTriggers, handledIn(finished), "Now"),
    rollouts: withRolloutsCleared(inventory.rollouts, rollouts, nowMs),
  });
  await report(run, all);
  for (const [clear, record] of finished) emitFinish(ports.status, clear, record);
  memory.cacheClears.rolloutFault = undefined;
  if (rollouts.pending.length > 0) {
    const message = `The API has started to clear the cache after the rollout of ${listed(namesOf(rollouts), workloadsNamedMax)}.`;
    emit(run, { type: "Normal", reason: "CacheCleared", message });
  }
  return ended;
}

async function settleFault(
  run: Run,
  due: readonly DeclaredCacheClear[],
  rollouts: RolloutClears,
  fault: WafFault,
): Promise<RunResult | undefined> {
  const { memory, ports } = run;
  const { clock, status, stopping } = ports;
  const { cacheClears } = memory;
  if (fault.code === "Aborted" || fault.code === "NotPermitted") return { kind: "Interrupted" };
  // The outcome of an abandoned call is unknown: the next process repeats it.
  if (stopping.aborted) return { kind: "Interrupted" };
  if (rollouts.pending.length > 0) noteRolloutFault(run, rollouts, fault);
  for (const clear of due) {
    const nowMs = clock.nowMs();
    const { record, notBeforeMs } = decideAfterFault(clear, known(run, clear), fault, nowMs);
    cacheClears.wait(notBeforeMs, nowMs);
    keep(run, clear, record);
    emitFinish(status, clear, record);
  }
  await report(run, due);
  const isWrongKey = fault.code === "BadApiKey" || fault.code === "MissingApiKey";
  return isWrongKey ? { kind: "Failed", fault } : undefined;
}

/** Stores handled triggers and rollout attempts in the inventory, before wafsync acts on them. */
async function remember(
  run: Run,
  next: Pick<Inventory, "handledTriggers" | "rollouts">,
): Promise<RunResult | undefined> {
  const { memory, view } = run;
  const { inventory } = view;
  if (next.handledTriggers === inventory.handledTriggers && next.rollouts === inventory.rollouts) return undefined;
  memory.cacheClears.unsavedRollouts = next.rollouts;
  await run.see({ inventory: { ...inventory, ...next } });
  const ended = await run.record();
  if (ended === undefined) memory.cacheClears.unsavedRollouts = undefined;
  return ended;
}

function handledIn(finished: readonly (readonly [DeclaredCacheClear, ClearRecord])[]) {
  return finished.flatMap(([clear, record]) => handledBy(nameKey(clear.meta), record) ?? []);
}

/** Returns the record of the object, which every advanced object has. */
function known(run: Run, clear: DeclaredCacheClear): ClearRecord {
  const { ports, memory } = run;
  const record = memory.cacheClears.recordOf(ports.status, clear);
  if (record === undefined) throw new Error(`WafCacheClear ${nameKey(clear.meta)} has no record`);
  return record;
}

function keep(run: Run, clear: DeclaredCacheClear, record: ClearRecord): void {
  const { memory } = run;
  memory.cacheClears.keep(clear, record);
}

/** A failed call for rollouts is retried with backoff; only a different failure is another event. */
function noteRolloutFault(run: Run, rollouts: RolloutClears, fault: WafFault): void {
  const { cacheClears } = run.memory;
  const before = cacheClears.rolloutFault;
  const nowMs = run.ports.clock.nowMs();
  cacheClears.rolloutFault = rolloutFaultAfter(before, fault, nowMs);
  cacheClears.wait(nowMs + (fault.retryAfterMs ?? (fault.code === "RateLimited" ? rateLimitedMs : 0)), nowMs);
  if (before?.code === fault.code) return;
  const message = `The cache was not cleared after the rollout of ${listed(namesOf(rollouts), workloadsNamedMax)}; wafsync retries. ${fault.message}`;
  emit(run, { type: "Warning", reason: "CacheClearFailed", message });
}

/** Outside a cluster, warns once that afterRolloutOf has no effect. */
function emitRolloutsIgnored(run: Run): void {
  const { afterRolloutOf } = run.view.gathered.instance.cacheClear;
  if (afterRolloutOf.length === 0 || !run.memory.emitted.isNew("rolloutsIgnored", "ignored")) return;
  emit(run, { type: "Warning", reason: "RolloutsIgnored", message: rolloutsIgnored });
}

function namesOf({ pending }: RolloutClears): string[] {
  return pending.map(({ workload }) => workloadKey(workload));
}

function emit({ ports, view }: Run, event: ObjectEvent): void {
  ports.status.event(view.gathered.instance.meta, event);
}

async function report(run: Run, clears: readonly DeclaredCacheClear[]): Promise<void> {
  await run.progress.reportClears(clears, () => run.facts("Applying"));
}
