// What the process remembers of one instance between two runs. Losing it costs nothing but repeated events: whatever must
// survive is in the inventory.
import type { ApiKey } from "../../model/api-key.ts";
import type { ListName } from "../../model/declared.ts";
import type { Entry } from "../../model/entry.ts";
import type { Inventory } from "../../model/inventory.ts";
import type { Observed } from "../../model/observed.ts";
import type { Refusal } from "../../model/inventory.ts";
import type { Operation } from "../../model/operation.ts";
import type { LastSeen } from "../../plan/instance/drift.ts";
import { refusalEndsAtMs } from "../../plan/lists/refusals.ts";
import { ClearMemory } from "../cache-clear/clear-records.ts";
import type { RunResult } from "../run-result.ts";
import { EmittedEvents } from "../status/emitted-events.ts";

/** How many removed entries of one list are remembered, the latest; one that comes back later is not reported as drift. */
export const removedMax = 10_000;

/**
 * How many refusals beyond those of the inventory are remembered, the latest, besides those of the current run. The next run tries
 * those forgotten again, once.
 */
export const olderRefusalsMax = 100_000;

export interface BackOff {
  /** Of the monotonic clock. */
  readonly untilMs: number;
  readonly result: RunResult;
  /** A new key is tried immediately. */
  readonly attempted: string;
}

/** A key, and its purpose: it is not sent to another URL, or for another instance with the same name. */
export interface KnownKey {
  readonly key: ApiKey;
  readonly baseUrl: string;
  readonly uid: string;
}

export interface InstanceMemory {
  /** Runs in a row that failed. */
  failures: number;
  /** While the instance backs off: until when, from what, and for which key and address. */
  backOff: BackOff | undefined;
  /** The cache has caught up with a fresh read of this process, so it is not older than the process. */
  hasCaughtUp: boolean;
  /** The lists as the last run left them. */
  lastSeen: LastSeen | undefined;
  /** What wafsync removed itself, oldest first, at most `removedMax` of a list. */
  readonly removed: Readonly<Record<ListName, Set<Entry>>>;
  /** Refused writes that the inventory has no room for, by `operationKey`, oldest first. */
  readonly olderRefusals: Map<string, Refusal>;
  lastObserved: Observed | undefined;
  lastSyncMs: number | undefined;
  /** The managed entries when they last affected the desired state, so that a run that can't load them reports the same result. */
  managed: Inventory["entries"] | undefined;
  /** `namespace/name` of the instance whose record was taken over or no longer exists. */
  continued: string | undefined;
  /** Until when removals are on hold for the objects of an instance that continues another one, by the monotonic clock. */
  arrivedAtMs: number | undefined;
  /** The last key that could be read: the WAF is still cleaned up when the Secret is gone before the instance. */
  key: KnownKey | undefined;
  /** When the release of a deleted instance began, or last got further, by the monotonic clock. */
  releasingSinceMs: number | undefined;
  /** The least number of removals that a run of the release left. */
  removalsLeft: number | undefined;
  /** When an entry of the rule last changed on the WAF, by `namespace/name`. */
  readonly ruleChangedMs: Map<string, number>;
  readonly cacheClears: ClearMemory;
  readonly emitted: EmittedEvents;
}

export function newInstanceMemory(): InstanceMemory {
  return {
    failures: 0,
    backOff: undefined,
    hasCaughtUp: false,
    lastSeen: undefined,
    removed: { blocklist: new Set(), allowlist: new Set() },
    olderRefusals: new Map(),
    lastObserved: undefined,
    lastSyncMs: undefined,
    managed: undefined,
    continued: undefined,
    arrivedAtMs: undefined,
    key: undefined,
    releasingSinceMs: undefined,
    removalsLeft: undefined,
    ruleChangedMs: new Map(),
    cacheClears: new ClearMemory(),
    emitted: new EmittedEvents(),
  };
}

/** The API accepted the write: remembers which rules it was for, and which entries wafsync itself removed. */
export function noteWrite({ removed, ruleChangedMs }: InstanceMemory, operation: Operation, nowMs: number): void {
  if (operation.kind === "AddEntry") {
    removed[operation.list].delete(operation.entry);
    for (const id of operation.rules) ruleChangedMs.set(id, nowMs);
  }
  if (operation.kind === "RemoveEntry") {
    const entries = removed[operation.list];
    entries.delete(operation.entry);
    entries.add(operation.entry);
    for (const oldest of entries) {
      if (entries.size <= removedMax) break;
      entries.delete(oldest);
    }
  }
}

/** Remembers a refusal that the inventory has no room for. A run forgets none of its own: it would try them again without end. */
export function noteRefusal(
  { olderRefusals }: InstanceMemory,
  refusal: Refusal,
  nowMs: number,
  startedMs: number,
): void {
  olderRefusals.delete(refusal.operation);
  olderRefusals.set(refusal.operation, refusal);
  for (const [operation, oldest] of olderRefusals) {
    const isOfRun = oldest.refusedAtMs >= startedMs;
    if (nowMs < refusalEndsAtMs(oldest) && (isOfRun || olderRefusals.size <= olderRefusalsMax)) break;
    olderRefusals.delete(operation);
  }
}

/** Forgets the rules that no longer exist: another one of the same name starts from scratch. */
export function forgetRulesBut({ emitted, ruleChangedMs }: InstanceMemory, existing: ReadonlySet<string>): void {
  for (const id of ruleChangedMs.keys()) if (!existing.has(id)) ruleChangedMs.delete(id);
  emitted.forgetRulesBut(existing);
}
