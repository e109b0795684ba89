// The desired state from a cluster. Watches update the stores; a changed object only increases the version of the affected
// instances. `gather` assembles the objects of an instance from the stores, `confirm` from fresh reads. Secrets and ConfigMaps are
// read on demand and cached.
import type { Clock } from "../../async/clock.ts";
import type { ApiServer } from "../../kube/api-server.ts";
import type { KubeObject } from "../../kube/kube-object.ts";
import type { ListWatchProblem } from "../../kube/list-watch.ts";
import type { ObjectChange } from "../../kube/store.ts";
import { deleteObject } from "../../kube/verbs.ts";
import type { DeclaredInstance } from "../../model/declared.ts";
import type { ConfirmedGathering, Gathered } from "../../model/gathered.ts";
import {
  nameKey,
  type ObjectName,
  type ResourceKind,
  type ResourceMeta,
  type ResourceRef,
} from "../../model/resource.ts";
import { ApiKeys } from "./api-keys.ts";
import { type Unattached, UnattachedObjects } from "./attachment.ts";
import { type ClusterObject, hasOtherLabels, instanceNameOf, parseInstance, typeOfKind } from "./cluster-object.ts";
import { ClusterWatches, type WatchHealth } from "./cluster-watches.ts";
import { DataTexts } from "./data-texts.ts";
import { FeedObjects, InstanceChanges } from "./instance-changes.ts";
import { InstanceGathering, InstanceReferences } from "./instance-gathering.ts";
import { RolloutWatches } from "./rollout-watches.ts";

export interface ClusterSourceOptions {
  readonly api: ApiServer;
  readonly clock: Clock;
  /** A number from 0 to below 1. */
  readonly random: () => number;
  /** The only namespace to watch, for which Roles suffice; all namespaces if undefined. */
  readonly namespace: string | undefined;
  /** Called when something that concerns the instance has changed, even if it does not exist. Must return immediately. */
  readonly onChange: (instance: ObjectName, reason: string) => void;
  /** Called when an object has changed that no run covers. Must return immediately. */
  readonly onUnattachedChange?: () => void;
  /** Called when a feed has changed. Must return immediately. */
  readonly onFeedChange?: () => void;
  /** Called with each change of a stored object. Must return immediately. */
  readonly onStored?: (change: ObjectChange<KubeObject>) => void;
  /** Called when a watch or a background request fails. `subject` names the resource, for example `wafiprules`. */
  readonly onProblem?: (subject: string, problem: Pick<ListWatchProblem, "code" | "message" | "error">) => void;
}

const retryMs = 5_000;
const deleteTimeoutMs = 10_000;

export class ClusterSource {
  readonly feeds: FeedObjects;
  readonly #options: ClusterSourceOptions;
  readonly #watches: ClusterWatches;
  readonly #changes: InstanceChanges;
  readonly #keys: ApiKeys;
  readonly #texts: DataTexts;
  readonly #rollouts: RolloutWatches;
  readonly #unattached: UnattachedObjects;
  readonly #gathering: InstanceGathering;

  constructor(options: ClusterSourceOptions) {
    this.#options = options;
    const { api, clock, random, namespace, onProblem } = options;
    this.#watches = new ClusterWatches({
      api,
      clock,
      random,
      namespace,
      onObject: (kind, change) => {
        options.onStored?.(change);
        if (kind === "WafFeed" || kind === "WafInstance") this.feeds.changed(change);
        if (kind === "WafFeed") return;
        if (kind === "WafIpRule") this.feeds.ruleChanged(change);
        this.#unattached.objectChanged(change);
        this.#changes.objectChanged(kind, change);
      },
      onConfigMap: ({ object }) => this.#texts.configMapChanged(object),
      onNamespace: (change) => {
        if (!hasOtherLabels(change)) return;
        this.#changes.namespaceChanged(change);
        this.feeds.namespaceChanged();
      },
      onProblem: (plural, problem) => onProblem?.(plural, problem),
    });
    const { stores } = this.#watches;
    this.#unattached = new UnattachedObjects(stores, namespace);
    this.#keys = new ApiKeys({
      api,
      clock,
      onKey: (instance, former) => this.#changes.keyChanged(instance, former),
      onRetried: (instance) => this.#changes.touch(instance, "Secret changed"),
    });
    this.#texts = new DataTexts({
      api,
      clock,
      watched: stores.configMaps,
      // Sources of owners do not wait for those of guests.
      goesFirst: (home) => stores.byKind.WafInstance.listBy("namespace", home).length > 0,
      onChanged: (object) => this.#changes.touchUsersOf([object]),
    });
    this.#changes = new InstanceChanges({ ...options, stores, keys: this.#keys, texts: this.#texts });
    this.feeds = new FeedObjects(stores, this.#changes, () => options.onFeedChange?.());
    this.#rollouts = new RolloutWatches({
      api,
      clock,
      random,
      namespace,
      instances: () => this.#declaredInstances(),
      onRollout: (instance, reason) => this.#changes.touch(instance, reason),
      onProblem: (plural, problem) => onProblem?.(plural, problem),
    });
    this.#gathering = new InstanceGathering({
      api,
      clock,
      namespace,
      unattached: this.#unattached,
      watches: this.#watches,
      references: new InstanceReferences({ clock, keys: this.#keys, texts: this.#texts, changes: this.#changes }),
      rollouts: this.#rollouts,
    });
  }

  /** Watches until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#watches.run(signal), this.#retry(signal), this.#rollouts.run(signal)]);
  }

  /** Reads again what no watch shows: missing Secrets, and sources whose read failed. */
  async #retry(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#options.clock.sleep(retryMs, signal);
      if (!signal.aborted) await Promise.all([this.#keys.retry(), this.#texts.retry()]);
    }
  }

  /** True as soon as everything was listed once: call no other method before. False if the signal aborts first. */
  async whenSynced(signal?: AbortSignal): Promise<boolean> {
    return await this.#watches.whenSynced(signal);
  }

  isSynced(): boolean {
    return this.#watches.health().every(({ isSynced }) => isSynced);
  }

  /** Whether objects of a kind may be missing from the stores although they were not deleted. */
  hasGaps(): boolean {
    return this.#watches.gaps().length > 0;
  }

  /** Why the stores may be incomplete, in a sentence; undefined if they are complete. */
  notReadyBecause(): string | undefined {
    return this.#watches.missing();
  }

  health(): readonly WatchHealth[] {
    return this.#watches.health();
  }

  /** The cached instance; undefined if it does not exist or is invalid. */
  declared(name: ObjectName): DeclaredInstance | undefined {
    return parseInstance(this.#stores.byKind.WafInstance.get(nameKey(name)));
  }

  /** Every valid instance, ordered by name. */
  instances(): ObjectName[] {
    return this.#declaredInstances()
      .map(({ meta: { namespace, name } }) => ({ namespace, name }))
      .sort((left, right) => (nameKey(left) < nameKey(right) ? -1 : 1));
  }

  /** Whether any WafAutoBlock refers to the instance (`namespace/name`). */
  hasAutoBlocks(instance: string): boolean {
    return this.#stores.byKind.WafAutoBlock.listBy("instance", instance).length > 0;
  }

  async gather(name: ObjectName): Promise<Gathered | undefined> {
    return await this.#gathering.gather(name);
  }

  async confirm(name: ObjectName): Promise<ConfirmedGathering> {
    return await this.#gathering.confirm(name);
  }

  /** Increases with every change that concerns the instance. */
  version(instance: ObjectName): number {
    return this.#changes.version(instance);
  }

  /** Whether the CRD of WafInstance is terminating, so that all its objects are being deleted. Never rejects. */
  async isUninstalling(): Promise<boolean> {
    return await this.#gathering.isUninstalling();
  }

  /** The instance that the object refers to or is; undefined if unknown. */
  instanceOf(ref: ResourceRef): ObjectName | undefined {
    const { kind, namespace, name } = ref;
    if (kind === "WafInstance") return { namespace, name };
    const object = this.objectOf(ref);
    return object === undefined ? undefined : instanceNameOf(object);
  }

  /** Deletes an object if it is still the same one. Never rejects. */
  async remove({ kind, namespace, name, uid }: ResourceMeta): Promise<void> {
    const options = { preconditions: { uid }, timeoutMs: deleteTimeoutMs };
    const deleted = await deleteObject(this.#options.api, typeOfKind(kind), { namespace, name }, options);
    if (deleted.ok || deleted.fault.code === "NotFound" || deleted.fault.code === "Conflict") return;
    this.#options.onProblem?.(typeOfKind(kind).plural, deleted.fault);
  }

  /** Every object that no run covers, and undefined for every other object, so that the iteration can be interrupted. */
  unattached(): Iterable<Unattached | undefined> {
    return this.#unattached.all();
  }

  /** The same for a single object in its current version. */
  unattachedNow(ref: ResourceRef): Unattached | undefined {
    const object = this.objectOf(ref);
    return object === undefined ? undefined : this.#unattached.find(ref.kind, object);
  }

  /** Call this when the WAF has refused the key: the next `gather` reads the Secret again. */
  secretRefused(instance: ObjectName): void {
    this.#keys.refresh(instance);
  }

  /** The object as last seen, without its managed fields; undefined if it does not exist. */
  objectOf(ref: ResourceRef): ClusterObject | undefined {
    return this.#stores.byKind[ref.kind].get(nameKey(ref));
  }

  /** Every object of the kind as last seen, valid or not. */
  objects(kind: ResourceKind): readonly ClusterObject[] {
    return this.#stores.byKind[kind].list();
  }

  get #stores(): ClusterWatches["stores"] {
    return this.#watches.stores;
  }

  #declaredInstances(): DeclaredInstance[] {
    return this.#stores.byKind.WafInstance.list()
      .map(parseInstance)
      .filter((instance) => instance !== undefined);
  }
}
