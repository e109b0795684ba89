import { describe, expect, test } from "@jest/globals";
import type {
  DaemonSetNumbers,
  DeploymentNumbers,
  StatefulSetNumbers,
} from "../../../src/plan/cache-clear/rollout-status.ts";
import { decideProgress } from "../../../src/plan/cache-clear/rollout-status.ts";

const deployment: DeploymentNumbers = {
  kind: "Deployment",
  generation: 2,
  observedGeneration: 2,
  desiredReplicas: 3,
  replicas: 3,
  updatedReplicas: 3,
  availableReplicas: 3,
  isOverDeadline: false,
};
const statefulSet: StatefulSetNumbers = {
  kind: "StatefulSet",
  generation: 2,
  observedGeneration: 2,
  isRollingUpdate: true,
  desiredReplicas: 3,
  readyReplicas: 3,
  updatedReplicas: 3,
  partition: 0,
};
const daemonSet: DaemonSetNumbers = {
  kind: "DaemonSet",
  generation: 2,
  observedGeneration: 2,
  isRollingUpdate: true,
  desiredPods: 3,
  updatedPods: 3,
  availablePods: 3,
};

describe("A rollout is judged as by kubectl rollout status", () => {
  test.each([
    ["a complete Deployment", deployment, "Complete"],
    ["a Deployment whose change was not observed", { ...deployment, generation: 3 }, "Progressing"],
    ["a Deployment with too few updated pods", { ...deployment, updatedReplicas: 2 }, "Progressing"],
    ["a Deployment with old pods", { ...deployment, replicas: 4 }, "Progressing"],
    ["a Deployment with updated pods that are not available", { ...deployment, availableReplicas: 2 }, "Progressing"],
    ["a Deployment beyond its deadline", { ...deployment, updatedReplicas: 1, isOverDeadline: true }, "Failed"],
    [
      "a Deployment scaled to nothing",
      { ...deployment, desiredReplicas: 0, replicas: 0, updatedReplicas: 0, availableReplicas: 0 },
      "Complete",
    ],
    ["a complete StatefulSet", statefulSet, "Complete"],
    ["a StatefulSet that was never observed", { ...statefulSet, generation: 0, observedGeneration: 0 }, "Progressing"],
    ["a StatefulSet whose change was not observed", { ...statefulSet, generation: 3 }, "Progressing"],
    ["a StatefulSet with pods that are not ready", { ...statefulSet, readyReplicas: 2 }, "Progressing"],
    ["a StatefulSet with too few updated pods", { ...statefulSet, updatedReplicas: 2 }, "Progressing"],
    ["a StatefulSet updated down to its partition", { ...statefulSet, updatedReplicas: 1, partition: 2 }, "Complete"],
    ["a StatefulSet that is updated by deletion", { ...statefulSet, isRollingUpdate: false }, "Untracked"],
    ["a complete DaemonSet", daemonSet, "Complete"],
    ["a DaemonSet whose change was not observed", { ...daemonSet, generation: 3 }, "Progressing"],
    ["a DaemonSet with too few updated pods", { ...daemonSet, updatedPods: 2 }, "Progressing"],
    ["a DaemonSet with pods that are not available", { ...daemonSet, availablePods: 2 }, "Progressing"],
    ["a DaemonSet that is updated by deletion", { ...daemonSet, isRollingUpdate: false }, "Untracked"],
  ] as const)("%s", (_title, numbers, state) => {
    const progress = decideProgress(numbers);
    expect(progress.state).toBe(state);
    expect(progress.message).toMatch(/^[A-Z0-9].*\.$/);
  });
});
