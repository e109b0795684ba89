// The workloads of a simulation: Deployments with their complete history, which a process sees through its own lagging
// watch. Users change, pause, roll back, scale and replace them; their controller rolls out the declared state in steps.
import type { KubeObject } from "../../../src/kube/kube-object.ts";
import type { WorkloadRef } from "../../../src/model/declared.ts";
import type { SeenWorkload, WorkloadSight } from "../../../src/model/workload.ts";
import { workloadKey } from "../../../src/model/workload.ts";
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

/** The state that a process remembers from its watch: a complete rollout stays complete. */
export class WatchedWorkloads {
  readonly #history: WorkloadHistory;
  readonly #known = new Map<
    string,
    Pick<SeenWorkload, "isRolledOut" | "wasUnderWay"> & { readonly identity: string }
  >();
  #seen = 0;

  constructor(history: WorkloadHistory, seen: number) {
    this.#history = history;
    this.#seen = seen;
    this.#note(seen);
  }

  /** Advances the watch to this position, through every state in between. */
  see(index: number): void {
    while (this.#seen < index) this.#note((this.#seen += 1));
  }

  /** The position of the watch. */
  get seen(): number {
    return this.#seen;
  }

  sightsOf(refs: readonly WorkloadRef[]): WorkloadSight[] {
    return refs.map((workload) => {
      const key = workloadKey(workload);
      const deployment = this.#history.at(this.#seen).get(workload.name);
      const known = this.#known.get(key);
      if (deployment === undefined || known === undefined)
        return { state: "Unseen", workload, problem: `There is no ${key}.` };
      const { isRolledOut, wasUnderWay } = known;
      return { state: "Seen", workload, seen: { ...seenOf(workload, deployment), isRolledOut, wasUnderWay } };
    });
  }

  #note(index: number): void {
    for (const workload of workloadRefs) {
      const key = workloadKey(workload);
      const deployment = this.#history.at(index).get(workload.name);
      if (deployment === undefined) {
        this.#known.delete(key);
        continue;
      }
      const identity = identityOf(deployment);
      const before = this.#known.get(key);
      const former = before?.identity === identity ? before : undefined;
      const isRolledOut = former?.isRolledOut === true || deployment.stage === "Complete";
      this.#known.set(key, { identity, isRolledOut, wasUnderWay: former?.wasUnderWay ?? !isRolledOut });
    }
  }
}

function identityOf({ uid, revision, content }: SimDeployment): string {
  return [uid, revision, content].join(" ");
}

/** The content of the pods, as named in records. */
export function recordedContent(deployment: SimDeployment): string {
  return seenOf(workloadRefs[0]!, deployment).content;
}

/** As the program reads it from the object. */
function seenOf({ namespace, name }: WorkloadRef, deployment: SimDeployment) {
  return slimWorkload("Deployment", objectOf(namespace, name, deployment)).seen;
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
