// What a reconcile run knows at one moment, as plain facts. Statuses, events and the output of commands are derived from them.
import type { Gathered } from "../model/gathered.ts";
import type { Inventory } from "../model/inventory.ts";
import type { Observed } from "../model/observed.ts";
import type { DesiredState } from "../decide/desired.ts";
import type { DriftedEntry } from "../decide/drift.ts";
import type { Plan } from "../decide/plan.ts";
import type { EntryChange } from "./entry-changes.ts";
import type { RunResult } from "./run-result.ts";

/** How many writes the API accepted in this run. */
export interface WritesDone {
  readonly added: number;
  readonly removed: number;
  readonly originsAdded: number;
  readonly originsRemoved: number;
  /** Entries that became managed without a call. */
  readonly adopted: number;
}

export const nothingDone: WritesDone = { added: 0, removed: 0, originsAdded: 0, originsRemoved: 0, adopted: 0 };

export function writesOf({ added, removed, originsAdded, originsRemoved }: WritesDone): number {
  return added + removed + originsAdded + originsRemoved;
}

export interface Pace {
  readonly done: number;
  readonly left: number;
  /** Undefined until there were enough writes to compute the rate. */
  readonly perSecond: number | undefined;
}

/** Fewer writes are not enough to compute the rate. */
const paceFrom = 5;

export function paceOf(writes: WritesDone, left: number, tookMs: number): Pace {
  const done = writesOf(writes);
  return { done, left, perSecond: done < paceFrom || tookMs <= 0 ? undefined : (done * 1000) / tookMs };
}

export interface RunFacts {
  readonly gathered: Gathered;
  readonly desired: DesiredState;
  /** `Started`: nothing has been read yet. */
  readonly phase: "Started" | "Applying" | "Ended";
  /** Undefined until the run has ended. */
  readonly result: RunResult | undefined;
  /** Undefined until the WAF has been read. */
  readonly observed: Observed | undefined;
  readonly plan: Plan | undefined;
  /** The list counts of the plan, updated with the writes since. */
  readonly lists: Plan["lists"] | undefined;
  readonly inventory: Inventory | undefined;
  readonly done: WritesDone;
  /** The entries that were added and removed, by rule. */
  readonly changes: readonly EntryChange[];
  /** The number of declared entries that were on the lists before there was a record. They count as foreign. */
  readonly unrecorded: number;
  /** Differences from the declared state that another writer caused before the run. */
  readonly drift: readonly DriftedEntry[];
  readonly pace: Pace | undefined;
  /** Why the run is waiting at the moment. */
  readonly waiting: string | undefined;
  readonly nowMs: number;
  readonly retryAtMs: number | undefined;
}
