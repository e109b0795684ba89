// Maps changes of objects to the affected instances and feeds: increases their versions and calls `onChange`, which triggers reconcile
// runs. Changes in namespaces without access affect no instance. Reads nothing, so that watch handlers return immediately.
import { requestedAtAnnotation } from "../../kinds/kinds.ts";
import type { KubeObject } from "../../kube/kube-object.ts";
import { sameJson } from "../../kube/status-writer.ts";
import type { ObjectChange } from "../../kube/store.ts";
import type { ApiKey } from "../../model/api-key.ts";
import { decideAttachment } from "../../model/gathered.ts";
import { continuedBy } from "../../model/continues.ts";
import { type DeclaredFeed, type DeclaredFeeds, mayUseFeed, type DeclaredInstance } from "../../model/declared.ts";
import { byAge, nameKey, nameOfKey, type ObjectName, guestKinds } from "../../model/resource.ts";
import type { ApiKeys } from "./api-keys.ts";
import { refusalOf } from "./attachment.ts";
import {
  type ClusterObject,
  instanceNameOf,
  parseInstance,
  parseObject,
  type SourceObject,
  sourceKey,
  sourcesOf,
} from "./cluster-object.ts";
import type { ClusterStores } from "./cluster-watches.ts";
import type { DataTexts } from "./data-texts.ts";

export interface InstanceChangesOptions {
  readonly stores: ClusterStores;
  readonly keys: ApiKeys;
  readonly texts: Pick<DataTexts, "forget" | "refresh">;
  readonly onChange: (instance: ObjectName, reason: string) => void;
  /** Called when the declared feeds, or their use, may have changed. */
  readonly onFeedChange?: () => void;
}

export class InstanceChanges {
  readonly #options: InstanceChangesOptions;
  readonly #versions = new Map<string, number>();
  #changes = 0;
  /** The common version of all instances that do not exist, so that the names of deleted ones need no memory. */
  #missingVersion = 0;

  constructor(options: InstanceChangesOptions) {
    this.#options = options;
  }

  /** Increases with every change that concerns the instance. */
  version(instance: ObjectName): number {
    return this.#versions.get(nameKey(instance)) ?? this.#missingVersion;
  }

  /** Something that concerns the instance has changed. */
  touch({ namespace, name }: ObjectName, reason: string): void {
    this.#changes += 1;
    const key = nameKey({ namespace, name });
    if (this.#instanceStore.get(key) === undefined) {
      this.#versions.delete(key);
      this.#missingVersion = this.#changes;
    } else this.#versions.set(key, this.#changes);
    this.#options.onChange({ namespace, name }, reason);
  }

  objectChanged(change: ObjectChange<ClusterObject>): void {
    const { kind } = change.object;
    this.#feedsChanged(change);
    if (kind === "WafInstance") this.#instanceChanged(change);
    else if (kind !== "WafFeed") this.#attachedChanged(change);
  }

  /** Call this when rules see other content, or other access, in these feeds (`namespace/name`). */
  feedsChanged(feeds: Iterable<string>): void {
    for (const feed of feeds) this.touchUsersOf({ kind: "WafFeed", ...nameOfKey(feed) });
  }

  /** What the source contains has changed: concerns the instances that use it as a key, and those of its rules. */
  touchUsersOf(source: SourceObject): void {
    const { WafInstance, WafIpRule } = this.#options.stores.byKind;
    const key = sourceKey(source);
    const rules = WafIpRule.listBy("source", key);
    const names = WafInstance.listBy("source", key).map(nameOf);
    names.push(...rules.flatMap((rule) => this.#concernedBy(rule)));
    this.#touchAll(names, `${key} changed`);
  }

  /** Concerns the instances to which the objects of the namespace then have other access. False if its labels are the same. */
  namespaceChanged(change: ObjectChange<KubeObject>): boolean {
    const { byKind } = this.#options.stores;
    const { name: namespace, labels = {} } = change.object.metadata;
    const before = change.type === "Added" ? undefined : (change.old.metadata.labels ?? {});
    const after = change.type === "Deleted" ? undefined : labels;
    if (sameJson(before, after)) return false;
    if (byKind.WafFeed.list().length > 0) this.#options.onFeedChange?.();
    const objects = guestKinds.flatMap((kind) => byKind[kind].listBy("namespace", namespace));
    // Many objects name few instances, and anyone's labels may change all the time.
    const names = new Map(
      objects.flatMap((object) => instanceNameOf(object) ?? []).map((name) => [nameKey(name), name]),
    );
    const concerned = [...names.values()].filter((name) => {
      const instance = parseInstance(this.#instanceStore.get(nameKey(name)));
      if (instance === undefined) return false;
      return guestKinds.some((kind) => {
        const [old, next] = [before, after].map((labels) => decideAttachment(instance, kind, namespace, labels));
        return !sameJson(old, next);
      });
    });
    this.#touchAll(concerned, `Namespace ${namespace} changed`);
    return true;
  }

  /** The key of the instance has changed. This affects all instances with the former key or the new one. */
  keyChanged(instance: ObjectName, former: ApiKey | undefined): void {
    this.#touchSameKey(instance, former);
    this.#touchSameKey(instance, this.#options.keys.lastGood(instance));
  }

  /** The other instances with this key, regardless of their base URL: a key belongs to one WAF, which can have many URLs. */
  sharing(instance: ObjectName, key: ApiKey): DeclaredInstance[] {
    return this.#options.keys
      .sharing(key)
      .filter((name) => name !== nameKey(instance))
      .flatMap((name) => parseInstance(this.#instanceStore.get(name)) ?? []);
  }

  /**
   * Other instances with an unread key that would deactivate this one if they had the same key: older instances and those that
   * continue this one.
   */
  unreadRivals({ meta }: DeclaredInstance): DeclaredInstance[] {
    const isRival = (peer: DeclaredInstance): boolean =>
      byAge(peer.meta, meta) < 0 || continuedBy(meta, [peer.meta]) !== undefined;
    const peers = this.#instanceStore.list().flatMap((object) => parseInstance(object) ?? []);
    return peers.filter(
      (peer) => nameKey(peer.meta) !== nameKey(meta) && !this.#options.keys.wasTried(peer) && isRival(peer),
    );
  }

  /** All valid feeds that are not being deleted. */
  declaredFeeds(): DeclaredFeeds {
    const feeds = this.#options.stores.byKind.WafFeed.list().flatMap((object) => {
      const parsed = parseObject<"WafFeed">(object);
      return parsed.ok && !parsed.declared.meta.deleting ? [parsed.declared] : [];
    });
    const { used = [], unused = [] } = Object.groupBy(feeds, (feed) => (this.#isUsed(feed) ? "used" : "unused"));
    return { used, unused };
  }

  get #instanceStore(): ClusterStores["byKind"]["WafInstance"] {
    return this.#options.stores.byKind.WafInstance;
  }

  #instanceChanged(change: ObjectChange<ClusterObject>): void {
    const instance = nameOf(change.object);
    if (change.type !== "Added" && (change.type === "Deleted" || change.old.spec !== change.object.spec)) {
      this.#touchSameKey(instance, this.#options.keys.lastGood(instance));
    }
    if (change.type === "Deleted") this.#options.keys.forget(instance);
    if (change.type !== "Added") this.#forgetUnused([change.old]);
    if (change.type === "Changed" && requestOf(change.old) !== requestOf(change.object)) {
      const { keys, stores, texts } = this.#options;
      keys.refresh(instance);
      for (const rule of stores.byKind.WafIpRule.listBy("instance", nameKey(instance))) {
        for (const source of sourcesOf(rule)) texts.refresh(source);
      }
    }
    this.touch(instance, `WafInstance ${change.type.toLowerCase()}`);
  }

  #attachedChanged(change: ObjectChange<ClusterObject>): void {
    const versions = change.type === "Added" ? [change.object] : [change.object, change.old];
    this.#forgetUnused(versions);
    const key = `${change.object.kind} ${nameKey(nameOf(change.object))}`;
    const names = versions.flatMap((version) => this.#concernedBy(version));
    const name = instanceNameOf(change.object);
    if (name !== undefined && this.#instanceStore.get(nameKey(name)) === undefined) {
      // It may have been created again with a wrong reference: its former instance keeps its entries until it is deleted.
      names.push(...this.#instanceStore.list().flatMap((stored) => this.#attaching(change.object, stored)));
    }
    this.#touchAll(names, `${key} ${change.type.toLowerCase()}`);
  }

  /** Drops what was read of the sources of former versions, unless another object uses them. */
  #forgetUnused(versions: readonly ClusterObject[]): void {
    const { stores, texts } = this.#options;
    const users = [stores.byKind.WafIpRule, stores.byKind.WafInstance];
    for (const source of versions.flatMap(sourcesOf)) {
      if (users.every((store) => store.listBy("source", sourceKey(source)).length === 0)) texts.forget(source);
    }
  }

  /** The existing instances to which the object is or may be attached: all of them if its reference is unreadable. */
  #concernedBy(object: ClusterObject): ObjectName[] {
    const name = instanceNameOf(object);
    const instances = name === undefined ? this.#instanceStore.list() : [this.#instanceStore.get(nameKey(name))];
    return instances.flatMap((stored) => this.#attaching(object, stored));
  }

  /** The name of the instance, if it exists and objects of the namespace are or may be attached to it. */
  #attaching(object: ClusterObject, stored: ClusterObject | undefined): ObjectName[] {
    if (stored === undefined) return [];
    const instance = parseInstance(stored);
    const refusal = instance && refusalOf(instance, this.#options.stores.labelsOf, object);
    return refusal === undefined ? [nameOf(stored)] : [];
  }

  #isUsed(feed: DeclaredFeed): boolean {
    const { byKind, labelsOf } = this.#options.stores;
    return byKind.WafIpRule.listBy("source", sourceKey(feed.meta as SourceObject)).some((rule) => {
      const { namespace = "" } = rule.metadata;
      const isAllowed = mayUseFeed(feed, { namespace, labels: labelsOf(namespace) });
      return isAllowed && this.#concernedBy(rule).length > 0;
    });
  }

  /** A feed has changed, an instance, and with it the access to it, or a rule that uses feeds. */
  #feedsChanged(change: ObjectChange<ClusterObject>): void {
    const { kind } = change.object;
    const versions = change.type === "Changed" ? [change.old, change.object] : [change.object];
    const usesFeeds = versions.some((object) => sourcesOf(object).some((source) => source.kind === "WafFeed"));
    if (kind === "WafFeed" || kind === "WafInstance" || usesFeeds) this.#options.onFeedChange?.();
  }

  #touchAll(names: readonly ObjectName[], reason: string): void {
    const concerned = new Map(names.map((name) => [nameKey(name), name]));
    for (const name of concerned.values()) this.touch(name, reason);
  }

  #touchSameKey(instance: ObjectName, key: ApiKey | undefined): void {
    if (key === undefined) return;
    for (const { meta } of this.sharing(instance, key)) this.touch(meta, "API key shared");
  }
}

function requestOf({ metadata }: ClusterObject): string | undefined {
  return metadata.annotations?.[requestedAtAnnotation];
}

function nameOf({ metadata: { namespace = "", name } }: KubeObject): ObjectName {
  return { namespace, name };
}
