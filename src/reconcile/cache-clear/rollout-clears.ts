// Cache clears after completed rollouts. The plan contains the decisions, and the inventory contains the records. The step that
// calls the WAF gets the rollouts from this module and reports the outcome to it.
import type { Gathered } from "../../model/gathered.ts";
import type { Inventory } from "../../model/inventory.ts";
import type { WafFault } from "../../model/waf-result.ts";
import type { RolloutRecord } from "../../model/workload.ts";
import type { ClearTrouble } from "../../plan/cache-clear/cache-clear.ts";
import { decideRollouts } from "../../plan/cache-clear/rollouts.ts";
import type { ClearMemory } from "./clear-records.ts";
import type { ResourceMeta } from "../../model/resource.ts";
import { listed } from "../../model/sentence.ts";
import type { EmittedEvents } from "../status/write-status.ts";
import type { StatusPort } from "../ports.ts";

/** How long to wait after a rate-limited call whose response does not say how long. */
const rateLimitedMs = 10_000;
const workloadsNamedMax = 5;

export interface RolloutClears {
  /** The records to store. */
  readonly records: readonly RolloutRecord[];
  /** Keys of the workloads that a call would be for. */
  readonly pending: readonly string[];
  readonly isDue: boolean;
  /** When the decision changes without a change of the objects; undefined if it does not. */
  readonly nextMs: number | undefined;
}

export interface RolloutSituation {
  readonly gathered: Gathered;
  readonly records: Inventory["rollouts"];
  readonly trouble: ClearTrouble | undefined;
  readonly nowMs: number;
}

export function decideRolloutClears(memory: Pick<ClearMemory, "notBefore">, scene: RolloutSituation): RolloutClears {
  const { gathered, records, trouble, nowMs } = scene;
  const { instance, workloads } = gathered;
  if (workloads === undefined) return { records, pending: [], isDue: false, nextMs: undefined };
  const decision = decideRollouts({
    sights: workloads,
    records,
    minIntervalMs: instance.cacheClear.minIntervalMs,
    notBeforeMs: memory.notBefore(nowMs),
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

/** Where events about rollouts are emitted, and which were emitted last. */
interface RolloutEvents {
  readonly status: Pick<StatusPort, "event">;
  readonly emitted: EmittedEvents;
  readonly instance: ResourceMeta;
}

/** Call this when a call has cleared the cache for these rollouts. */
export function noteRolloutsCleared(
  { status, emitted, instance }: RolloutEvents,
  memory: ClearMemory,
  { pending }: RolloutClears,
): void {
  memory.rolloutFault = undefined;
  emitted.isNew(faultSubject, undefined);
  if (pending.length === 0) return;
  const message = `The API has started to clear the cache after the rollout of ${listed(pending, workloadsNamedMax)}.`;
  status.event(instance, { type: "Normal", reason: "CacheCleared", message });
}

/** Call this when a call for rollouts has failed. It is retried with backoff, without a limit. */
export function noteRolloutFault(
  { status, emitted, instance }: RolloutEvents,
  memory: ClearMemory,
  { pending }: RolloutClears,
  fault: WafFault,
  nowMs: number,
): void {
  if (pending.length === 0) return;
  const waitMs = fault.retryAfterMs ?? (fault.code === "RateLimited" ? rateLimitedMs : 0);
  memory.wait(nowMs + waitMs, nowMs);
  memory.rolloutFault = fault.message;
  if (!emitted.isNew(faultSubject, fault.code)) return;
  const message = `The cache was not cleared after the rollout of ${listed(pending, workloadsNamedMax)}; wafsync retries. ${fault.message}`;
  status.event(instance, { type: "Warning", reason: "CacheClearFailed", message });
}

/** Outside a cluster, warns once that afterRolloutOf has no effect. */
export function emitRolloutsIgnored({ status, emitted }: RolloutEvents, { instance, workloads }: Gathered): void {
  if (workloads !== undefined || instance.cacheClear.afterRolloutOf.length === 0) return;
  if (!emitted.isNew(ignoredSubject, "ignored")) return;
  status.event(instance.meta, { type: "Warning", reason: "RolloutsIgnored", message: rolloutsIgnored });
}

export const rolloutsIgnored =
  "spec.cacheClear.afterRolloutOf has no effect without a cluster: there are no rollouts to follow. Use a WafCacheClear or wafsync clear-cache instead.";

const faultSubject = "rolloutFault";
const ignoredSubject = "rolloutsIgnored";
