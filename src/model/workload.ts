// Workloads whose rollouts clear the cache of an instance.
import type { WorkloadRef } from "./declared.ts";

/** The progress of a rollout, by the rules of `kubectl rollout status`. */
export interface RolloutProgress {
  /** `Failed`: it exceeded its deadline, and may still succeed. `Untracked`: its rollouts can't be followed. */
  readonly state: "Complete" | "Progressing" | "Failed" | "Untracked";
  readonly message: string;
}

/** A workload at one moment. */
export interface SeenWorkload {
  readonly uid: string;
  readonly generation: number;
  /** Changes with each rollout, but not when the workload is only scaled. Empty until the workload's controller has set it. */
  readonly revision: string;
  /** Identifies what the pods run: equal again after a rollback. */
  readonly content: string;
  /** While paused, no rollout begins. */
  readonly isPaused: boolean;
  readonly progress: RolloutProgress;
  /** Whether it was ever complete at this revision; scaling does not undo a rollout. */
  readonly isRolledOut: boolean;
  /** Whether it was seen at this revision before it was complete. */
  readonly wasUnderWay: boolean;
}

export type WorkloadSight =
  | { readonly state: "Seen"; readonly workload: WorkloadRef; readonly seen: SeenWorkload }
  /** It does not exist, or wafsync may not read it. */
  | { readonly state: "Unseen"; readonly workload: WorkloadRef; readonly problem: string };

/** The record of a workload's rollouts. */
export interface RolloutRecord {
  /** The `workloadKey` of the workload. */
  readonly workload: string;
  readonly uid: string;
  /** The revision of the last handled rollout. */
  readonly revision: string;
  readonly content: string;
  /** A rollout has begun since, so the cache is cleared when one is complete, even if it restores the old content. */
  readonly hasBegun: boolean;
  /** When the cache was last cleared for it. */
  readonly clearedAtMs: number | undefined;
  /** Calls that were begun for the unhandled rollout, each recorded before it was sent. */
  readonly attempts: number;
  readonly attemptedAtMs: number | undefined;
}

/** `Deployment shop/web`. */
export function workloadKey({ kind, namespace, name }: WorkloadRef): string {
  return `${kind} ${namespace}/${name}`;
}
