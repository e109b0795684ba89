// The result of a reconcile run as metrics and the log name it.
import type { RunResult } from "../reconcile/run-result.ts";
import type { ReconcileResult } from "../telemetry/metrics-reconciles.ts";

const results: Readonly<Record<RunResult["kind"], ReconcileResult>> = {
  Done: "success",
  Gone: "success",
  Failed: "error",
  Unsettled: "requeue",
  Outdated: "requeue",
  Yielded: "requeue",
  Blocked: "blocked",
  Interrupted: "interrupted",
};

/** @param isDeferred whether the run only reported, because the backoff of an earlier run has not ended */
export function reconcileResult({ kind }: RunResult, isDeferred: boolean): ReconcileResult {
  return isDeferred ? "requeue" : results[kind];
}
