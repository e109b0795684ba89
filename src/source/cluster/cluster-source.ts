// The desired state from a cluster. Watches update the stores; a changed object only increases the version of the affected
// instances. `gather` assembles the objects of an instance from the stores, `confirm` from fresh reads. Secrets and ConfigMaps are
// read on demand and cached.
import type { KubeObject } from "../../kube/kube-object.ts";
import type { ListWatchProblem } from "../../kube/list-watch.ts";
import type { ObjectChange } from "../../kube/store.ts";
import { deleteObject, getObject } from "../../kube/verbs.ts";
import type { DeclaredInstance } from "../../model/declared.ts";
import type { ConfirmedGathering, Gathered } from "../../model/gathered.ts";
import {
  guestKinds,
  nameKey,
  type ObjectName,
  type ResourceKind,
  type ResourceMeta,
  type ResourceRef,
} from "../../model/resource.ts";
import { ApiKeys } from "./api-keys.ts";
import { UnattachedObjects } from "./attachment.ts";
import {
  type ClusterObject,
  isMeaningfulChange,
  parseInstance,
  parseObject,
  slimObject,
  typeOfKind,
  unreadableInstance,
} from "./cluster-object.ts";
import { type ClusterAccess, ClusterWatches } from "./cluster-watches.ts";
import { DataTexts } from "./data-texts.ts";
import { findTerminatingCrd, type InstanceObjects, readObjects, requestTimeoutMs } from "./fresh-objects.ts";
import { InstanceChanges } from "./instance-changes.ts";
import { gatherObjects } from "./references.ts";
import { Rollouts } from "./rollouts.ts";

export interface ClusterSourceOptions extends ClusterAccess {
  /** Called when something that concerns the instance has changed, even if it does not exist. Must return immediately. */
  readonly onChange: (instance: ObjectName, reason: string) => void;
  /** Called when a feed has changed. Must return immediately. */
  readonly onFeedChange?: () => void;
  /** Called with each change of a stored object. Must return immediately. */
  readonly onStored?: (change: ObjectChange<KubeObject>) => void;
  /** Called when a watch or a background request fails. `subject` names the resource, for example `wafiprules`. */
  readonly onProblem?: (subject: string, problem: ListWatchProblem) => void;
}

const retryMs = 5_000;

export class ClusterSource {
  /** Use the stores only once they are synced. */
  readonly watches: ClusterWatches;
  readonly unattached: UnattachedObjects;
  readonly changes: InstanceChanges;
  readonly #options: ClusterSourceOptions;
  readonly #stores: ClusterWatches["stores"];
  readonly #keys: ApiKeys;
  readonly #texts: DataTexts;
  readonly #rollouts: Rollouts;

  constructor(options: ClusterSourceOptions) {
    this.#options = options;
    const { api, clock, namespace, onProblem } = options;
    this.watches = new ClusterWatches({
      ...options,
      onObject: (change) => {
        options.onStored?.(change);
        if (change.type === "Changed" && !isMeaningfulChange(change.old, change.object)) return;
        this.unattached.noteChange();
        this.changes.objectChanged(change);
      },
      onConfigMap: ({ object }) => this.#texts.configMapChanged(object),
      onNamespace: (change) => {
        if (this.changes.namespaceChanged(change)) this.unattached.changed.notify();
      },
      onProblem: (plural, problem) => onProblem?.(plural, problem),
    });
    const { stores } = this.watches;
    this.#stores = stores;
    this.unattached = new UnattachedObjects(stores.byKind, stores.labelsOf, namespace);
    this.#texts = new DataTexts({
      api,
      clock,
      watched: stores.configMaps,
      // Sources of owners do not wait for those of guests.
      goesFirst: (home) => stores.byKind.WafInstance.listBy("namespace", home).length > 0,
      onChanged: (object) => this.changes.touchUsersOf(object),
    });
    this.#keys = new ApiKeys({
      texts: this.#texts,
      onKey: (instance, former) => this.changes.keyChanged(instance, former),
    });
    this.changes = new InstanceChanges({ ...options, stores, keys: this.#keys, texts: this.#texts });
    this.#rollouts = new Rollouts({
      ...options,
      instances: () => this.instances(),
      onRollout: (instance, reason) => this.changes.touch(instance, reason),
      onProblem: (plural, problem) => onProblem?.(plural, problem),
    });
  }

  /** Watches until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.watches.run(signal), this.#retry(signal), this.#rollouts.run(signal)]);
  }

  /** Reads again what no watch shows: missing Secrets, and sources whose read failed. */
  async #retry(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#options.clock.sleep(retryMs, signal);
      if (!signal.aborted) await this.#texts.retry(this.#keys.missing());
    }
  }

  /** The cached instance; undefined if it does not exist or is invalid. */
  declared(name: ObjectName): DeclaredInstance | undefined {
    return parseInstance(this.#stores.byKind.WafInstance.get(nameKey(name)));
  }

  /** Every valid instance. */
  instances(): DeclaredInstance[] {
    return this.#stores.byKind.WafInstance.list().flatMap((object) => parseInstance(object) ?? []);
  }

  /** From the stores; undefined if the instance does not exist. */
  async gather(name: ObjectName): Promise<Gathered | undefined> {
    const instance = this.declared(name);
    if (instance === undefined) return undefined;
    const referring = this.#referringTo(nameKey(name));
    return (await this.#gather({ instance, referring, labelsOf: this.#stores.labelsOf }, false)).gathered;
  }

  /** From the API server. */
  async confirm(name: ObjectName): Promise<ConfirmedGathering> {
    const { api, namespace } = this.#options;
    const subject = `WafInstance ${nameKey(name)}`;
    const found = await getObject<ClusterObject>(api, typeOfKind("WafInstance"), name, { timeoutMs: requestTimeoutMs });
    if (!found.ok && found.fault.code === "NotFound") {
      const unserved = await this.#unserved();
      return unserved === undefined ? { state: "Read", gathered: undefined } : failed(unserved);
    }
    if (!found.ok) return failed(`${subject} could not be reread: ${found.fault.message}`);
    const stored = this.#stores.byKind.WafInstance.get(nameKey(name));
    if (stored !== undefined && stored.metadata.uid !== found.value.metadata.uid) {
      return failed(`${subject} has been deleted and created again.`);
    }
    const slim = (kind: ResourceKind, object: ClusterObject): ClusterObject => this.#slim(kind, object);
    const parsed = parseObject<"WafInstance">(slim("WafInstance", found.value));
    if (!parsed.ok) return failed(`${subject} is invalid: ${parsed.problem}`);
    const fresh = await readObjects({ api, namespace, labelsOf: this.#stores.labelsOf, slim }, parsed.declared);
    if (!fresh.ok) return failed(fresh.problem);
    // The lists are complete only if no CRD was being deleted meanwhile.
    const unserved = await this.#unserved();
    if (unserved !== undefined) return failed(unserved);
    const read = await this.#gather(fresh.value, true);
    return read.problems[0] === undefined ? { state: "Read", gathered: read.gathered } : failed(read.problems[0]);
  }

  /** Whether the CRD of WafInstance is terminating, so that all its objects are being deleted. Never rejects. */
  async isUninstalling(): Promise<boolean> {
    const terminating = await this.#terminatingCrd();
    return terminating.ok && terminating.value === "WafInstance";
  }

  /** Deletes an object if it is still the same one. Never rejects. */
  async remove({ kind, namespace, name, uid }: ResourceMeta): Promise<void> {
    const options = { preconditions: { uid }, timeoutMs: requestTimeoutMs };
    const deleted = await deleteObject(this.#options.api, typeOfKind(kind), { namespace, name }, options);
    if (deleted.ok || deleted.fault.code === "NotFound" || deleted.fault.code === "Conflict") return;
    this.#options.onProblem?.(typeOfKind(kind).plural, deleted.fault);
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

  /** Why lists of objects may lack some that users did not delete. */
  async #unserved(): Promise<string | undefined> {
    const terminating = await this.#terminatingCrd();
    if (!terminating.ok) return terminating.problem;
    return terminating.value && `The CRD of ${terminating.value} is being deleted, and all its objects with it.`;
  }

  async #terminatingCrd(): ReturnType<typeof findTerminatingCrd> {
    const terminating = await findTerminatingCrd(this.#options.api);
    if (terminating.ok && terminating.value !== undefined) this.watches.markCrdTerminating(terminating.value);
    return terminating;
  }

  async #gather(objects: InstanceObjects, isFresh: boolean): ReturnType<typeof gatherObjects> {
    const reader = { clock: this.#options.clock, keys: this.#keys, texts: this.#texts, changes: this.changes };
    const unreadable = this.#referringTo(unreadableInstance);
    const referring = [...objects.referring, ...unreadable];
    return await gatherObjects({ ...objects, referring }, reader, isFresh, {
      // Objects that are only watched, never read again.
      brokenSources: this.watches.gaps(),
      brokenReferences: this.unattached.brokenReferences(objects.instance),
      workloads: this.#rollouts.of(objects.instance),
    });
  }

  #referringTo(instance: string): readonly ClusterObject[] {
    return guestKinds.flatMap((kind) => this.#stores.byKind[kind].listBy("instance", instance));
  }

  /** An object that is stored in the same version is the stored one, so that it is not parsed again. */
  #slim(kind: ResourceKind, read: ClusterObject): ClusterObject {
    const { namespace = "", name, uid, resourceVersion } = read.metadata;
    const stored = this.#stores.byKind[kind].get(nameKey({ namespace, name }));
    const isSame = stored?.metadata.uid === uid && stored.metadata.resourceVersion === resourceVersion;
    return isSame ? stored : slimObject(kind, read, stored);
  }
}

function failed(problem: string): ConfirmedGathering {
  return { state: "Failed", problem };
}
