// The progress of each WafCacheClear of an instance. As with a Job, the status of the object is its record. This process relies
// on its own last record, because the status that it reads may be stale.
import { detailOf, findCondition } from "../kinds/conditions.ts";
import { wafCacheClearStatus } from "../kinds/waf-cache-clear.ts";
import type { WafCacheClearStatus } from "../kinds/waf-cache-clear.ts";
import type { DeclaredCacheClear } from "../model/declared.ts";
import type { HandledTrigger } from "../model/inventory.ts";
import type { ClearFinish, ClearRecord } from "./cache-clear.ts";
import type { StatusPort } from "../run/ports.ts";
import { clearName } from "./rollouts.ts";

/** What the process remembers about the cache clears of one instance. */
export class ClearMemory {
  #notBeforeMs = 0;
  #notedAtMs = 0;
  /** The records of workloads that could not be stored; they replace the stored ones. */
  unsavedRollouts: readonly HandledTrigger[] = [];
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

  /** What is known about the clear; undefined if it was never advanced. Only objects have a status. */
  recordOf(clear: DeclaredCacheClear, status: Pick<StatusPort, "read">): ClearRecord | undefined {
    return this.recordIn(clear, status.read(clear.meta));
  }

  /** The same if the status of the object is known. */
  recordIn(clear: DeclaredCacheClear, status: object | undefined): ClearRecord | undefined {
    const known = this.#records.get(recordKey(clear));
    return known ?? (clear.workload === undefined ? readRecord(status) : undefined);
  }

  keep(clear: DeclaredCacheClear, record: ClearRecord): void {
    this.#records.set(recordKey(clear), record);
  }

  /** Forgets the clears that are no longer declared. */
  keepOnly(clears: readonly DeclaredCacheClear[]): void {
    if (this.#records.size === 0) return;
    const declared = new Set(clears.map(recordKey));
    for (const key of this.#records.keys()) if (!declared.has(key)) this.#records.delete(key);
  }
}

/** What the instance remembers of a clear; nothing if it has cleared nothing. */
export function handledBy(clear: DeclaredCacheClear, { trigger, finish }: ClearRecord): HandledTrigger[] {
  if (finish?.state !== "Cleared") return [];
  return [{ cacheClear: clearName(clear), trigger, handledAtMs: finish.clearedAtMs }];
}

/** A recreated object with the same name has its own record. In a directory, objects have only a name. */
function recordKey(clear: DeclaredCacheClear): string {
  return `${clearName(clear)} ${clear.meta.uid}`;
}

/** Reads the record from a status. Returns undefined if no work was started, or if the status is invalid. */
function readRecord(status: object | undefined): ClearRecord | undefined {
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

function readFinish({ conditions, completionTime, coalescedWith }: WafCacheClearStatus): ClearFinish | undefined {
  const failed = findCondition(conditions, "Failed");
  if (failed?.status === "True") {
    const atMs = timeOf(failed.lastTransitionTime) ?? 0;
    return { state: "Failed", atMs, message: detailOf(conditions, "Failed") ?? "" };
  }
  const complete = findCondition(conditions, "Complete");
  if (complete?.status !== "True") return undefined;
  const atMs = timeOf(complete.lastTransitionTime) ?? 0;
  return { state: "Cleared", atMs, clearedAtMs: timeOf(completionTime) ?? atMs, with: coalescedWith };
}

function timeOf(text: string | undefined): number | undefined {
  const timeMs = text === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(timeMs) ? undefined : timeMs;
}
