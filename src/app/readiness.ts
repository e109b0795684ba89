// Whether an outcome makes the instance Ready. The outcome does not say so itself, so this assesses its facts with the same
// function that reports them; it never reads a status that was written.
import { findCondition } from "../api/conditions.ts";
import type { ReconcileOutcome } from "../reconcile/converge/finish.ts";
import { isCutOff } from "../reconcile/run-result.ts";
import { instanceStatus } from "../reconcile/status/instance-status.ts";

/** Undefined after a run that reports nothing: then the instance is as ready as it was before. */
export function readinessOf({ result, facts }: ReconcileOutcome): boolean | undefined {
  if (facts === undefined) return undefined;
  if (isCutOff(result)) return undefined;
  const { conditions = [] } = instanceStatus({}, facts, undefined);
  return findCondition(conditions, "Ready")?.status === "True";
}
