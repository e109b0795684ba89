// All watches and their stores: the kinds that users declare, namespaces for their labels, and the metadata of ConfigMaps. Reports for each kind whether its store may be incomplete.
import { category } from "../../kinds/kinds.ts";
import type { Clock } from "../../async/clock.ts";
import type { ApiServer } from "../../kube/api-server.ts";
import type { KubeObject } from "../../kube/kube-object.ts";
import {
  ListWatch,
  type ListWatchHealth,
  type ListWatchOptions,
  type ListWatchProblem,
} from "../../kube/list-watch.ts";
import type { ObjectChange } from "../../kube/store.ts";
import { createObjectStore, type ObjectStore, type ObjectView } from "../../kube/store.ts";
import { nameKey, type ResourceKind, resourceKinds } from "../../model/resource.ts";
import type { LabelsOf } from "../gather.ts";
import {
  type ClusterObject,
  coreType,
  referenceOf,
  slimIdentity,
  slimNamespace,
  slimObject,
  sourceKey,
  sourcesOf,
  typeOfKind,
} from "./cluster-object.ts";

/** How long objects of a kind may be missing after its CRD was missing: a restore may not have created them yet. */
const returnGraceMs = 300_000;

export interface ClusterStores {
  readonly byKind: Readonly<Record<ResourceKind, ObjectView<ClusterObject>>>;
  /** Only their names and versions. */
  readonly configMaps: ObjectView<KubeObject>;
  /** None are known if only one namespace is watched: wafsync may then not read the labels of namespaces. */
  readonly labelsOf: LabelsOf;
}

export interface WatchHealth extends ListWatchHealth {
  /** Lower-case plural, for example `wafiprules`. */
  readonly plural: string;
}

export interface ClusterAccess {
  readonly api: ApiServer;
  readonly clock: Clock;
  /** A number from 0 to below 1. */
  readonly random: () => number;
  /** The only namespace to watch, for which Roles suffice; all namespaces if undefined. */
  readonly namespace: string | undefined;
}

export interface ClusterWatchesOptions extends ClusterAccess {
  readonly onObject: (change: ObjectChange<ClusterObject>) => void;
  readonly onConfigMap: (change: ObjectChange<KubeObject>) => void;
  readonly onNamespace: (change: ObjectChange<KubeObject>) => void;
  readonly onProblem: (plural: string, problem: ListWatchProblem) => void;
}

interface Watch {
  readonly plural: string;
  readonly kind: ResourceKind | undefined;
  readonly listWatch: Pick<ListWatch<KubeObject>, "run" | "whenSynced" | "health">;
  /** When the server last reported that the kind does not exist, although it once did; or when its CRD terminated. */
  missingMs: number | undefined;
}

export class ClusterWatches {
  readonly stores: ClusterStores;
  readonly #options: ClusterWatchesOptions;
  readonly #watches: Watch[] = [];

  constructor(options: ClusterWatchesOptions) {
    this.#options = options;
    const { namespace, onConfigMap, onNamespace } = options;
    const byKind = Object.fromEntries(resourceKinds.map((kind) => [kind, this.#watchKind(kind)]));
    const configMaps = this.#watch(undefined, createObjectStore<KubeObject>(), {
      type: coreType("ConfigMap"),
      metadataOnly: true,
      transform: slimIdentity,
      onChange: onConfigMap,
    });
    const labels = { type: coreType("Namespace"), transform: slimNamespace, onChange: onNamespace };
    const namespaces = namespace === undefined ? this.#watch(undefined, createObjectStore(), labels) : undefined;
    const labelsOf: LabelsOf = (name) => {
      const object = namespaces?.get(name);
      return object && (object.metadata.labels ?? {});
    };
    this.stores = { byKind: byKind as Record<ResourceKind, ObjectStore<ClusterObject>>, configMaps, labelsOf };
  }

  /** Runs until the signal aborts; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#watches.map(({ listWatch }) => listWatch.run(signal)));
  }

  /** True as soon as everything was listed once; false if `run` ends before. */
  async whenSynced(): Promise<boolean> {
    const synced = await Promise.all(this.#watches.map(({ listWatch }) => listWatch.whenSynced()));
    return synced.every(Boolean);
  }

  health(): WatchHealth[] {
    return this.#watches.map(({ plural, listWatch }) => ({ plural, ...listWatch.health() }));
  }

  /** Why the stores may be missing objects of these kinds, one sentence each. */
  gaps(): string[] {
    return this.#watches.flatMap((watch) => (watch.kind === undefined ? [] : (this.#gapOf(watch) ?? [])));
  }

  /** What has not been listed or does not exist, one sentence each; undefined if the stores are complete. */
  notReadyBecause(): string | undefined {
    return this.#watches.flatMap((watch) => unlisted(watch) ?? []).join(" ") || undefined;
  }

  /** The CRD of the kind is terminating: missing objects do not count as deleted for a while. */
  markCrdTerminating(kind: ResourceKind): void {
    for (const watch of this.#watches) if (watch.kind === kind) watch.missingMs = this.#options.clock.monotonicMs();
  }

  #gapOf(watch: Watch): string | undefined {
    const { plural, missingMs } = watch;
    const isBack = missingMs === undefined || this.#options.clock.monotonicMs() - missingMs >= returnGraceMs;
    const minutes = returnGraceMs / 60_000;
    const restoring = `The CRD of ${plural} was missing or terminating: its objects may be restored within ${minutes} minutes.`;
    return unlisted(watch) ?? (isBack ? undefined : restoring);
  }

  #watchKind(kind: ResourceKind): ObjectStore<ClusterObject> {
    const store = createKindStore();
    return this.#watch(kind, store, {
      type: typeOfKind(kind),
      transform: (object) => slimObject(kind, object, store.get(nameKey({ namespace: "", ...object.metadata }))),
      onChange: this.#options.onObject,
    });
  }

  #watch<T extends KubeObject>(
    kind: ResourceKind | undefined,
    store: ObjectStore<T>,
    watched: Pick<ListWatchOptions<T>, "type" | "metadataOnly" | "transform" | "onChange">,
  ): ObjectStore<T> {
    const { api, clock, random, namespace, onProblem } = this.#options;
    const { plural, namespaced } = watched.type;
    const listWatch = new ListWatch<T>({
      ...watched,
      api,
      clock,
      random,
      store,
      namespace: namespaced ? namespace : undefined,
      onProblem: (problem) => {
        if (problem.code === "NotFound" && watch.listWatch.health().isSynced) watch.missingMs = clock.monotonicMs();
        onProblem(plural, problem);
      },
    });
    const watch: Watch = { plural, kind, listWatch, missingMs: undefined };
    this.#watches.push(watch);
    return store;
  }
}

function unlisted({ plural, listWatch }: Watch): string | undefined {
  const { activity, isSynced, lastFault } = listWatch.health();
  if (activity === "WaitingForKind") return `The API server does not know ${plural}: install the CRDs of ${category}.`;
  const why = lastFault === undefined ? "" : `: ${lastFault.message}`;
  return isSynced ? undefined : `The ${plural} have not been listed yet${why}.`;
}

/** Objects of one kind, by the instance that they refer to, their namespace, and the sources that they use. */
export function createKindStore(): ObjectStore<ClusterObject> {
  return createObjectStore<ClusterObject>({
    instance: (object) => [referenceOf(object)],
    namespace: ({ metadata }) => [metadata.namespace ?? ""],
    source: (object) => sourcesOf(object).map(sourceKey),
  });
}
