// The workloads whose rollouts clear caches. A kind is watched from when an instance first lists a workload of that kind.
// Nothing waits for these watches: without them, caches are not cleared, and everything else continues. An instance is notified
// only of relevant changes, so starting and ending pods cause no reconcile run.
import { once } from "node:events";
import { isDeepStrictEqual } from "node:util";
import { apiGroup } from "../../kinds/kinds.ts";
import { type KubeObject, objectKey } from "../../kube/kube-object.ts";
import { ListWatch, type ListWatchProblem } from "../../kube/list-watch.ts";
import { createObjectStore } from "../../kube/store.ts";
import type { DeclaredInstance, WorkloadRef } from "../../model/declared.ts";
import type { ObservedWorkload } from "../../model/gathered.ts";
import { nameKey, type ObjectName, resourceKey } from "../../model/resource.ts";
import type { ClusterAccess } from "./cluster-watches.ts";

/** Annotation of a workload: the instances of other namespaces that may follow its rollouts, as `namespace/name`, comma-separated. */
const consentAnnotation = `${apiGroup}/clears-cache-of`;
const consentsMax = 32;

export interface RolloutsOptions extends ClusterAccess {
  /** Every valid instance. */
  readonly instances: () => readonly DeclaredInstance[];
  /** Called when a workload that the instance lists has changed. Must return immediately. */
  readonly onRollout: (instance: ObjectName, reason: string) => void;
  readonly onProblem: (plural: string, problem: ListWatchProblem) => void;
}

interface StoredWorkload extends KubeObject, Pick<ObservedWorkload, "state" | "rollout"> {
  /** `namespace/name` of the instances in other namespaces that may see it. */
  readonly consents: readonly string[];
}

export class Rollouts {
  readonly #options: RolloutsOptions;
  readonly #watches = new Map<WorkloadRef["kind"], ListWatch<StoredWorkload>>();
  readonly #running: Promise<unknown>[] = [];
  readonly #stop = new AbortController();

  constructor(options: RolloutsOptions) {
    this.#options = options;
  }

  /** Keeps the watches that instances need running, until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    if (!signal.aborted) await once(signal, "abort");
    this.#stop.abort();
    await Promise.all(this.#running);
  }

  /** The workloads that the instance lists, as far as it may see them. */
  of({ meta, cacheClear }: DeclaredInstance): ObservedWorkload[] {
    return cacheClear.afterRolloutOf.map((ref) => {
      const { kind, name, namespace } = ref;
      const workload = resourceKey(ref);
      const watch = this.#watches.get(kind) ?? this.#watch(kind);
      const object = watch.store.get(nameKey(ref));
      const isOwn = namespace === meta.namespace;
      // A user who may write an instance must not learn about workloads in other namespaces unless those allow it.
      const maySee = isOwn || object?.consents.includes(nameKey(meta)) === true;
      if (object !== undefined && maySee) return { workload, state: object.state, rollout: object.rollout };
      const { namespace: only = namespace } = this.#options;
      const { isSynced, lastFault } = watch.health();
      // The same for a missing workload and one that does not allow it, so that it reveals nothing about another namespace.
      let why = `There is no ${workload}, or its annotation ${consentAnnotation} does not name ${nameKey(meta)}.`;
      if (only !== namespace) why = `wafsync watches only namespace ${only}, so it cannot see namespace ${namespace}.`;
      else if (!isSynced)
        why = `The ${kind} objects have not been listed yet${lastFault ? `: ${lastFault.message}` : ""}.`;
      else if (isOwn) why = `There is no ${kind} ${name} in namespace ${namespace}.`;
      return { workload, state: "NotSeen", rollout: "", why };
    });
  }

  #watch(kind: WorkloadRef["kind"]): ListWatch<StoredWorkload> {
    const type = { group: "apps", version: "v1", plural: `${kind.toLowerCase()}s`, namespaced: true };
    const watch: ListWatch<StoredWorkload> = new ListWatch({
      ...this.#options,
      type,
      store: createObjectStore<StoredWorkload>(),
      transform: (object) => storedWorkload(kind, object),
      onChange: (change) => {
        const before = change.type === "Changed" ? change.old : undefined;
        const isSame = isDeepStrictEqual({ ...before, metadata: {} }, { ...change.object, metadata: {} });
        if (!isSame && watch.health().isSynced) this.#tell(kind, change.object);
      },
      onProblem: (problem) => this.#options.onProblem(type.plural, problem),
    });
    this.#watches.set(kind, watch);
    const { signal } = this.#stop;
    const listed = watch.whenSynced().then((isSynced) => isSynced && this.#tell(kind));
    this.#running.push(watch.run(signal), listed);
    return watch;
  }

  /** Notifies the instances that list this workload, or any workload of the kind. */
  #tell(kind: WorkloadRef["kind"], object?: StoredWorkload): void {
    const changed = object && objectKey(object.metadata);
    for (const { meta, cacheClear } of this.#options.instances()) {
      const listed = cacheClear.afterRolloutOf.filter((one) => one.kind === kind).map(nameKey);
      const isListed = changed === undefined ? listed.length > 0 : listed.includes(changed);
      if (isListed) this.#options.onRollout(meta, `${kind} ${object?.metadata.name ?? "list"} changed`);
    }
  }
}

/** What the API server guarantees for all three kinds. */
interface Workload extends KubeObject {
  readonly spec: { readonly replicas?: number };
  readonly status?: Readonly<Partial<Record<string, number | string>>>;
}

/**
 * Scaling a workload does not change its revision. A rollout is complete as `kubectl rollout status` judges it, which also reports what is
 * missing; a partitioned one is complete when no pod is left.
 */
export function storedWorkload(kind: WorkloadRef["kind"], object: KubeObject): StoredWorkload {
  const { namespace = "", name, uid, resourceVersion, generation = 0, annotations = {} } = object.metadata;
  const { spec, status = {} } = object as Workload;
  const { replicas = 1 } = spec;
  const of = (field: string): number => Number(status[field] ?? 0);
  const updated = of("updatedReplicas");
  const [revision, isComplete] = {
    Deployment: [
      annotations["deployment.kubernetes.io/revision"],
      updated >= Math.max(replicas, of("replicas")) && of("availableReplicas") >= updated,
    ],
    StatefulSet: [status["updateRevision"], Math.min(updated, of("readyReplicas")) >= replicas],
    DaemonSet: [
      annotations["deprecated.daemonset.template.generation"],
      Math.min(of("updatedNumberScheduled"), of("numberAvailable")) >= of("desiredNumberScheduled"),
    ],
  }[kind];
  const isObserved = of("observedGeneration") > 0 && of("observedGeneration") >= generation;
  return {
    metadata: { namespace, name, uid, resourceVersion },
    rollout: `${uid}/${revision}`,
    state: isObserved ? (isComplete ? "Complete" : "RollingOut") : "Unobserved",
    consents: (annotations[consentAnnotation] ?? "").split(",", consentsMax).map((text) => text.trim()),
  };
}
