// Workloads whose rollouts clear the cache of an instance, as they are seen wherever they live.
import type { WorkloadRef } from "./declared.ts";

/** The progress of a rollout in a sentence, by the rules of `kubectl rollout status`. */
export interface RolloutProgress {
  /** `Failed`: it exceeded its deadline, and may still succeed. `Untracked`: its rollouts can't be followed. */
  readonly state: "Complete" | "Progressing" | "Failed" | "Untracked";
  readonly message: string;
}

/** A workload at one moment. */
export interface SeenWorkload {
  readonly uid: string;
  readonly generation: number;
  /** Another one for each rollout, and the same after a mere scale. Empty until the workload's controller has set it. */
  readonly revision: string;
  /** Names what the pods run: equal again after a rollback. */
  readonly content: string;
  /** No rollout is begun meanwhile. */
  readonly isPaused: boolean;
  readonly progress: RolloutProgress;
  /** It was complete at this revision once, whatever happened since: a scale does not undo a rollout. */
  readonly isRolledOut: boolean;
  /** It was not complete at this revision at first, as far as it was watched. */
  readonly wasUnderWay: boolean;
}

export type WorkloadSight =
  | { readonly state: "Seen"; readonly workload: WorkloadRef; readonly seen: SeenWorkload }
  /** It is not there, or may not be seen. */
  | { readonly state: "Unseen"; readonly workload: WorkloadRef; readonly problem: string };

/** What the instance remembers of a workload. */
export interface RolloutRecord {
  /** `workloadKey` of it. */
  readonly workload: string;
  readonly uid: string;
  /** Of the rollout that was handled last. */
  readonly revision: string;
  readonly content: string;
  /** A rollout has begun since, so when one is complete the cache is cleared, even if it brings back the old content. */
  readonly hasBegun: boolean;
  /** When the cache was last cleared for it. */
  readonly clearedAtMs: number | undefined;
  /** Calls that were begun for what is not handled yet, each recorded ahead. */
  readonly attempts: number;
  readonly attemptedAtMs: number | undefined;
}

/** `Deployment shop/web`. */
export function workloadKey({ kind, namespace, name }: WorkloadRef): string {
  return `${kind} ${namespace}/${name}`;
}
