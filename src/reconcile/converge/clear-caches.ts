// Clears the cache for the WafCacheClear objects and the finished rollouts that are due: one call for all of them, and for
// those that wait. Each attempt is recorded before its call, so that a process that is killed clears at most once more, and
// never not at all.
import type { DeclaredCacheClear } from "../../model/declared.ts";
import type { Inventory } from "../../model/inventory.ts";
import { nameKey } from "../../model/resource.ts";
import type { WafFault } from "../../model/waf-result.ts";
import type { ClearFinish, ClearRecord } from "../../plan/cache-clear/cache-clear.ts";
import { decideAfterFault, withAttempt } from "../../plan/cache-clear/cache-clear.ts";
import { handledBy, withHandled } from "../../plan/cache-clear/triggers.ts";
import type { ClearLook } from "../cache-clear/advance-clears.ts";
import { clearTroubleOf, earliest, lookAtClears, tellFinish } from "../cache-clear/advance-clears.ts";
import { keepRecord, recordOf } from "../cache-clear/clear-records.ts";
import type { RolloutLook } from "../cache-clear/rollout-clears.ts";
import {
  lookAtRollouts,
  noteRolloutFault,
  rolloutsAfterClear,
  rolloutsBeforeCall,
  tellRolloutsCleared,
  tellRolloutsIgnored,
} from "../cache-clear/rollout-clears.ts";
import { factsOf } from "../facts.ts";
import type { Pass } from "./run-state.ts";
import { changeInventory, movedDomain, record, replan } from "./run-state.ts";
import type { RunResult } from "../run-result.ts";
import { reportClears } from "./report.ts";

/** Calls for one instance are at least this far apart, so that objects created one after another share the second call. */
const callIntervalMs = 2_000;

/**
 * Looks at the cache clears if something else is declared or a time has come, and calls once if any is due. Cheap
 * otherwise, so that it can be asked before every write. Ends the pass for what concerns the whole instance.
 */
export async function clearDueCaches(pass: Pass): Promise<RunResult | undefined> {
  const { gathered, inventory, memory, ports } = pass;
  const nowMs = ports.clock.nowMs();
  if (pass.clearsSeen === gathered && nowMs < pass.clearsNextMs) return undefined;
  const trouble = clearTroubleOf({ end: undefined, desired: pass.desired });
  const handled = inventory.handledTriggers;
  const look = lookAtClears(ports.status, memory.cacheClears, { gathered, handled, trouble, nowMs });
  const rollouts = lookAtRollouts(memory.cacheClears, { gathered, records: inventory.rollouts, trouble, nowMs });
  tellRolloutsIgnored(ports.status, memory, gathered);
  pass.clearsSeen = gathered;
  pass.clearsNextMs = earliest(look.nextMs, rollouts.nextMs) ?? Number.POSITIVE_INFINITY;
  const ended = await remember(pass, {
    handledTriggers: withHandled(handled, look.handled, "Recalled"),
    rollouts: rollouts.records,
  });
  await report(pass, look.finished);
  if (ended !== undefined || (look.due.length === 0 && !rollouts.isDue)) return ended;
  if (ports.stopping.aborted) return { kind: "Interrupted" };
  return callOnce(pass, look, rollouts);
}

async function callOnce(pass: Pass, { due, waiting }: ClearLook, rollouts: RolloutLook): Promise<RunResult | undefined> {
  const { clock } = pass.ports;
  const { handledTriggers } = pass.inventory;
  const ended = await remember(pass, { handledTriggers, rollouts: rolloutsBeforeCall(pass, rollouts) });
  if (ended !== undefined) return ended;
  for (const clear of due) keep(pass, clear, withAttempt(known(pass, clear), clock.nowMs()));
  await report(pass, due);
  if (pass.ports.stopping.aborted) return { kind: "Interrupted" };
  const result = await pass.waf.clearCache({ signal: pass.ports.abandon });
  const nowMs = clock.nowMs();
  pass.memory.cacheClears.notBeforeMs = nowMs + callIntervalMs;
  pass.clearsNextMs = nowMs;
  pass.ports.observer.clearTried?.(pass.name, due.length > 0 ? "WafCacheClear" : "Rollout", result.ok);
  if (!result.ok) return settleFault(pass, due, rollouts, result.fault);
  const caller = due[0] === undefined ? (rollouts.pending[0] ?? "") : nameKey(due[0].meta);
  const clears = { all: [...due, ...waiting], by: due[0], caller };
  return movedDomain(pass, result.value.domain) ?? settleCleared(pass, clears, rollouts, nowMs);
}

interface Cleared {
  readonly all: readonly DeclaredCacheClear[];
  /** Whose call it was; undefined if it was made for a rollout. */
  readonly by: DeclaredCacheClear | undefined;
  /** The name of the object or workload that the call was made for. */
  readonly caller: string;
}

/** One call clears everything, so all that waited when it began are done. */
async function settleCleared(
  pass: Pass,
  { all, by, caller }: Cleared,
  rollouts: RolloutLook,
  nowMs: number,
): Promise<RunResult | undefined> {
  const times = { atMs: nowMs, clearedAtMs: nowMs };
  const finished = all.map((clear): readonly [DeclaredCacheClear, ClearRecord] => {
    const finish: ClearFinish =
      clear === by ? { state: "Cleared", ...times } : { state: "Coalesced", ...times, with: caller };
    return [clear, { ...known(pass, clear), message: "", finish }];
  });
  for (const [clear, record] of finished) keep(pass, clear, record);
  const ended = await remember(pass, {
    handledTriggers: withHandled(pass.inventory.handledTriggers, handledIn(finished), "Now"),
    rollouts: rolloutsAfterClear(pass, rollouts, nowMs),
  });
  await report(pass, all);
  for (const [clear, record] of finished) tellFinish(pass.ports.status, clear, record);
  tellRolloutsCleared(pass, rollouts);
  return ended;
}

async function settleFault(
  pass: Pass,
  due: readonly DeclaredCacheClear[],
  rollouts: RolloutLook,
  fault: WafFault,
): Promise<RunResult | undefined> {
  if (fault.code === "Aborted" || fault.code === "NotPermitted") return { kind: "Interrupted" };
  // Whether a call that was given up took effect is not known: the next process begins it again.
  if (pass.ports.stopping.aborted) return { kind: "Interrupted" };
  noteRolloutFault(pass, rollouts, fault, pass.ports.clock.nowMs());
  const { cacheClears } = pass.memory;
  for (const clear of due) {
    const { record, notBeforeMs } = decideAfterFault(clear, known(pass, clear), fault, pass.ports.clock.nowMs());
    cacheClears.notBeforeMs = Math.max(cacheClears.notBeforeMs, notBeforeMs);
    keep(pass, clear, record);
    tellFinish(pass.ports.status, clear, record);
  }
  await report(pass, due);
  const isWrongKey = fault.code === "BadApiKey" || fault.code === "MissingApiKey";
  return isWrongKey ? { kind: "Failed", fault } : undefined;
}

/** Stores with the instance what was handled and what is tried, before anything is done about it. */
async function remember(
  pass: Pass,
  next: Pick<Inventory, "handledTriggers" | "rollouts">,
): Promise<RunResult | undefined> {
  const { handledTriggers, rollouts } = pass.inventory;
  if (next.handledTriggers === handledTriggers && next.rollouts === rollouts) return undefined;
  changeInventory(pass, (inventory) => ({ ...inventory, ...next }));
  replan(pass);
  return record(pass);
}

function handledIn(finished: readonly (readonly [DeclaredCacheClear, ClearRecord])[]) {
  return finished.flatMap(([clear, record]) => handledBy(nameKey(clear.meta), record) ?? []);
}

/** Every object that was looked at has a record. */
function known(pass: Pass, clear: DeclaredCacheClear): ClearRecord {
  const record = recordOf(pass.ports.status, pass.memory.cacheClears, clear);
  if (record === undefined) throw new Error(`WafCacheClear ${nameKey(clear.meta)} was not looked at`);
  return record;
}

function keep(pass: Pass, clear: DeclaredCacheClear, record: ClearRecord): void {
  keepRecord(pass.memory.cacheClears, clear, record);
}

async function report(pass: Pass, clears: readonly DeclaredCacheClear[]): Promise<void> {
  if (clears.length === 0) return;
  const nowMs = pass.ports.clock.nowMs();
  await reportClears(pass.ports, pass.memory, factsOf({ ...pass, phase: "Applying", pass, nowMs }), clears);
}
