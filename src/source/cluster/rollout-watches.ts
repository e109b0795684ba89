// The workloads whose rollouts clear caches. A kind is watched only while an instance lists a workload of that kind. Nothing
// waits for these watches: without them, caches are not cleared, and everything else continues. An instance is notified only
// of relevant changes, so starting and ending pods cause no reconcile run.
import { ChangeSignal } from "../../async/change-signal.ts";
import type { Clock } from "../../async/clock.ts";
import type { ApiServer } from "../../kube/api-server.ts";
import { createListWatch, type ListWatch, type ListWatchProblem } from "../../kube/list-watch.ts";
import type { ObjectChange } from "../../kube/reflector.ts";
import { createObjectStore } from "../../kube/store.ts";
import type { DeclaredInstance, WorkloadRef } from "../../model/declared.ts";
import { nameKey, type ObjectName } from "../../model/resource.ts";
import type { SeenWorkload, WorkloadSight } from "../../model/workload.ts";
import { workloadKey } from "../../model/workload.ts";
import {
  clearsCacheOfAnnotation,
  maySee,
  slimWorkload,
  typeOfWorkload,
  type WorkloadKind,
  workloadKinds,
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

interface KindWatch {
  readonly listWatch: ListWatch<WorkloadObject>;
  readonly stopping: AbortController;
  readonly ended: Promise<void>;
}

/** The last published state of a workload. */
interface Known {
  readonly identity: string;
  readonly isRolledOut: boolean;
  readonly wasUnderWay: boolean;
  /** The instances that may see it: for an added one, the workload is new. */
  readonly agreed: string;
  /** If it changes, every instance that lists the workload is notified. */
  readonly signature: string;
}

export class RolloutWatches {
  readonly #options: RolloutWatchesOptions;
  readonly #changed = new ChangeSignal();
  readonly #watches = new Map<WorkloadKind, KindWatch>();
  /** By the key of the workload. */
  readonly #known = new Map<string, Known>();
  #listedBy: Map<string, ObjectName[]> | undefined;

  constructor(options: RolloutWatchesOptions) {
    this.#options = options;
  }

  /** Starts and stops watches as instances need them, until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const { version } = this.#changed;
      for (const kind of workloadKinds) await this.#startOrStop(kind, signal);
      await this.#changed.wait(version, signal);
    }
    await Promise.all([...this.#watches.values()].map(({ ended }) => ended));
  }

  /** Call this when an instance may list other workloads than before. */
  instancesChanged(): void {
    this.#listedBy = undefined;
    this.#changed.notify();
  }

  /** The information about each listed workload that the instance may see. */
  sightsOf({ meta, cacheClear }: DeclaredInstance): WorkloadSight[] {
    return cacheClear.afterRolloutOf.map((workload) => {
      const problem = this.#outOfReach(workload);
      if (problem !== undefined) return { state: "Unseen", workload, problem };
      const object = this.#watches.get(workload.kind)?.listWatch.store.get(nameKey(workload));
      if (object === undefined || !maySee(meta, object)) {
        return { state: "Unseen", workload, problem: unseenProblem(meta, workload) };
      }
      return { state: "Seen", workload, seen: this.#seen(workload, object) };
    });
  }

  #outOfReach({ kind, namespace }: WorkloadRef): string | undefined {
    const { namespace: only } = this.#options;
    if (only !== undefined && only !== namespace) {
      return `wafsync watches only namespace ${only}, so it cannot see namespace ${namespace}.`;
    }
    const health = this.#watches.get(kind)?.listWatch.health();
    if (health?.isSynced === true) return undefined;
    const why = health?.lastFault === undefined ? "" : `: ${health.lastFault.message}`;
    return `The ${kind} objects have not been listed yet${why}.`;
  }

  #seen(workload: WorkloadRef, object: WorkloadObject): SeenWorkload {
    const key = workloadKey(workload);
    const known = knownOf(object, this.#known.get(key));
    this.#known.set(key, known);
    return { ...object.seen, isRolledOut: known.isRolledOut, wasUnderWay: known.wasUnderWay };
  }

  #listed(): ReadonlyMap<string, readonly ObjectName[]> {
    if (this.#listedBy !== undefined) return this.#listedBy;
    const listedBy = new Map<string, ObjectName[]>();
    for (const { meta, cacheClear } of this.#options.instances()) {
      for (const workload of cacheClear.afterRolloutOf) {
        const key = workloadKey(workload);
        listedBy.set(key, [...(listedBy.get(key) ?? []), { namespace: meta.namespace, name: meta.name }]);
      }
    }
    for (const key of this.#known.keys()) if (!listedBy.has(key)) this.#known.delete(key);
    this.#listedBy = listedBy;
    return listedBy;
  }

  async #startOrStop(kind: WorkloadKind, signal: AbortSignal): Promise<void> {
    const isWanted = [...this.#listed().keys()].some((key) => key.startsWith(`${kind} `));
    const running = this.#watches.get(kind);
    if (isWanted && running === undefined) this.#watches.set(kind, this.#start(kind, signal));
    if (isWanted || running === undefined) return;
    running.stopping.abort();
    this.#watches.delete(kind);
    await running.ended;
  }

  #start(kind: WorkloadKind, signal: AbortSignal): KindWatch {
    const { api, clock, random, namespace, onProblem } = this.#options;
    const type = typeOfWorkload(kind);
    const listWatch = createListWatch<WorkloadObject>({
      api,
      clock,
      random,
      type,
      ...(namespace === undefined ? {} : { namespace }),
      store: createObjectStore<WorkloadObject>(),
      transform: (object) => slimWorkload(kind, object),
      onChange: (change) => this.#objectChanged(kind, change),
      onProblem: (problem) => onProblem(type.plural, problem),
    });
    const stopping = new AbortController();
    const either = AbortSignal.any([signal, stopping.signal]);
    void listWatch.whenSynced(either).then((isSynced) => {
      if (isSynced) this.#tell((key) => key.startsWith(`${kind} `), `${type.plural} were listed`);
    });
    return { listWatch, stopping, ended: listWatch.run(either) };
  }

  #objectChanged(kind: WorkloadKind, change: ObjectChange<WorkloadObject>): void {
    const { type, object } = change;
    const { namespace = "", name } = object.metadata;
    const key = workloadKey({ kind, namespace, name });
    if (!this.#listed().has(key)) return;
    // The rollout may have been complete before the instance listed it, and now appear incomplete, for example after an
    // annotation has changed.
    const before = this.#known.get(key) ?? (type === "Changed" ? knownOf(change.old, undefined) : undefined);
    if (type === "Deleted") this.#known.delete(key);
    else {
      const known = knownOf(object, before);
      this.#known.set(key, known);
      if (known.signature === before?.signature) return;
    }
    if (this.#watches.get(kind)?.listWatch.health().isSynced !== true) return;
    this.#tell((listed) => listed === key, `${key} changed`);
  }

  #tell(isMeant: (key: string) => boolean, reason: string): void {
    const names = [...this.#listed()].filter(([key]) => isMeant(key)).flatMap(([, listing]) => listing);
    const byName = new Map(names.map((name) => [nameKey(name), name]));
    for (const name of byName.values()) this.#options.onRollout(name, reason);
  }
}

/** A rollout that has been complete stays complete: scaling afterwards does not change that. */
function knownOf({ seen, consents }: WorkloadObject, before: Known | undefined): Known {
  const identity = [seen.uid, seen.revision, seen.content].join(" ");
  const former = before?.identity === identity ? before : undefined;
  const isRolledOut = former?.isRolledOut === true || seen.progress.state === "Complete";
  const agreed = consents.join(",");
  const wasUnderWay = former?.agreed === agreed ? former.wasUnderWay : !isRolledOut;
  const isFailed = seen.progress.state === "Failed";
  return {
    identity,
    isRolledOut,
    wasUnderWay,
    agreed,
    signature: JSON.stringify([identity, isRolledOut, isFailed, seen.isPaused, agreed]),
  };
}

/** The same for a missing workload and one that does not allow it, so that it reveals nothing about another namespace. */
function unseenProblem(instance: ObjectName, workload: WorkloadRef): string {
  const { kind, name, namespace } = workload;
  if (namespace === instance.namespace) return `There is no ${kind} ${name} in namespace ${namespace}.`;
  return `There is no ${workloadKey(workload)}, or its annotation ${clearsCacheOfAnnotation} does not name ${nameKey(instance)}.`;
}
