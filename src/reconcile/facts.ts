// What a pass knows at one moment, as plain facts: status, events and commands are all made from these.
import type { Gathered } from "../model/gathered.ts";
import type { DesiredState } from "../plan/instance/desired.ts";
import type { Observed } from "../model/observed.ts";
import type { Inventory } from "../model/inventory.ts";
import { summarizeLists } from "../plan/instance/plan.ts";
import type { Plan } from "../plan/instance/plan.ts";
import type { Pass } from "./converge/run-state.ts";
import type { RunResult } from "./run-result.ts";

export interface Pace {
  readonly done: number;
  readonly left: number;
  /** Undefined until enough was done to tell. */
  readonly perSecond: number | undefined;
}

export interface RunFacts {
  readonly gathered: Gathered;
  readonly desired: DesiredState;
  /** `Started`: nothing was read yet. */
  readonly phase: "Started" | "Applying" | "Ended";
  readonly end: RunResult | undefined;
  /** Undefined as long as the WAF could not be read. */
  readonly observed: Observed | undefined;
  readonly plan: Plan | undefined;
  /** The list counts of the plan, brought up to date with what was done since. */
  readonly lists: Plan["lists"] | undefined;
  readonly inventory: Inventory | undefined;
  readonly done: Pass["done"];
  readonly pace: Pace | undefined;
  /** Why the pass waits just now. */
  readonly waiting: string | undefined;
  readonly nowMs: number;
  readonly retryAtMs: number | undefined;
}

/** Fewer writes than this say nothing about the pace. */
const paceFrom = 5;

export function factsOf(input: {
  readonly gathered: Gathered;
  readonly desired: DesiredState;
  readonly phase: RunFacts["phase"];
  readonly end?: RunResult;
  readonly pass?: Pass | undefined;
  readonly nowMs: number;
  readonly retryAtMs?: number | undefined;
}): RunFacts {
  const { pass } = input;
  return {
    gathered: input.gathered,
    desired: input.desired,
    phase: input.phase,
    end: input.end,
    observed: pass?.observed,
    plan: pass?.plan,
    lists: pass === undefined ? undefined : currentLists(pass),
    inventory: pass?.inventory,
    done: pass?.done ?? { added: 0, removed: 0, originsAdded: 0, originsRemoved: 0 },
    pace: pass === undefined ? undefined : paceOf(pass, input.nowMs),
    waiting: pass?.waiting,
    nowMs: input.nowMs,
    retryAtMs: input.retryAtMs,
  };
}

function paceOf(pass: Pass, nowMs: number): Pace {
  const { added, removed, originsAdded, originsRemoved } = pass.done;
  const done = added + removed + originsAdded + originsRemoved;
  const seconds = (nowMs - pass.startedMs) / 1000;
  const perSecond = done < paceFrom || seconds <= 0 ? undefined : done / seconds;
  return { done, left: pass.plan.operations.length - pass.next, perSecond };
}

function currentLists({ plan, observed, inventory, next }: Pass): Plan["lists"] {
  if (next === 0) return plan.lists;
  return summarizeLists(observed, inventory, plan.operations.slice(next), plan);
}
