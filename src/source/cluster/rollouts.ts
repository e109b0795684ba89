// The workloads whose rollouts clear caches. A kind is watched from when an instance first lists a workload of that kind.
// Nothing waits for these watches: without them, caches are not cleared, and everything else continues. An instance is notified
// only of relevant changes, so starting and ending pods cause no reconcile run.
import { once } from "node:events";
import { apiGroup } from "../../kinds/kinds.ts";
import type { KubeObject } from "../../kube/kube-object.ts";
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
    return cacheClear.afterRolloutOf.map((workload) => {
      const watch = this.#watches.get(workload.kind) ?? this.#watch(workload.kind);
      const object = watch.store.get(nameKey(workload));
      // A user who may write an instance must not learn about workloads in other namespaces unless those allow it.
      const maySee = workload.namespace === meta.namespace || object?.consents.includes(nameKey(meta)) === true;
      if (object !== undefined && maySee) return { workload, state: object.state, rollout: object.rollout };
      return { workload, state: "NotSeen", rollout: "", why: this.#whyUnseen(workload, meta, watch) };
    });
  }

  /** The same for a missing workload and one that does not allow it, so that it reveals nothing about another namespace. */
  #whyUnseen(workload: WorkloadRef, instance: ObjectName, watch: ListWatch<StoredWorkload>): string {
    const { kind, name, namespace } = workload;
    const { namespace: only = namespace } = this.#options;
    const { isSynced, lastFault } = watch.health();
    if (only !== namespace) return `wafsync watches only namespace ${only}, so it cannot see namespace ${namespace}.`;
    if (!isSynced) return `The ${kind} objects have not been listed yet${lastFault ? `: ${lastFault.message}` : ""}.`;
    if (namespace === instance.namespace) return `There is no ${kind} ${name} in namespace ${namespace}.`;
    return `There is no ${resourceKey(workload)}, or its annotation ${consentAnnotation} does not name ${nameKey(instance)}.`;
  }

  #watch(kind: WorkloadRef["kind"]): ListWatch<StoredWorkload> {
    const { api, clock, random, namespace, onProblem } = this.#options;
    const type = { group: "apps", version: "v1", plural: `${kind.toLowerCase()}s`, namespaced: true };
    const watch: ListWatch<StoredWorkload> = new ListWatch({
      api,
      clock,
      random,
      type,
      namespace,
      store: createObjectStore<StoredWorkload>(),
      transform: (object) => storedWorkload(kind, object),
      onChange: (change) => {
        const isSame = change.type === "Changed" && contentOf(change.old) === contentOf(change.object);
        if (!isSame && watch.health().isSynced) this.#tell(kind, change.object);
      },
      onProblem: (problem) => onProblem(type.plural, problem),
    });
    this.#watches.set(kind, watch);
    const { signal } = this.#stop;
    const listed = watch.whenSynced().then((isSynced) => isSynced && this.#tell(kind));
    this.#running.push(watch.run(signal), listed);
    return watch;
  }

  /** Notifies the instances that list this workload, or any workload of the kind. */
  #tell(kind: WorkloadRef["kind"], object?: StoredWorkload): void {
    const { name, namespace = "" } = object?.metadata ?? {};
    for (const { meta, cacheClear } of this.#options.instances()) {
      const isListed = cacheClear.afterRolloutOf.some(
        (one) => one.kind === kind && (name === undefined || (one.name === name && one.namespace === namespace)),
      );
      if (isListed) this.#options.onRollout(meta, `${kind} ${name ?? "list"} changed`);
    }
  }
}

function contentOf(workload: StoredWorkload): string {
  return JSON.stringify({ ...workload, metadata: {} });
}

/** What the API server guarantees for all three kinds. */
interface Workload extends KubeObject {
  readonly spec: { readonly replicas?: number };
  readonly status?: Readonly<Partial<Record<string, number | string>>>;
}

export function storedWorkload(kind: WorkloadRef["kind"], object: KubeObject): StoredWorkload {
  const { namespace = "", name, uid, resourceVersion, annotations = {} } = object.metadata;
  const consents = (annotations[consentAnnotation] ?? "").split(",", consentsMax);
  return {
    metadata: { namespace, name, uid, resourceVersion },
    rollout: `${uid}/${revisionOf(kind, object as Workload)}`,
    state: stateOf(kind, object as Workload),
    consents: consents.map((text) => text.trim()),
  };
}

/** Scaling a workload does not change its revision. */
function revisionOf(kind: WorkloadRef["kind"], { metadata: { annotations = {} }, status = {} }: Workload) {
  return {
    Deployment: annotations["deployment.kubernetes.io/revision"],
    StatefulSet: status["updateRevision"],
    DaemonSet: annotations["deprecated.daemonset.template.generation"],
  }[kind];
}

/** As `kubectl rollout status` judges it, which also reports what is missing. A partitioned rollout is complete when no pod is left. */
function stateOf(kind: WorkloadRef["kind"], { metadata, spec, status = {} }: Workload): StoredWorkload["state"] {
  const of = (field: string): number => Number(status[field] ?? 0);
  if (of("observedGeneration") === 0 || of("observedGeneration") < (metadata.generation ?? 0)) return "Unobserved";
  const { replicas = 1 } = spec;
  const updated = of("updatedReplicas");
  const isComplete = {
    Deployment: updated >= Math.max(replicas, of("replicas")) && of("availableReplicas") >= updated,
    StatefulSet: Math.min(updated, of("readyReplicas")) >= replicas,
    DaemonSet: Math.min(of("updatedNumberScheduled"), of("numberAvailable")) >= of("desiredNumberScheduled"),
  }[kind];
  return isComplete ? "Complete" : "RollingOut";
}
