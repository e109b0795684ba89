// Observed workloads, for tests.
import type { WorkloadSight } from "../../src/model/workload.ts";

/** The Deployment `edge/web` at a revision, by default complete. */
export function aSight(
  revision = 1,
  { isComplete = true, isUnobserved = false, uid = "u-1", name = "web" } = {},
): WorkloadSight {
  return {
    workload: { kind: "Deployment", namespace: "edge", name },
    rollout: { id: `${uid}/${revision}`, isComplete, ...(isUnobserved ? { isUnobserved } : {}) },
    message: isComplete ? "" : "1 of 2 pods are updated.",
  };
}
