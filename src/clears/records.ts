// The progress of each WafCacheClear of an instance. As with a Job, the status of the object is its record. This process relies
// on its own last record, because the status that it reads may be stale.
import { findCondition } from "../kinds/conditions.ts";
import { wafCacheClearStatus } from "../kinds/waf-cache-clear.ts";
import type { WafCacheClearStatus } from "../kinds/waf-cache-clear.ts";
import type { DeclaredCacheClear } from "../model/declared.ts";
import type { ResourceMeta } from "../model/resource.ts";
import { nameKey } from "../model/resource.ts";
import type { RolloutRecord } from "../model/workload.ts";
import type { ClearFinish, ClearRecord } from "./cache-clear.ts";
import type { StatusPort } from "../run/ports.ts";
import type { RolloutFault } from "./rollouts.ts";

/** What the process remembers about the cache clears of one instance. */
export class ClearMemory {
  #notBeforeMs = 0;
  #notedAtMs = 0;
  /** Undefined unless the last call for a rollout failed. */
  rolloutFault: RolloutFault | undefined;
  /** Records that could not be stored; they replace the stored ones. */
  unsavedRollouts: readonly RolloutRecord[] | undefined;
  /** By `recordKey`. */
  readonly #records = new Map<string, ClearRecord>();

  /** The instance makes no call before this time. A wait that was noted at a later time than now is ignored: the clock was set back. */
  notBefore(nowMs: number): number {
    return nowMs < this.#notedAtMs ? 0 : this.#notBeforeMs;
  }

  wait(untilMs: number, nowMs: number): void {
    this.#notBeforeMs = Math.max(this.notBefore(nowMs), untilMs);
    this.#notedAtMs = nowMs;
  }

  /** What is known about the object; undefined if it was never advanced. */
  recordOf(status: Pick<StatusPort, "read">, { meta }: DeclaredCacheClear): ClearRecord | undefined {
    return this.#records.get(recordKey(meta)) ?? readRecord(status.read(meta));
  }

  keep({ meta }: DeclaredCacheClear, record: ClearRecord): void {
    this.#records.set(recordKey(meta), record);
  }

  /** Forgets the objects that are no longer declared. */
  keepOnly(clears: readonly DeclaredCacheClear[]): void {
    if (this.#records.size === 0) return;
    const declared = new Set(clears.map(({ meta }) => recordKey(meta)));
    for (const key of this.#records.keys()) if (!declared.has(key)) this.#records.delete(key);
  }
}

/** A recreated object with the same name has its own record. In a directory, objects have only a name. */
function recordKey(meta: ResourceMeta): string {
  return `${nameKey(meta)} ${meta.uid}`;
}

/** Reads the record from a status. Returns undefined if no work was started, or if the status is invalid. */
function readRecord(status: Readonly<Record<string, unknown>> | undefined): ClearRecord | undefined {
  if (status === undefined) return undefined;
  const parsed = wafCacheClearStatus.safeParse(status);
  if (!parsed.success) return undefined;
  const { startTime, attempts = 0, lastAttemptTime, lastTrigger, message = "" } = parsed.data;
  const finish = readFinish(parsed.data);
  if (startTime === undefined && attempts === 0 && finish === undefined) return undefined;
  return {
    trigger: lastTrigger ?? "",
    startedMs: timeOf(startTime),
    attempts,
    lastAttemptMs: timeOf(lastAttemptTime),
    message,
    finish,
  };
}

function readFinish({
  conditions,
  completionTime,
  coalescedWith,
  attempts = 0,
}: WafCacheClearStatus): ClearFinish | undefined {
  const failed = findCondition(conditions, "Failed");
  if (failed?.status === "True") {
    const atMs = timeOf(failed.lastTransitionTime) ?? 0;
    return { state: "Failed", atMs, message: failed.message };
  }
  const complete = findCondition(conditions, "Complete");
  if (complete?.status !== "True") return undefined;
  const atMs = timeOf(complete.lastTransitionTime) ?? 0;
  const clearedAtMs = timeOf(completionTime) ?? atMs;
  if (coalescedWith !== undefined) return { state: "Coalesced", atMs, clearedAtMs, with: coalescedWith };
  // Every other object whose clear succeeded has made an attempt.
  return { state: attempts === 0 ? "AlreadyHandled" : "Cleared", atMs, clearedAtMs };
}

function timeOf(text: string | undefined): number | undefined {
  const timeMs = text === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(timeMs) ? undefined : timeMs;
}
