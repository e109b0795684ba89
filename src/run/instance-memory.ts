// What the process remembers about one instance between two runs. Losing it only repeats events: everything that must survive is
// in the inventory.
import type { ApiKey } from "../model/api-key.ts";
import type { Inventory, Refusal } from "../model/inventory.ts";
import type { Observed, SeenLists } from "../model/observed.ts";
import { Books } from "../decide/desired.ts";
import { refusalEndsAtMs } from "../decide/refusals.ts";
import type { RunHooks } from "./ports.ts";
import type { RunResult } from "./facts.ts";

interface BackOff {
  readonly untilMs: number;
  readonly result: RunResult;
  /** Another attempt, as with a new key, is made at once. */
  readonly attempted: string;
  readonly failures: number;
}

export class InstanceMemory {
  /** Set while the instance backs off: until when (monotonic), from which attempt, and after how many failed runs in a row. */
  backOff: BackOff | undefined;
  /** Whether the cache has caught up with a fresh read of this process, so that it is not older than the process. */
  hasCaughtUp = false;
  /** The lists as the last run left them. */
  lastSeen: SeenLists | undefined;
  /** Refused writes of the last hour that the inventory has no room for, by `operationKey`. */
  readonly olderRefusals = new Map<string, Refusal>();
  lastObserved: Observed | undefined;
  /** The record when it last affected the desired state, so that a run that can't load it reports the same result. */
  record: Inventory | undefined;
  /** `namespace/name` of the instance whose record was taken over or no longer exists. */
  continued: string | undefined;
  /** Until when (monotonic) removals are on hold while the objects of an instance that continues another one arrive. */
  arrivedAtMs: number | undefined;
  /**
   * The last key that could be read, to clean up the WAF even if the Secret is deleted before the instance. It is not sent to
   * another URL, or for another instance with the same name.
   */
  key: { readonly key: ApiKey; readonly baseUrl: string; readonly uid: string } | undefined;
  /** When (monotonic) the release of a deleted instance began or last made progress. */
  releasingSinceMs: number | undefined;
  /** The smallest number of removals that any run of the release left. */
  removalsLeft: number | undefined;
  /** When an entry of the rule last changed on the WAF, by `namespace/name`. */
  readonly ruleChangedMs = new Map<string, number>();
  /** What else happens in its runs; undefined before the first one. */
  hooks: RunHooks | undefined;
  /** The last event about each subject, so that none is emitted twice: a word, or a word and the `namespace/name` of a rule. */
  readonly emitted = new Map<string, string>();
  readonly books = new Books();

  /** Forgets rules that no longer exist, so that a new rule with the same name starts from scratch, and refusals that have ended. */
  forget(existing: ReadonlySet<string>, nowMs: number): void {
    for (const [operation, refusal] of this.olderRefusals)
      if (nowMs >= refusalEndsAtMs(refusal)) this.olderRefusals.delete(operation);
    for (const id of this.ruleChangedMs.keys()) if (!existing.has(id)) this.ruleChangedMs.delete(id);
    for (const subject of this.emitted.keys()) {
      const [, id] = subject.split(" ");
      if (id !== undefined && !existing.has(id)) this.emitted.delete(subject);
    }
  }
}
