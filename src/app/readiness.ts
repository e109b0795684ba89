// Whether an outcome makes the instance Ready. The outcome does not contain this itself, so this module assesses the facts with
// the function that reports them. It never reads a stored status.
import { findCondition } from "../api/conditions.ts";
import type { ReconcileOutcome } from "../reconcile/converge/finish.ts";
import { isCutOff } from "../reconcile/run-result.ts";
import { instanceStatus } from "../reconcile/status/instance-status.ts";

/** Undefined after a run that reports nothing, because the readiness of the instance is then unchanged. */
export function readinessOf({ result, facts }: ReconcileOutcome): boolean | undefined {
  if (facts === undefined) return undefined;
  if (isCutOff(result)) return undefined;
  const { conditions = [] } = instanceStatus({}, facts, undefined);
  return findCondition(conditions, "Ready")?.status === "True";
}
