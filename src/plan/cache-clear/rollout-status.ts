// Whether a rollout is complete, by the rules of `kubectl rollout status`. Where kubectl ends with an error, the rollout
// counts as failed or as one that can't be followed.
import type { RolloutProgress } from "../../model/workload.ts";

interface Generations {
  readonly generation: number;
  /** The generation that the workload's controller has observed; 0 if none. */
  readonly observedGeneration: number;
}

export interface DeploymentNumbers extends Generations {
  readonly kind: "Deployment";
  readonly desiredReplicas: number;
  readonly replicas: number;
  readonly updatedReplicas: number;
  readonly availableReplicas: number;
  readonly isOverDeadline: boolean;
}

export interface StatefulSetNumbers extends Generations {
  readonly kind: "StatefulSet";
  readonly isRollingUpdate: boolean;
  readonly desiredReplicas: number;
  readonly readyReplicas: number;
  readonly updatedReplicas: number;
  /** Pods with a lower number keep their revision. */
  readonly partition: number;
}

export interface DaemonSetNumbers extends Generations {
  readonly kind: "DaemonSet";
  readonly isRollingUpdate: boolean;
  readonly desiredPods: number;
  readonly updatedPods: number;
  readonly availablePods: number;
}

export type WorkloadNumbers = DeploymentNumbers | StatefulSetNumbers | DaemonSetNumbers;

export function decideProgress(numbers: WorkloadNumbers): RolloutProgress {
  switch (numbers.kind) {
    case "Deployment":
      return deploymentProgress(numbers);
    case "StatefulSet":
      return numbers.isRollingUpdate ? statefulSetProgress(numbers) : untracked;
    case "DaemonSet":
      return numbers.isRollingUpdate ? daemonSetProgress(numbers) : untracked;
  }
}

const complete: RolloutProgress = { state: "Complete", message: "The rollout is complete." };
const untracked: RolloutProgress = {
  state: "Untracked",
  message: "Rollouts can only be followed with the update strategy RollingUpdate.",
};

function progressing(message: string): RolloutProgress {
  return { state: "Progressing", message };
}

function isUnobserved({ generation, observedGeneration }: Generations): boolean {
  return observedGeneration < generation;
}

const unobserved = progressing("The workload's controller has not observed the change yet.");

function deploymentProgress(numbers: DeploymentNumbers): RolloutProgress {
  const { desiredReplicas, replicas, updatedReplicas, availableReplicas } = numbers;
  if (isUnobserved(numbers)) return unobserved;
  if (numbers.isOverDeadline) return { state: "Failed", message: "The rollout has exceeded its progress deadline." };
  if (updatedReplicas < desiredReplicas) {
    return progressing(`${updatedReplicas} of ${desiredReplicas} pods are updated.`);
  }
  if (replicas > updatedReplicas) return progressing(`${replicas - updatedReplicas} old pods have not terminated yet.`);
  if (availableReplicas < updatedReplicas) {
    return progressing(`${availableReplicas} of ${updatedReplicas} updated pods are available.`);
  }
  return complete;
}

function statefulSetProgress(numbers: StatefulSetNumbers): RolloutProgress {
  const { observedGeneration, desiredReplicas, readyReplicas, updatedReplicas, partition } = numbers;
  if (observedGeneration === 0 || isUnobserved(numbers)) return unobserved;
  if (readyReplicas < desiredReplicas) return progressing(`${readyReplicas} of ${desiredReplicas} pods are ready.`);
  const wanted = desiredReplicas - partition;
  if (updatedReplicas < wanted) return progressing(`${updatedReplicas} of ${wanted} pods are updated.`);
  return complete;
}

function daemonSetProgress(numbers: DaemonSetNumbers): RolloutProgress {
  const { desiredPods, updatedPods, availablePods } = numbers;
  if (isUnobserved(numbers)) return unobserved;
  if (updatedPods < desiredPods) return progressing(`${updatedPods} of ${desiredPods} pods are updated.`);
  if (availablePods < desiredPods) return progressing(`${availablePods} of ${desiredPods} pods are available.`);
  return complete;
}
