// What the process keeps of one instance between two passes. Losing it costs nothing but a few words in events: whatever
// must survive is in the inventory.
import type { ListName } from "../../model/declared.ts";
import type { ApiKey } from "../../model/api-key.ts";
import type { Entry } from "../../model/entry.ts";
import type { LastSeen } from "../../plan/instance/drift.ts";
import type { Observed } from "../../model/observed.ts";
import type { ClearMemory } from "../cache-clear/clear-records.ts";
import { newClearMemory } from "../cache-clear/clear-records.ts";
import type { RunResult } from "../run-result.ts";

export interface BackOff {
  readonly untilMs: number;
  readonly end: RunResult;
  /** Another one is tried at once: somebody may have mended it. */
  readonly attempted: string;
}

export interface InstanceMemory {
  /** Passes in a row that failed. */
  failures: number;
  /** While the instance backs off: until when, from what, and for which key and address. */
  backOff: BackOff | undefined;
  /** The lists as the last pass left them. */
  lastSeen: LastSeen | undefined;
  removed: Record<ListName, Set<Entry>>;
  lastObserved: Observed | undefined;
  lastSyncMs: number | undefined;
  /** The last key that could be read: the WAF is still cleaned up when the Secret is gone before the instance. */
  key: ApiKey | undefined;
  /** When the release of a deleted instance began. */
  releasingSinceMs: number | undefined;
  /** When an entry of the rule last changed on the WAF, by `namespace/name`. */
  readonly ruleChangedMs: Map<string, number>;
  readonly cacheClears: ClearMemory;
  /** What events told about last, so that each thing is told once. */
  readonly told: Map<string, string>;
}

export function newInstanceMemory(): InstanceMemory {
  return {
    failures: 0,
    backOff: undefined,
    lastSeen: undefined,
    removed: { blocklist: new Set(), allowlist: new Set() },
    lastObserved: undefined,
    lastSyncMs: undefined,
    key: undefined,
    releasingSinceMs: undefined,
    ruleChangedMs: new Map(),
    cacheClears: newClearMemory(),
    told: new Map(),
  };
}

/** Forgets the rules that are no more: another one of the same name begins anew. */
export function forgetRulesBut(memory: InstanceMemory, existing: ReadonlySet<string>): void {
  for (const id of memory.ruleChangedMs.keys()) if (!existing.has(id)) memory.ruleChangedMs.delete(id);
  for (const name of memory.told.keys()) {
    const id = name.slice(name.indexOf(" ") + 1);
    if (id !== name && !existing.has(id)) memory.told.delete(name);
  }
}
