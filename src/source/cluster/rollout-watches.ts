// The workloads whose rollouts clear caches. A kind is watched from when an instance first lists a workload of that kind.
// Nothing waits for these watches: without them, caches are not cleared, and everything else continues. An instance is notified
// only of relevant changes, so starting and ending pods cause no reconcile run.
import { once } from "node:events";
import type { Clock } from "../../async/clock.ts";
import type { ApiServer } from "../../kube/api-server.ts";
import { ListWatch, type ListWatchHealth, type ListWatchProblem } from "../../kube/list-watch.ts";
import type { ObjectChange } from "../../kube/store.ts";
import { createObjectStore } from "../../kube/store.ts";
import type { DeclaredInstance, WorkloadRef } from "../../model/declared.ts";
import { nameKey, type ObjectName } from "../../model/resource.ts";
import type { WorkloadSight } from "../../model/workload.ts";
import { workloadKey } from "../../model/workload.ts";
import {
  clearsCacheOfAnnotation,
  exceededDeadline,
  maySee,
  slimWorkload,
  typeOfWorkload,
  type WorkloadKind,
  type WorkloadObject,
} from "./rollout-object.ts";

export interface RolloutWatchesOptions {
  readonly api: ApiServer;
  readonly clock: Clock;
  readonly random: () => number;
  /** The only namespace to watch; all namespaces if undefined. */
  readonly namespace: string | undefined;
  /** Every valid instance. */
  readonly instances: () => readonly DeclaredInstance[];
  /** Called when the information about a workload that the instance may see has changed. Must return immediately. */
  readonly onRollout: (instance: ObjectName, reason: string) => void;
  readonly onProblem: (plural: string, problem: ListWatchProblem) => void;
}

export class RolloutWatches {
  readonly #options: RolloutWatchesOptions;
  readonly #watches = new Map<WorkloadKind, ListWatch<WorkloadObject>>();
  readonly #running: Promise<void>[] = [];
  readonly #stop = new AbortController();

  constructor(options: RolloutWatchesOptions) {
    this.#options = options;
  }

  /** Keeps the watches that instances need running, until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    if (!signal.aborted) await once(signal, "abort");
    this.#stop.abort();
    await Promise.all(this.#running);
  }

  /** The information about each listed workload that the instance may see. */
  sightsOf({ meta, cacheClear }: DeclaredInstance): WorkloadSight[] {
    return cacheClear.afterRolloutOf.map((workload) => {
      const watch = this.#watches.get(workload.kind) ?? this.#watch(workload.kind);
      const object = watch.store.get(nameKey(workload));
      const problem = this.#outOfReach(workload, watch.health());
      if (problem === undefined && object !== undefined && maySee(meta, object)) {
        return { workload, rollout: object.rollout, message: object.message };
      }
      return { workload, rollout: undefined, message: problem ?? unseenProblem(meta, workload) };
    });
  }

  #outOfReach({ kind, namespace }: WorkloadRef, { isSynced, lastFault }: ListWatchHealth): string | undefined {
    const { namespace: only } = this.#options;
    if (only !== undefined && only !== namespace) {
      return `wafsync watches only namespace ${only}, so it cannot see namespace ${namespace}.`;
    }
    const why = lastFault === undefined ? "" : `: ${lastFault.message}`;
    return isSynced ? undefined : `The ${kind} objects have not been listed yet${why}.`;
  }

  #watch(kind: WorkloadKind): ListWatch<WorkloadObject> {
    const { api, clock, random, namespace, onProblem } = this.#options;
    const { signal } = this.#stop;
    const type = typeOfWorkload(kind);
    const listWatch = new ListWatch<WorkloadObject>({
      api,
      clock,
      random,
      type,
      ...(namespace === undefined ? {} : { namespace }),
      store: createObjectStore<WorkloadObject>(),
      transform: (object) => slimWorkload(kind, object),
      onChange: (change) => {
        if (listWatch.health().isSynced) this.#objectChanged(kind, change);
      },
      onProblem: (problem) => onProblem(type.plural, problem),
    });
    this.#watches.set(kind, listWatch);
    this.#running.push(listWatch.run(signal));
    void listWatch.whenSynced(signal).then((isSynced) => {
      if (isSynced) this.#tell((workload) => workload.kind === kind, `${type.plural} were listed`);
    });
    return listWatch;
  }

  #objectChanged(kind: WorkloadKind, change: ObjectChange<WorkloadObject>): void {
    if (change.type === "Changed" && signatureOf(change.old) === signatureOf(change.object)) return;
    const { namespace = "", name } = change.object.metadata;
    const key = workloadKey({ kind, namespace, name });
    this.#tell((workload) => workloadKey(workload) === key, `${key} changed`);
  }

  #tell(isMeant: (workload: WorkloadRef) => boolean, reason: string): void {
    for (const { meta, cacheClear } of this.#options.instances()) {
      if (cacheClear.afterRolloutOf.some(isMeant)) this.#options.onRollout(meta, reason);
    }
  }
}

/** If it changes, the instances that list the workload are notified. */
function signatureOf({ rollout, message, consents }: WorkloadObject): string {
  return JSON.stringify([rollout, message === exceededDeadline, consents]);
}

/** The same for a missing workload and one that does not allow it, so that it reveals nothing about another namespace. */
function unseenProblem(instance: ObjectName, workload: WorkloadRef): string {
  const { kind, name, namespace } = workload;
  if (namespace === instance.namespace) return `There is no ${kind} ${name} in namespace ${namespace}.`;
  return `There is no ${workloadKey(workload)}, or its annotation ${clearsCacheOfAnnotation} does not name ${nameKey(instance)}.`;
}
