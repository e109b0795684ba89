// Maps changes of objects to the instances that they concern: increases the version of each and calls `onChange`, which
// wakes the reconcile runs. Decides and reads nothing, so the handler of a watch returns at once.
import { requestedAtAnnotation } from "../../api/kinds.ts";
import type { KubeObject } from "../../kube/kube-object.ts";
import type { ObjectChange } from "../../kube/reflector.ts";
import { sameJson } from "../../kube/status-diff.ts";
import { LruMap } from "../../async/lru-map.ts";
import type { ApiKey } from "../../model/api-key.ts";
import type { DeclaredInstance } from "../../model/declared.ts";
import { continuedBy } from "../../model/continues.ts";
import { byAge, nameKey, type ObjectName, type ResourceKind } from "../../model/resource.ts";
import type { AddressTexts } from "./address-texts.ts";
import type { ApiKeys } from "./api-keys.ts";
import {
  type ClusterObject,
  configMapKeysOf,
  type ConfigMapObject,
  instanceNameOf,
  isMeaningfulChange,
} from "./cluster-object.ts";
import type { ClusterStores } from "./cluster-watches.ts";
import { dependsOnLabels } from "../../model/attachment.ts";
import { parseInstance } from "./parse-object.ts";

/** Beyond it, an instance learns at its next resync that an object came back with a broken reference. */
const formerInstancesMax = 10_000;

export interface InstanceChangesOptions {
  readonly stores: ClusterStores;
  readonly keys: ApiKeys;
  readonly texts: AddressTexts;
  readonly onChange: (instance: ObjectName, reason: string) => void;
}

export class InstanceChanges {
  readonly #options: InstanceChangesOptions;
  readonly #versions = new Map<string, number>();
  #changes = 0;
  /** The former instance of deleted objects, by `resourceKey`: one that comes back with a broken reference concerns it, too. */
  readonly #formerInstances = new LruMap<string, ObjectName>(formerInstancesMax);
  /** The common version of all instances that do not exist. */
  #missingVersion = 0;

  constructor(options: InstanceChangesOptions) {
    this.#options = options;
  }

  version(instance: ObjectName): number {
    return this.#versions.get(nameKey(instance)) ?? this.#missingVersion;
  }

  /** Something that concerns the instance has changed. */
  touch(instance: ObjectName, reason: string): void {
    this.#changes += 1;
    const key = nameKey(instance);
    if (this.#instanceStore.get(key) === undefined) {
      this.#versions.delete(key);
      this.#missingVersion = this.#changes;
    } else this.#versions.set(key, this.#changes);
    this.#options.onChange({ namespace: instance.namespace, name: instance.name }, reason);
  }

  objectChanged(kind: ResourceKind, change: ObjectChange<ClusterObject>): void {
    if (change.type === "Changed" && !isMeaningfulChange(change.old, change.object)) return;
    if (kind === "WafInstance") this.#instanceChanged(change);
    else this.#attachedChanged(kind, change);
  }

  configMapChanged(change: ObjectChange<ConfigMapObject>): void {
    if (change.type === "Changed" && sameJson(change.old.data, change.object.data)) return;
    const key = keyOf(change.object);
    // It is no longer watched, but it may still exist without the label.
    if (change.type === "Deleted") this.#options.texts.refresh(key);
    this.touchUsersOf(key);
  }

  /** The content of the ConfigMap has changed. */
  touchUsersOf(mapKey: string): void {
    const users = this.#options.stores.byKind.WafIpRule.listBy("configMap", mapKey);
    this.#touchAll(users.map(instanceNameOf), `ConfigMap ${mapKey} changed`);
  }

  namespaceChanged(change: ObjectChange<KubeObject>): void {
    const { metadata } = change.object;
    if (change.type === "Changed" && sameJson(change.old.metadata.labels ?? {}, metadata.labels ?? {})) return;
    const { WafIpRule, WafOrigin, WafCacheClear } = this.#options.stores.byKind;
    const inside = [WafIpRule, WafOrigin, WafCacheClear].flatMap((store) => store.listBy("namespace", metadata.name));
    const names = inside.map(instanceNameOf).filter((name) => name !== undefined && this.#selects(name));
    this.#touchAll(names, `Namespace ${metadata.name} changed`);
  }

  /** The key of the instance has changed: this concerns all instances that had the former key or have the new one. */
  keyChanged(instance: ObjectName, former: ApiKey | undefined): void {
    this.#touchSameKey(instance, former);
    this.#touchSameKey(instance, this.#options.keys.lastGood(instance));
  }

  /** The other instances with this key, whatever their base URL: a key belongs to one WAF, and a WAF can have many URLs. */
  sharing(instance: ObjectName, key: ApiKey): DeclaredInstance[] {
    return this.#options.keys
      .sharing(key)
      .filter((name) => name !== nameKey(instance))
      .flatMap((name) => parseInstance(this.#instanceStore.get(name)) ?? []);
  }

  /**
   * The other instances that decide, if they have the same key, whether this one may work, and whose key was never read: those
   * that are older and those that continue this one.
   */
  unreadRivals({ meta }: DeclaredInstance): DeclaredInstance[] {
    const { keys } = this.#options;
    const isRival = (peer: DeclaredInstance): boolean =>
      byAge(peer.meta, meta) < 0 || continuedBy(meta, [peer.meta]) !== undefined;
    const instances = this.#instanceStore.list().flatMap((object) => parseInstance(object) ?? []);
    return instances.filter((peer) => nameKey(peer.meta) !== nameKey(meta) && isRival(peer) && !keys.wasTried(peer));
  }

  /** Makes the next `gather` read the Secret and the ConfigMaps again. */
  forgetReads(instance: ObjectName): void {
    const { keys, texts, stores } = this.#options;
    keys.refresh(instance);
    for (const rule of stores.byKind.WafIpRule.listBy("instance", nameKey(instance))) {
      for (const mapKey of configMapKeysOf(rule)) texts.refresh(mapKey);
    }
  }

  get #instanceStore(): ClusterStores["byKind"]["WafInstance"] {
    return this.#options.stores.byKind.WafInstance;
  }

  #instanceChanged(change: ObjectChange<ClusterObject>): void {
    const { namespace = "", name } = change.object.metadata;
    const instance = { namespace, name };
    if (change.type !== "Added" && (change.type === "Deleted" || change.old.spec !== change.object.spec)) {
      this.#touchSameKey(instance, this.#options.keys.lastGood(instance));
    }
    if (change.type === "Deleted") this.#options.keys.forget(instance);
    if (change.type === "Changed" && requestOf(change.old) !== requestOf(change.object)) this.forgetReads(instance);
    this.touch(instance, `WafInstance ${change.type.toLowerCase()}`);
  }

  #attachedChanged(kind: ResourceKind, change: ObjectChange<ClusterObject>): void {
    const versions = change.type === "Added" ? [change.object] : [change.object, change.old];
    if (kind === "WafIpRule") {
      const { stores, texts } = this.#options;
      for (const mapKey of versions.flatMap(configMapKeysOf)) {
        if (stores.byKind.WafIpRule.listBy("configMap", mapKey).length === 0) texts.forget(mapKey);
      }
    }
    const key = `${kind} ${keyOf(change.object)}`;
    const names = versions.map(instanceNameOf);
    const [last] = names;
    const isAttached = last !== undefined && this.#instanceStore.get(nameKey(last)) !== undefined;
    const former = this.#formerInstances.get(key);
    if (isAttached && change.type === "Deleted") this.#formerInstances.set(key, last);
    else if (!isAttached && former !== undefined) names.push(former);
    this.#touchAll(names, `${key} ${change.type.toLowerCase()}`);
  }

  /** Undefined stands for a name that cannot be read: then the change may concern every instance. */
  #touchAll(names: readonly (ObjectName | undefined)[], reason: string): void {
    const concernsAll = names.includes(undefined);
    const all = concernsAll ? this.#instanceStore.list().map(({ metadata }) => ({ namespace: "", ...metadata })) : [];
    const concerned = new Map(
      [...names, ...all].flatMap((name) => (name === undefined ? [] : [[nameKey(name), name]])),
    );
    for (const name of concerned.values()) this.touch(name, reason);
  }

  #touchSameKey(instance: ObjectName, key: ApiKey | undefined): void {
    if (key === undefined) return;
    for (const { meta } of this.sharing(instance, key)) this.touch(meta, "API key shared");
  }

  #selects(name: ObjectName): boolean {
    const instance = parseInstance(this.#instanceStore.get(nameKey(name)));
    return instance !== undefined && dependsOnLabels(instance);
  }
}

function requestOf({ metadata }: ClusterObject): string | undefined {
  return metadata.annotations?.[requestedAtAnnotation];
}

function keyOf({ metadata: { namespace = "", name } }: KubeObject): string {
  return nameKey({ namespace, name });
}
