// The workloads of a simulation: Deployments with their complete history, which a process sees through its own lagging
// watch. Users change, pause, roll back, scale and replace them; their controller rolls out the declared state in steps.
import type { KubeObject } from "../../../src/kube/kube-object.ts";
import type { WorkloadRef } from "../../../src/model/declared.ts";
import type { WorkloadSight } from "../../../src/model/workload.ts";
import { slimWorkload } from "../../../src/source/cluster/rollout-object.ts";

export const workloadRefs: readonly WorkloadRef[] = ["web", "assets"].map((name) => ({
  kind: "Deployment",
  namespace: "edge",
  name,
}));

/** The parts of a Deployment that determine its rollout. */
export interface SimDeployment {
  readonly uid: number;
  readonly generation: number;
  readonly revision: number;
  /** The declared content of its pods. */
  readonly content: string;
  readonly isPaused: boolean;
  /** The progress of its controller. */
  readonly stage: "Unobserved" | "Updating" | "Failed" | "Complete";
}

/** Undefined while it does not exist. */
type Deployments = ReadonlyMap<string, SimDeployment | undefined>;

export class WorkloadHistory {
  readonly #history: Deployments[] = [new Map()];

  get latest(): number {
    return this.#history.length - 1;
  }

  at(index: number): Deployments {
    return this.#history[index] ?? new Map();
  }

  put(name: string, deployment: SimDeployment | undefined): void {
    this.#history.push(new Map(this.at(this.latest)).set(name, deployment));
  }
}

/** As the program reads it from the object. */
export function sightOf(workload: WorkloadRef, deployment: SimDeployment | undefined): WorkloadSight {
  if (deployment === undefined) return { workload, rollout: undefined, message: "There is none." };
  const { rollout, message } = slimWorkload("Deployment", objectOf(workload.namespace, workload.name, deployment));
  return { workload, rollout, message };
}

function objectOf(
  namespace: string,
  name: string,
  { uid, generation, revision, content, isPaused, stage }: SimDeployment,
): KubeObject {
  const conditions = stage === "Failed" ? [{ type: "Progressing", reason: "ProgressDeadlineExceeded" }] : [];
  const updated = stage === "Complete" ? 2 : 1;
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: {
      namespace,
      name,
      uid: `uid-${uid}`,
      resourceVersion: "1",
      generation,
      annotations: { "deployment.kubernetes.io/revision": String(revision) },
    },
    spec: { replicas: 2, paused: isPaused, template: { content } },
    status: {
      observedGeneration: stage === "Unobserved" ? generation - 1 : generation,
      replicas: 2,
      updatedReplicas: updated,
      availableReplicas: updated,
      conditions,
    },
  } as KubeObject;
}
