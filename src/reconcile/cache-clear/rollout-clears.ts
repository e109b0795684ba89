// Clears that follow finished rollouts: what a pass does about them. The decisions are in the plan, the memory is in the
// inventory; whoever calls the WAF asks here what the call is for, and tells here what came of it.
import type { Gathered } from "../../model/gathered.ts";
import type { Inventory } from "../../model/inventory.ts";
import type { WafFault } from "../../model/waf-result.ts";
import type { RolloutRecord } from "../../model/workload.ts";
import type { ClearTrouble } from "../../plan/cache-clear/cache-clear.ts";
import { decideRollouts, withRolloutAttempt, withRolloutsCleared } from "../../plan/cache-clear/rollouts.ts";
import type { ClearMemory } from "./clear-records.ts";
import type { InstanceMemory } from "../converge/instance-memory.ts";
import type { StatusPort } from "../ports.ts";
import type { Pass } from "../converge/run-state.ts";

/** How long to leave the API alone when it asks to slow down and does not say for how long. */
const rateLimitedMs = 10_000;
const workloadsNamedMax = 5;

export interface RolloutLook {
  /** What is to be remembered. */
  readonly records: readonly RolloutRecord[];
  /** Keys of the workloads that a call would be for. */
  readonly pending: readonly string[];
  readonly isDue: boolean;
  /** When a look would decide something else; undefined if time alone changes nothing. */
  readonly nextMs: number | undefined;
}

export interface RolloutScene {
  readonly gathered: Gathered;
  readonly records: Inventory["rollouts"];
  readonly trouble: ClearTrouble | undefined;
  readonly nowMs: number;
}

export function lookAtRollouts(memory: Pick<ClearMemory, "notBeforeMs">, scene: RolloutScene): RolloutLook {
  const { gathered, records, trouble, nowMs } = scene;
  const { instance, workloads } = gathered;
  if (workloads === undefined) return { records, pending: [], isDue: false, nextMs: undefined };
  const decision = decideRollouts({
    sights: workloads,
    records,
    minIntervalMs: instance.cacheClear.minIntervalMs,
    notBeforeMs: memory.notBeforeMs,
    nowMs,
  });
  const isHeld = instance.suspend || instance.meta.deleting || trouble !== undefined;
  const dueMs = isHeld ? undefined : decision.dueMs;
  return {
    records: decision.records,
    pending: isHeld ? [] : decision.pending,
    isDue: dueMs !== undefined && dueMs <= nowMs,
    nextMs: dueMs,
  };
}

/** The memory before a call. */
export function rolloutsBeforeCall({ inventory, ports }: Pass, { pending }: RolloutLook): readonly RolloutRecord[] {
  return pending.length === 0
    ? inventory.rollouts
    : withRolloutAttempt(inventory.rollouts, pending, ports.clock.nowMs());
}

/** The memory after a call that has cleared the cache. */
export function rolloutsAfterClear(
  { inventory, gathered }: Pass,
  { pending }: RolloutLook,
  nowMs: number,
): readonly RolloutRecord[] {
  return pending.length === 0
    ? inventory.rollouts
    : withRolloutsCleared(inventory.rollouts, pending, gathered.workloads ?? [], nowMs);
}

/** Tells the instance's events of a clear that was made for rollouts. */
export function tellRolloutsCleared({ ports, memory, gathered }: Pass, { pending }: RolloutLook): void {
  memory.cacheClears.rolloutFault = undefined;
  memory.told.delete(toldFault);
  if (pending.length === 0) return;
  const message = `The API has started to clear the cache after the rollout of ${nameSome(pending)}.`;
  ports.status.event(gathered.instance.meta, { type: "Normal", reason: "CacheCleared", message });
}

/** A call for rollouts has failed: it is tried again, after growing pauses, for as long as it takes. */
export function noteRolloutFault(pass: Pass, { pending }: RolloutLook, fault: WafFault, nowMs: number): void {
  if (pending.length === 0) return;
  const { cacheClears, told } = pass.memory;
  const waitMs = fault.retryAfterMs ?? (fault.code === "RateLimited" ? rateLimitedMs : 0);
  cacheClears.notBeforeMs = Math.max(cacheClears.notBeforeMs, nowMs + waitMs);
  cacheClears.rolloutFault = fault.message;
  if (told.get(toldFault) === fault.code) return;
  told.set(toldFault, fault.code);
  const message = `The cache was not cleared after the rollout of ${nameSome(pending)}; it is tried again. ${fault.message}`;
  pass.ports.status.event(pass.gathered.instance.meta, { type: "Warning", reason: "CacheClearFailed", message });
}

/** Where there are no workloads, whoever declared some is told once. */
export function tellRolloutsIgnored(
  status: StatusPort,
  { told }: InstanceMemory,
  { instance, workloads }: Gathered,
): void {
  if (workloads !== undefined || instance.cacheClear.afterRolloutOf.length === 0 || told.has(toldIgnored)) return;
  told.set(toldIgnored, "");
  status.event(instance.meta, { type: "Warning", reason: "RolloutsIgnored", message: rolloutsIgnored });
}

export const rolloutsIgnored =
  "spec.cacheClear.afterRolloutOf does nothing without a cluster: there are no rollouts to follow. Clear with a WafCacheClear or with wafsync clear-cache.";

const toldFault = "rolloutFault";
const toldIgnored = "rolloutsIgnored";

function nameSome(workloads: readonly string[]): string {
  const more = workloads.length - workloadsNamedMax;
  return `${workloads.slice(0, workloadsNamedMax).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}
