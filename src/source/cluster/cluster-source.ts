// Desired state from a cluster. The stores hold what the watches have seen; a change of an object is only translated into
// the instances that it concerns, whose version grows. `gather` puts together what belongs to an instance, `confirm` does
// the same from fresh reads. Secrets and unlabelled ConfigMaps are read when they are needed, and kept for a while.
import type { Clock } from "../../async/clock.ts";
import type { ApiServer } from "../../kube/api-server.ts";
import type { ListWatchProblem } from "../../kube/list-watch.ts";
import { deleteObject } from "../../kube/verbs.ts";
import type { ApiKey } from "../../model/api-key.ts";
import type { DeclaredInstance } from "../../model/declared.ts";
import type { ConfirmedGathering, Gathered } from "../../model/gathered.ts";
import { nameKey, type ObjectName, type ResourceMeta, type ResourceRef } from "../../model/resource.ts";
import { AddressTexts, type Freshness } from "./address-texts.ts";
import { ApiKeys } from "./api-keys.ts";
import { type ClusterObject, instanceNameOf, typeOfKind } from "./cluster-object.ts";
import { ClusterWatches, unreadableInstance, type WatchHealth } from "./cluster-watches.ts";
import { type ConfirmContext, findLeavingKind, readInstance, readNamespaceLabels } from "./confirm-instance.ts";
import { type DeclaredPicture, declaredPicture, type InstancePicture } from "./gather-instance.ts";
import { InstanceChanges } from "./instance-changes.ts";
import { type InvalidObject, invalidObjects, type Unattached, unattachedObjects } from "./unattached-objects.ts";
import { LookAgain } from "./missing-ref-poller.ts";
import { parseObject } from "./parse-object.ts";
import { RolloutWatches } from "./rollout-watches.ts";

const deleteTimeoutMs = 10_000;

export interface ClusterSourceOptions {
  readonly api: ApiServer;
  readonly clock: Clock;
  /** A number from 0 to below 1. */
  readonly random: () => number;
  /** Watches this namespace alone, for which Roles suffice; all of them if undefined. */
  readonly namespace: string | undefined;
  /** Something that concerns the instance has changed; the instance need not exist. Must only take note. */
  readonly onChange: (instance: ObjectName, reason: string) => void;
  /** Trouble of a watch, or of a request that nobody waits for. `subject` says of what, for example `wafiprules`. */
  readonly onProblem?: (subject: string, problem: Pick<ListWatchProblem, "code" | "message" | "error">) => void;
}

export interface ClusterSource {
  /** Watches and looks again for what is missing, until the signal aborts. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
  /** True as soon as everything was listed once: nothing else may be asked before. False if the signal aborts before. */
  whenSynced(signal?: AbortSignal): Promise<boolean>;
  isSynced(): boolean;
  /** Whether objects of a kind may be missing although they were not deleted. */
  hasGaps(): boolean;
  /** Why what is known may not be all there is, in a sentence; undefined if nothing is missing. */
  notReadyBecause(): string | undefined;
  health(): readonly WatchHealth[];
  /** Every instance that can be understood, ordered by name. */
  instances(): ObjectName[];
  gather(instance: ObjectName): Promise<Gathered | undefined>;
  confirm(instance: ObjectName): Promise<ConfirmedGathering>;
  /** Grows with every change that concerns the instance. */
  version(instance: ObjectName): number;
  /** Whether the API server is about to forget the kind WafInstance, and deletes its objects for that. Never rejects. */
  isUninstalling(): Promise<boolean>;
  /** The instance that the object refers to, or is; undefined if that is not known. */
  instanceOf(ref: ResourceRef): ObjectName | undefined;
  /** Deletes an object if it is still the same one. Never rejects. */
  remove(object: ResourceMeta): Promise<void>;
  /** Rules, origins and cache clears that refer to no instance that is known: to this one, or to any. */
  unattached(instance?: ObjectName): Unattached[];
  /** Objects that this version of wafsync does not understand. Those of rules and origins hold removals. */
  invalid(): InvalidObject[];
  /** The WAF refused the key: the Secret is read again at the next gathering. */
  secretRefused(instance: ObjectName): void;
  /** Secret and ConfigMaps of the instance are read again at the next gathering. */
  forgetReads(instance: ObjectName): void;
  /** The last good key, for cleaning up when the Secret is gone. Nothing is read. */
  lastKey(instance: ObjectName): ApiKey | undefined;
  /** The object as last seen; undefined if it is not there. Without its managed fields. */
  objectOf(ref: ResourceRef): ClusterObject | undefined;
  /** Whether the namespace is being deleted, or is gone; false where that cannot be known. */
  isNamespaceEnding(namespace: string): boolean;
}

export function createClusterSource(options: ClusterSourceOptions): ClusterSource {
  return new WatchedCluster(options);
}

class WatchedCluster implements ClusterSource {
  readonly #options: ClusterSourceOptions;
  readonly #watches: ClusterWatches;
  readonly #changes: InstanceChanges;
  readonly #keys: ApiKeys;
  readonly #texts: AddressTexts;
  readonly #lookAgain: LookAgain;
  readonly #rollouts: RolloutWatches;

  constructor(options: ClusterSourceOptions) {
    this.#options = options;
    const { api, clock, random, namespace, onChange, onProblem } = options;
    this.#watches = new ClusterWatches({
      api,
      clock,
      random,
      namespace,
      onObject: (kind, change) => {
        if (kind === "WafInstance") this.#rollouts.instancesChanged();
        this.#changes.objectChanged(kind, change);
      },
      onConfigMap: (change) => this.#changes.configMapChanged(change),
      onNamespace: (change) => this.#changes.namespaceChanged(change),
      onProblem: (plural, problem) => onProblem?.(plural, problem),
    });
    const { stores } = this.#watches;
    this.#keys = new ApiKeys({ api, clock, onKey: (instance, former) => this.#changes.keyChanged(instance, former) });
    this.#texts = new AddressTexts({ api, clock, watched: stores.configMaps });
    this.#lookAgain = new LookAgain(clock);
    this.#changes = new InstanceChanges({ stores, keys: this.#keys, texts: this.#texts, onChange });
    this.#rollouts = new RolloutWatches({
      api,
      clock,
      random,
      namespace,
      instances: () => this.#declaredInstances(),
      onRollout: (instance, reason) => this.#changes.touch(instance, reason),
      onProblem: (plural, problem) => onProblem?.(plural, problem),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#watches.run(signal), this.#lookAgain.run(signal), this.#rollouts.run(signal)]);
  }

  async whenSynced(signal?: AbortSignal): Promise<boolean> {
    return await this.#watches.whenSynced(signal);
  }

  isSynced(): boolean {
    return this.#watches.health().every(({ isSynced }) => isSynced);
  }

  hasGaps(): boolean {
    return this.#watches.gaps().length > 0;
  }

  notReadyBecause(): string | undefined {
    return this.#watches.missing();
  }

  health(): readonly WatchHealth[] {
    return this.#watches.health();
  }

  instances(): ObjectName[] {
    return this.#declaredInstances()
      .map(({ meta: { namespace, name } }) => ({ namespace, name }))
      .sort((left, right) => (nameKey(left) < nameKey(right) ? -1 : 1));
  }

  async gather(name: ObjectName): Promise<Gathered | undefined> {
    const instance = this.#instance(name);
    if (instance === undefined) return undefined;
    const { WafIpRule, WafOrigin, WafCacheClear } = this.#stores.byKind;
    const key = nameKey(name);
    const picture: InstancePicture = {
      instance,
      rules: WafIpRule.listBy("instance", key),
      origins: WafOrigin.listBy("instance", key),
      cacheClears: WafCacheClear.listBy("instance", key),
      unreadable: this.#unreadable(),
    };
    const declared = declaredPicture(picture);
    const notBeforeMs = this.#options.clock.monotonicMs() - instance.resyncIntervalMs;
    const read = await this.#readRest(instance, declared, { notBeforeMs, bypassWatch: false });
    this.#wantMissing(instance, declared, read);
    const { namespaces } = this.#stores;
    const labels = new Map<string, Readonly<Record<string, string>>>();
    for (const namespace of namespacesOf(declared)) {
      const object = namespaces?.get(namespace);
      if (object !== undefined) labels.set(namespace, object.metadata.labels ?? {});
    }
    const workloads = this.#rollouts.sightsOf(instance);
    return { ...gathered(instance, declared, read, labels, this.#watches.gaps()), workloads };
  }

  async confirm(name: ObjectName): Promise<ConfirmedGathering> {
    const { api, clock, namespace } = this.#options;
    const startMs = clock.monotonicMs();
    const context: ConfirmContext = {
      api,
      namespace,
      stores: this.#stores,
      onLeaving: (kind) => this.#watches.noteLeaving(kind),
    };
    const confirmed = await readInstance(context, name);
    if (!confirmed.ok) return { state: "Failed", problem: confirmed.problem };
    if (confirmed.value === undefined) return { state: "Read", gathered: undefined };
    const { instance } = confirmed.value;
    const declared = declaredPicture({ ...confirmed.value, unreadable: this.#unreadable() });
    const read = await this.#readRest(instance, declared, { notBeforeMs: startMs, bypassWatch: true });
    const [problem] = read.problems;
    if (problem !== undefined) return { state: "Failed", problem };
    const labels = await readNamespaceLabels(context, namespacesOf(declared));
    if (!labels.ok) return { state: "Failed", problem: labels.problem };
    const workloads = this.#rollouts.sightsOf(instance);
    const all = { ...gathered(instance, declared, read, labels.value, this.#watches.gaps()), workloads };
    return { state: "Read", gathered: all };
  }

  version(instance: ObjectName): number {
    return this.#changes.version(instance);
  }

  async isUninstalling(): Promise<boolean> {
    const leaving = await findLeavingKind(this.#options);
    const isLeaving = leaving.ok && leaving.value === "WafInstance";
    if (isLeaving) this.#watches.noteLeaving("WafInstance");
    return isLeaving;
  }

  instanceOf(ref: ResourceRef): ObjectName | undefined {
    const { kind, namespace, name } = ref;
    if (kind === "WafInstance") return { namespace, name };
    const object = this.objectOf(ref);
    return object === undefined ? undefined : instanceNameOf(object);
  }

  async remove({ kind, namespace, name, uid }: ResourceMeta): Promise<void> {
    const options = { preconditions: { uid }, timeoutMs: deleteTimeoutMs };
    const deleted = await deleteObject(this.#options.api, typeOfKind(kind), { namespace, name }, options);
    if (deleted.ok || deleted.fault.code === "NotFound" || deleted.fault.code === "Conflict") return;
    this.#options.onProblem?.(typeOfKind(kind).plural, deleted.fault);
  }

  unattached(instance?: ObjectName): Unattached[] {
    return unattachedObjects(this.#stores, this.#options.namespace, instance);
  }

  invalid(): InvalidObject[] {
    return invalidObjects(this.#stores);
  }

  secretRefused(instance: ObjectName): void {
    this.#keys.refresh(instance);
  }

  forgetReads(instance: ObjectName): void {
    this.#changes.forgetReads(instance);
  }

  lastKey(instance: ObjectName): ApiKey | undefined {
    return this.#keys.lastGood(instance);
  }

  objectOf(ref: ResourceRef): ClusterObject | undefined {
    return this.#stores.byKind[ref.kind].get(nameKey(ref));
  }

  isNamespaceEnding(namespace: string): boolean {
    const { namespaces } = this.#stores;
    if (namespaces === undefined) return false;
    const object = namespaces.get(namespace);
    return object === undefined || object.metadata.deletionTimestamp !== undefined;
  }

  get #stores(): ClusterWatches["stores"] {
    return this.#watches.stores;
  }

  #declaredInstances(): DeclaredInstance[] {
    return this.#stores.byKind.WafInstance.list().flatMap((object) => {
      const parsed = parseObject("WafInstance", object);
      return parsed.ok ? [parsed.declared] : [];
    });
  }

  #instance(name: ObjectName): DeclaredInstance | undefined {
    const object = this.#stores.byKind.WafInstance.get(nameKey(name));
    const parsed = object === undefined ? undefined : parseObject("WafInstance", object);
    return parsed?.ok === true ? parsed.declared : undefined;
  }

  #unreadable(): ClusterObject[] {
    const { WafIpRule, WafOrigin } = this.#stores.byKind;
    return [WafIpRule, WafOrigin].flatMap((store) => store.listBy("instance", unreadableInstance));
  }

  /** Key and texts, which are not watched. The key of others is asked for once, to know who has the same one. */
  async #readRest(instance: DeclaredInstance, { rules }: DeclaredPicture, freshness: Freshness): Promise<RestRead> {
    const peers = this.#changes.peersOf(instance);
    const [key, texts] = await Promise.all([
      this.#keys.read(instance, instance.resyncIntervalMs),
      Promise.all(rules.map(async (rule) => ({ rule, ...(await this.#texts.read(rule, freshness)) }))),
      Promise.all(peers.map(async (peer) => await this.#keys.ensureTried(peer))),
    ]);
    const print = key.state === "Present" ? key.key.fingerprint() : undefined;
    const sameKey = peers.filter(({ meta }) => this.#keys.lastGood(meta)?.fingerprint() === print);
    return {
      key,
      rules: texts.map(({ rule, texts }) => ({ rule, texts })),
      problems: [...new Set(texts.flatMap(({ problems }) => problems))],
      lacking: new Map(texts.flatMap(({ lacking }) => lacking.map((name) => [nameKey(name), name]))),
      sameKey: print === undefined ? [] : sameKey.map(({ meta }) => meta),
    };
  }

  #wantMissing({ meta }: DeclaredInstance, { rules }: DeclaredPicture, { key, lacking }: RestRead): void {
    const { namespace, name } = meta;
    const wantedKey = `key ${nameKey(meta)}`;
    if (key.state === "Present") this.#lookAgain.delete(wantedKey);
    else this.#lookAgain.add(wantedKey, async () => await this.#lookForKey({ namespace, name }, key.problem));
    for (const rule of rules) {
      for (const { name: mapName } of rule.addressesFrom) {
        const mapKey = nameKey({ namespace: rule.meta.namespace, name: mapName });
        const missing = lacking.get(mapKey);
        if (missing === undefined) this.#lookAgain.delete(`configmap ${mapKey}`);
        else this.#lookAgain.add(`configmap ${mapKey}`, async () => await this.#lookForConfigMap(missing));
      }
    }
  }

  async #lookForKey(name: ObjectName, formerProblem: string): Promise<boolean> {
    const instance = this.#instance(name);
    if (instance === undefined) return true;
    this.#keys.refresh(name);
    const key = await this.#keys.read(instance, instance.resyncIntervalMs);
    if (key.state === "Missing" && key.problem === formerProblem) return false;
    this.#changes.touch(name, "Secret changed");
    return true;
  }

  async #lookForConfigMap(name: ObjectName): Promise<boolean> {
    const isUsed = this.#stores.byKind.WafIpRule.listBy("configMap", nameKey(name)).length > 0;
    if (!isUsed || this.#stores.configMaps.get(nameKey(name)) !== undefined) return true;
    if (!(await this.#texts.hasChanged(name))) return false;
    this.#changes.touchUsersOf(nameKey(name));
    return true;
  }
}

interface RestRead extends Pick<Gathered, "key" | "rules" | "sameKey"> {
  readonly problems: readonly string[];
  /** By `namespace/name`. */
  readonly lacking: ReadonlyMap<string, ObjectName>;
}

function namespacesOf({ rules, origins, cacheClears }: DeclaredPicture): Set<string> {
  return new Set([...rules, ...origins, ...cacheClears].map(({ meta }) => meta.namespace));
}

function gathered(
  instance: DeclaredInstance,
  { origins, cacheClears, broken }: DeclaredPicture,
  { key, rules, sameKey, problems }: RestRead,
  namespaceLabels: Gathered["namespaceLabels"],
  gaps: readonly string[],
): Gathered {
  const brokenSources = [...gaps, ...broken, ...problems];
  return { instance, key, rules, origins, cacheClears, namespaceLabels, brokenSources, sameKey };
}
