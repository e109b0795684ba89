// Whether an outcome makes the instance Ready. The outcome does not say so itself, so this assesses its facts with the same
// function that reports them; it never reads a status that was written.
import { findCondition } from "../api/conditions.ts";
import type { ConvergeOutcome } from "../reconcile/converge/run.ts";
import { instanceStatus } from "../reconcile/status/instance-status.ts";

/** Undefined after a run that reports nothing: then the instance is as ready as it was before. */
export function readinessOf({ end, facts }: ConvergeOutcome): boolean | undefined {
  if (facts === undefined) return undefined;
  if (end.end === "Interrupted" || end.end === "Outdated" || end.end === "Gone") return undefined;
  const { conditions = [] } = instanceStatus({}, facts, undefined);
  return findCondition(conditions, "Ready")?.status === "True";
}
