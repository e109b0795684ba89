// What the process remembers about one instance between two runs. Losing it only repeats events: everything that must survive is
// in the inventory.
import type { ApiKey } from "../model/api-key.ts";
import type { ListName } from "../model/declared.ts";
import type { Entry } from "../address/entry.ts";
import type { Inventory } from "../model/inventory.ts";
import type { Observed } from "../model/observed.ts";
import type { Refusal } from "../model/inventory.ts";
import type { Operation } from "../model/operation.ts";
import { Books } from "../decide/desired.ts";
import type { LastSeen } from "../decide/drift.ts";
import { refusalEndsAtMs } from "../decide/refusals.ts";
import type { RunHooks } from "./run-hooks.ts";
import type { RunResult } from "./run-result.ts";
import { EmittedEvents } from "./status/write-status.ts";

/** The maximum number of removed entries that are remembered for each list. If a forgotten one reappears, this is not reported as drift. */
export const removedMax = 10_000;

/**
 * The maximum number of refusals that are remembered in addition to those in the inventory and those of the current run. The
 * oldest are forgotten first, and the next run retries them once.
 */
export const olderRefusalsMax = 100_000;

export interface BackOff {
  /** By the monotonic clock. */
  readonly untilMs: number;
  readonly result: RunResult;
  /** Identifies the failed attempt: a different attempt, for example with a new key, is made immediately. */
  readonly attempted: string;
}

/** A key, and its purpose: it is not sent to another URL, or for another instance with the same name. */
export interface KnownKey {
  readonly key: ApiKey;
  readonly baseUrl: string;
  readonly uid: string;
}

export interface InstanceMemory {
  /** The number of consecutive failed runs. */
  failures: number;
  /** Set while the instance backs off. */
  backOff: BackOff | undefined;
  /** Whether the cache has caught up with a fresh read of this process, so that it is not older than the process. */
  hasCaughtUp: boolean;
  /** The lists as the last run left them. */
  lastSeen: LastSeen | undefined;
  /** The entries that wafsync itself removed, oldest first, at most `removedMax` for each list. */
  readonly removed: Readonly<Record<ListName, Set<Entry>>>;
  /** Refused writes that the inventory has no room for, by `operationKey`, oldest first. */
  readonly olderRefusals: Map<string, Refusal>;
  lastObserved: Observed | undefined;
  lastSyncMs: number | undefined;
  /** The record when it last affected the desired state, so that a run that can't load it reports the same result. */
  record: Inventory | undefined;
  /** `namespace/name` of the instance whose record was taken over or no longer exists. */
  continued: string | undefined;
  /** Until when (monotonic) removals are on hold while the objects of an instance that continues another one arrive. */
  arrivedAtMs: number | undefined;
  /** The last key that could be read, to clean up the WAF even if the Secret is deleted before the instance. */
  key: KnownKey | undefined;
  /** When (monotonic) the release of a deleted instance began or last made progress. */
  releasingSinceMs: number | undefined;
  /** The smallest number of removals that any run of the release left. */
  removalsLeft: number | undefined;
  /** When an entry of the rule last changed on the WAF, by `namespace/name`. */
  readonly ruleChangedMs: Map<string, number>;
  /** What else happens in its runs; undefined before the first one. */
  hooks: RunHooks | undefined;
  readonly emitted: EmittedEvents;
  readonly books: Books;
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
    record: undefined,
    continued: undefined,
    arrivedAtMs: undefined,
    key: undefined,
    releasingSinceMs: undefined,
    removalsLeft: undefined,
    ruleChangedMs: new Map(),
    hooks: undefined,
    emitted: new EmittedEvents(),
    books: new Books(),
  };
}

/** Remembers an accepted write: which rules it was for, and which entries wafsync itself removed. */
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

/** Remembers a refusal that the inventory has no room for. A run forgets none of its own, because it would retry them endlessly. */
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

/** Forgets rules that no longer exist, so that a new rule with the same name starts from scratch. */
export function forgetRulesBut({ emitted, ruleChangedMs }: InstanceMemory, existing: ReadonlySet<string>): void {
  for (const id of ruleChangedMs.keys()) if (!existing.has(id)) ruleChangedMs.delete(id);
  emitted.forgetRulesBut(existing);
}
