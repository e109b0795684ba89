// The ConfigMaps of inventory shards: their names and labels, and how they are found, written and deleted. Their content is
// up to inventory-config-maps.ts.
import { apiGroup } from "../../api/kinds.ts";
import type { ApiFault, ApiResult } from "../../kube/api-result.ts";
import type { ApiServer } from "../../kube/api-server.ts";
import { finalizerApi } from "../../kube/object-apis.ts";
import { removeFinalizer } from "../../kube/finalizer.ts";
import { isRecord } from "../../kube/kube-object.ts";
import { createObject, deleteObject, getObject, listObjects, listPage, replaceObject } from "../../kube/verbs.ts";
import { nameKey, type ObjectName } from "../../model/resource.ts";
import { type ConfigMapObject, configMapType } from "./cluster-object.ts";
import { inventoryFinalizer, ownerReferenceOf } from "./owner-reference.ts";

const requestTimeoutMs = 10_000;
const listTimeoutMs = 30_000;
/** A shard can have almost 1 MiB. */
const sweepPageSize = 20;
const sweepPagesMax = 1_000;
const shardsMax = 1_000;

const managedByLabel = "app.kubernetes.io/managed-by";
const managedBy = "wafsync";
const instanceLabel = `${apiGroup}/instance`;
/** The version that a save started from. It makes every save a change, so that two concurrent saves cannot both succeed. */
const followsAnnotation = `${apiGroup}/follows`;

export interface InventoryShard {
  /** Undefined if only the version is known. */
  readonly stored: ConfigMapObject | undefined;
  readonly resourceVersion: string;
  readonly data: Readonly<Record<string, string>>;
}

export interface EndingShard {
  readonly instance: ObjectName;
  readonly index: number;
  readonly shard: InventoryShard;
}

export class InventoryShardStore {
  readonly #api: ApiServer;

  constructor(api: ApiServer) {
    this.#api = api;
  }

  /** All shards of the instance, by number: those with the label, and those that the first one counts. */
  async find(instance: ObjectName): Promise<ApiResult<Map<number, InventoryShard>>> {
    const labelSelector = `${managedByLabel}=${managedBy},${instanceLabel}=${instance.name}`;
    const options = { namespace: instance.namespace, labelSelector, timeoutMs: listTimeoutMs };
    const listed = await listObjects<ConfigMapObject>(this.#api, configMapType, options);
    if (!listed.ok) return listed;
    const shards = new Map<number, InventoryShard>();
    for (const object of listed.value.items) {
      const index = indexOf(object, instance.name);
      if (index !== undefined) shards.set(index, shardOf(object));
    }
    for (let index = 1; index <= Math.max(1, countOf(shards.get(1))); index += 1) {
      if (shards.has(index)) continue;
      const address = { namespace: instance.namespace, name: shardName(instance, index) };
      const read = await getObject<ConfigMapObject>(this.#api, configMapType, address, { timeoutMs: requestTimeoutMs });
      if (read.ok) shards.set(index, shardOf(read.value));
      else if (read.fault.code !== "NotFound") return read;
    }
    return { ok: true, value: shards, status: 200 };
  }

  /** Every shard that is marked for deletion, as far as they could be listed. */
  async findEnding(namespace: string | undefined): Promise<EndingShard[]> {
    const ending: EndingShard[] = [];
    const scope = { labelSelector: `${managedByLabel}=${managedBy},${instanceLabel}`, timeoutMs: listTimeoutMs };
    const options = { ...scope, limit: sweepPageSize, ...(namespace === undefined ? {} : { namespace }) };
    let continueToken = "";
    for (let pages = 0; pages < sweepPagesMax; pages += 1) {
      const page = await listPage<ConfigMapObject>(this.#api, configMapType, { ...options, continueToken });
      if (!page.ok) break;
      for (const object of page.value.items) {
        const { namespace: home = "", labels = {}, deletionTimestamp } = object.metadata;
        const instance = { namespace: home, name: labels[instanceLabel] ?? "" };
        const index = indexOf(object, instance.name);
        if (index === undefined || deletionTimestamp === undefined) continue;
        ending.push({ instance, index, shard: shardOf(object) });
      }
      continueToken = page.value.continueToken;
      if (continueToken === "") break;
    }
    return ending;
  }

  /** Creates the shard, or replaces it if the stored version has not changed. */
  async write(
    instance: ObjectName,
    uid: string | undefined,
    index: number,
    data: InventoryShard["data"],
    former: InventoryShard | undefined,
  ): Promise<ApiResult<InventoryShard>> {
    const name = shardName(instance, index);
    const { namespace } = instance;
    const metadata = { name, namespace, ...metadataOf(instance, uid, former) };
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata, data };
    const options = { timeoutMs: requestTimeoutMs };
    const written =
      former === undefined
        ? await createObject<ConfigMapObject>(this.#api, configMapType, namespace, body, options)
        : await replaceObject<ConfigMapObject>(this.#api, configMapType, { namespace, name }, body, options);
    return written.ok ? { ...written, value: shardOf(written.value) } : written;
  }

  /** Removes the finalizer and deletes the ConfigMap. Undefined if it no longer exists. */
  async release(instance: ObjectName, index: number, { stored }: InventoryShard): Promise<ApiFault | undefined> {
    const address = { namespace: instance.namespace, name: shardName(instance, index) };
    const options = { timeoutMs: requestTimeoutMs };
    const read = stored === undefined ? await getObject(this.#api, configMapType, address, options) : undefined;
    if (read?.ok === false) return read.fault.code === "NotFound" ? undefined : read.fault;
    const object = stored ?? read?.value;
    if (object === undefined) return undefined;
    const target = { type: configMapType, object, finalizer: inventoryFinalizer };
    const released = await removeFinalizer(finalizerApi(this.#api), target);
    if (released.kind === "Failed") return released.fault;
    if (released.kind === "Gone") return undefined;
    const preconditions = { uid: object.metadata.uid };
    const deleted = await deleteObject(this.#api, configMapType, address, { ...options, preconditions });
    return deleted.ok || deleted.fault.code === "NotFound" ? undefined : deleted.fault;
  }
}

export function shardName({ name }: ObjectName, index: number): string {
  return `${name}-wafsync-inventory-${index}`;
}

/** Whether a write would change only its data. */
export function isHeldFor({ stored }: InventoryShard, uid: string): boolean {
  if (stored === undefined) return false;
  const { finalizers = [], ownerReferences = [], deletionTimestamp } = stored.metadata;
  const isOwned = ownerReferences.some((reference) => isRecord(reference) && reference["uid"] === uid);
  return isOwned && (finalizers.includes(inventoryFinalizer) || deletionTimestamp !== undefined);
}

function metadataOf(instance: ObjectName, uid: string | undefined, former: InventoryShard | undefined): object {
  const { labels, annotations, finalizers = [], deletionTimestamp } = former?.stored?.metadata ?? {};
  // No finalizer can be added to an object that is being deleted.
  const isMissing = deletionTimestamp === undefined && !finalizers.includes(inventoryFinalizer);
  return {
    labels: { ...labels, [managedByLabel]: managedBy, [instanceLabel]: instance.name },
    annotations: { ...annotations, ...(former === undefined ? {} : { [followsAnnotation]: former.resourceVersion }) },
    finalizers: isMissing ? [...finalizers, inventoryFinalizer] : finalizers,
    ...(uid === undefined ? {} : { ownerReferences: [ownerReferenceOf(instance, uid)] }),
    ...(former === undefined ? {} : { resourceVersion: former.resourceVersion }),
  };
}

function shardOf(object: ConfigMapObject): InventoryShard {
  return { stored: object, resourceVersion: object.metadata.resourceVersion, data: object.data ?? {} };
}

function indexOf({ metadata }: ConfigMapObject, instanceName: string): number | undefined {
  const prefix = `${instanceName}-wafsync-inventory-`;
  if (instanceName === "" || !metadata.name.startsWith(prefix)) return undefined;
  const text = metadata.name.slice(prefix.length);
  return /^[1-9][0-9]{0,3}$/.test(text) ? Number(text) : undefined;
}

/** The number of shards, as the first one says. */
function countOf(first: InventoryShard | undefined): number {
  const count = Number(first?.data["shard"]?.split("/")[1] ?? 0);
  return Number.isInteger(count) ? Math.min(count, shardsMax) : 0;
}

export function describeShard(instance: ObjectName, index: number): string {
  return `ConfigMap ${nameKey({ namespace: instance.namespace, name: shardName(instance, index) })}`;
}
