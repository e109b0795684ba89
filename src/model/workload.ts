// Workloads whose rollouts clear the cache of an instance.
import type { WorkloadRef } from "./declared.ts";

export interface Rollout {
  /** `uid/revision`: another one with each rollout, but not when the workload is only scaled. */
  readonly id: string;
  readonly isComplete: boolean;
  /** The controller has not observed the last change of the object, so it is unknown whether a rollout follows. */
  readonly isUnobserved?: true;
}

/** A workload at one moment. */
export interface WorkloadSight {
  readonly workload: WorkloadRef;
  /** Undefined if the workload does not exist, or if wafsync may not read it. */
  readonly rollout: Rollout | undefined;
  /** What the rollout waits for, or why there is none; empty if it is complete. */
  readonly message: string;
}

export interface RolloutRecord {
  /** The `workloadKey` of the workload. */
  readonly workload: string;
  /** The `id` of the last handled rollout; empty if another one has begun since. */
  readonly handled: string;
  /** When the cache was last cleared for the workload. */
  readonly clearedAtMs: number | undefined;
}

/** `Deployment shop/web`. */
export function workloadKey({ kind, namespace, name }: WorkloadRef): string {
  return `${kind} ${namespace}/${name}`;
}
