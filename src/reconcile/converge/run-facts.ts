// Collects what a run knows into the facts for its reports.
import type { Clock } from "../../async/clock.ts";
import type { Plan } from "../../plan/instance/plan.ts";
import { summarizeLists } from "../../plan/instance/progress.ts";
import { paceOf } from "../facts.ts";
import type { RunFacts } from "../facts.ts";
import type { RunResult } from "../run-result.ts";
import type { View } from "./view.ts";
import type { WriteLedger } from "./write-ledger.ts";

export interface RunningState {
  readonly view: View;
  readonly plan: Plan;
  /** The number of remaining operations of the plan. */
  readonly left: number;
  readonly ledger: WriteLedger;
  readonly ports: { readonly clock: Pick<Clock, "nowMs" | "monotonicMs"> };
  readonly progress: { readonly waiting: string | undefined };
  /** By the monotonic clock. */
  readonly beganMs: number;
  readonly unrecorded: number;
}

export interface RunEnd {
  readonly result: RunResult;
  readonly retryAtMs?: number | undefined;
}

export function factsOfRun(
  { view, plan, left, ledger, ports, progress, beganMs, unrecorded }: RunningState,
  phase: RunFacts["phase"],
  ended?: RunEnd,
): RunFacts {
  const { gathered, desired, inventory, drift } = view;
  const observed = ledger.shown(view.observed);
  const remaining = plan.operations.slice(plan.operations.length - left);
  const hasBegun = left < plan.operations.length;
  const nowMs = ports.clock.nowMs();
  return {
    gathered,
    desired,
    phase,
    result: ended?.result,
    observed,
    plan,
    lists: hasBegun
      ? summarizeLists(observed, inventory, remaining, {
          held: plan.held,
          coveredOn: (list) => plan.lists[list].covered,
          overflowOn: (list) => plan.lists[list].overflow,
        })
      : plan.lists,
    inventory,
    done: ledger.done,
    changes: ledger.changes(),
    unrecorded,
    drift,
    pace: paceOf(ledger.done, left, ports.clock.monotonicMs() - beganMs),
    waiting: progress.waiting,
    nowMs,
    retryAtMs: ended?.retryAtMs,
  };
}
