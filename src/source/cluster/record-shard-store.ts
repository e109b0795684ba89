// Finds, writes and deletes the WafRecords of inventory shards. inventory-records.ts determines their content.
import { apiGroup } from "../../api/kinds.ts";
import { recordPartsMax, type RecordType } from "../../api/waf-record.ts";
import type { ApiFault, ApiResult } from "../../kube/api-result.ts";
import type { ApiServer } from "../../kube/api-server.ts";
import { finalizerApi } from "../../kube/object-apis.ts";
import { removeFinalizer } from "../../kube/finalizer.ts";
import { createObject, deleteObject, getObject, listObjects, listPage, replaceObject } from "../../kube/verbs.ts";
import { nameKey, type ObjectName } from "../../model/resource.ts";
import {
  instanceNameOfRecord,
  isOwnedBy,
  ownersOfRecord,
  recordBody,
  type RecordData,
  recordFinalizer,
  type RecordHolder,
  type RecordObject,
  recordResource,
  recordSelector,
} from "./record-object.ts";

const requestTimeoutMs = 10_000;
const listTimeoutMs = 30_000;
/** A shard can be almost 1 MiB in size. */
const sweepPageSize = 20;
const sweepPagesMax = 1_000;

const type: RecordType = "Inventory";
/** The base version of a save. It makes every save a change, so that two concurrent saves can't both succeed. */
const followsAnnotation = `${apiGroup}/follows`;

export interface InventoryShard {
  /** Undefined if only the version is known. */
  readonly stored: RecordObject | undefined;
  readonly resourceVersion: string;
  /** It was deleted by another writer: it exists only until its finalizer is removed. */
  readonly isEnding: boolean;
  /** The sections, including `format` and `shard`. */
  readonly data: RecordData;
}

export interface EndingShard {
  readonly instance: ObjectName;
  readonly index: number;
  readonly shard: InventoryShard;
}

export class RecordShardStore {
  readonly #api: ApiServer;

  constructor(api: ApiServer) {
    this.#api = api;
  }

  /** All shards of the instance, by number: those with the labels, and those within the first shard's count. */
  async find(instance: ObjectName): Promise<ApiResult<Map<number, InventoryShard>>> {
    const labelSelector = recordSelector(type, instance.name);
    const options = { namespace: instance.namespace, labelSelector, timeoutMs: listTimeoutMs };
    const listed = await listObjects<RecordObject>(this.#api, recordResource, options);
    if (!listed.ok) return listed;
    const shards = new Map<number, InventoryShard>();
    for (const object of listed.value.items) {
      const index = indexOf(object, instance.name);
      if (index !== undefined) shards.set(index, shardOf(object));
    }
    for (let index = 1; index <= Math.max(1, countOf(shards.get(1))); index += 1) {
      if (shards.has(index)) continue;
      const address = { namespace: instance.namespace, name: shardName(instance, index) };
      const read = await getObject<RecordObject>(this.#api, recordResource, address, { timeoutMs: requestTimeoutMs });
      if (read.ok) shards.set(index, shardOf(read.value));
      else if (read.fault.code !== "NotFound") return read;
    }
    return { ok: true, value: shards, status: 200 };
  }

  /** Why records can't be read at all; undefined if they can. */
  async probe(namespace: string | undefined): Promise<ApiFault | undefined> {
    const options = { limit: 1, continueToken: "", timeoutMs: requestTimeoutMs };
    const page = await listPage(
      this.#api,
      recordResource,
      namespace === undefined ? options : { ...options, namespace },
    );
    return page.ok ? undefined : page.fault;
  }

  /** Every shard that is marked for deletion, as far as they could be listed. */
  async findEnding(namespace: string | undefined): Promise<EndingShard[]> {
    const ending: EndingShard[] = [];
    const scope = { labelSelector: recordSelector(type), timeoutMs: listTimeoutMs };
    const options = { ...scope, limit: sweepPageSize, ...(namespace === undefined ? {} : { namespace }) };
    let continueToken = "";
    for (let pages = 0; pages < sweepPagesMax; pages += 1) {
      const page = await listPage<RecordObject>(this.#api, recordResource, { ...options, continueToken });
      if (!page.ok) break;
      for (const object of page.value.items) {
        const { namespace: home = "" } = object.metadata;
        const instance = { namespace: home, name: instanceNameOfRecord(object) };
        const index = indexOf(object, instance.name);
        const shard = shardOf(object);
        if (index !== undefined && shard.isEnding) ending.push({ instance, index, shard });
      }
      continueToken = page.value.continueToken;
      if (continueToken === "") break;
    }
    return ending;
  }

  /** Creates the shard, or replaces it if the stored version has not changed. */
  async write(
    instance: ObjectName,
    holder: RecordHolder | undefined,
    index: number,
    data: RecordData,
    former: InventoryShard | undefined,
  ): Promise<ApiResult<InventoryShard>> {
    const name = shardName(instance, index);
    const { namespace } = instance;
    const { format, shard = "", ...sections } = data;
    const [, parts] = shard.split("/");
    const content = { name, type, part: index, parts: Number(parts), format: Number(format), data: sections };
    const body = recordBody(instance, holder, content, metadataOf(instance, holder, former));
    const options = { timeoutMs: requestTimeoutMs };
    const written =
      former === undefined
        ? await createObject<RecordObject>(this.#api, recordResource, namespace, body, options)
        : await replaceObject<RecordObject>(this.#api, recordResource, { namespace, name }, body, options);
    return written.ok ? { ...written, value: shardOf(written.value) } : written;
  }

  /** Removes the finalizer and deletes the object. Undefined if it no longer exists. */
  async release(instance: ObjectName, index: number, { stored }: InventoryShard): Promise<ApiFault | undefined> {
    const address = { namespace: instance.namespace, name: shardName(instance, index) };
    const options = { timeoutMs: requestTimeoutMs };
    const read = stored === undefined ? await getObject(this.#api, recordResource, address, options) : undefined;
    if (read?.ok === false) return read.fault.code === "NotFound" ? undefined : read.fault;
    const object = stored ?? read?.value;
    if (object === undefined) return undefined;
    const target = { type: recordResource, object, finalizer: recordFinalizer };
    const released = await removeFinalizer(finalizerApi(this.#api), target);
    if (released.kind === "Failed") return released.fault;
    if (released.kind === "Gone") return undefined;
    const preconditions = { uid: object.metadata.uid };
    const deleted = await deleteObject(this.#api, recordResource, address, { ...options, preconditions });
    return deleted.ok || deleted.fault.code === "NotFound" ? undefined : deleted.fault;
  }
}

function shardName({ name }: ObjectName, index: number): string {
  return `${name}-inventory-${index}`;
}

/** Whether its part number matches its name. */
export function isNumbered({ data }: InventoryShard, index: number): boolean {
  return (data["shard"] ?? "").startsWith(`${index}/`);
}

/** Whether a write would change only its data. */
export function isHeldFor({ stored, isEnding }: InventoryShard, { uid, retains }: RecordHolder): boolean {
  if (stored === undefined) return false;
  const { metadata, spec } = stored;
  const hasFinalizer = metadata.finalizers?.includes(recordFinalizer) === true;
  const isKept = isEnding || hasFinalizer !== retains;
  const isOwned = retains ? (metadata.ownerReferences ?? []).length === 0 : isOwnedBy(metadata, uid);
  return isKept && isOwned && spec?.instance?.uid === uid;
}

function metadataOf(
  instance: ObjectName,
  holder: RecordHolder | undefined,
  former: InventoryShard | undefined,
): Parameters<typeof recordBody>[3] {
  const { labels = {}, annotations } = former?.stored?.metadata ?? {};
  return {
    labels,
    annotations: { ...annotations, ...(former === undefined ? {} : { [followsAnnotation]: former.resourceVersion }) },
    finalizers: finalizersOf(holder, former),
    ownerReferences: ownersOfRecord(instance, holder),
    ...(former === undefined ? {} : { resourceVersion: former.resourceVersion }),
  };
}

/** An object that is being deleted disappears with its last finalizer, and can't get a new one. */
function finalizersOf(holder: RecordHolder | undefined, former: InventoryShard | undefined): readonly string[] {
  const stored = former?.stored?.metadata.finalizers;
  if (former?.isEnding === true) return stored ?? [recordFinalizer];
  if (holder === undefined) return stored ?? [];
  const others = (stored ?? []).filter((finalizer) => finalizer !== recordFinalizer);
  return holder.retains ? others : [...others, recordFinalizer];
}

function shardOf(object: RecordObject): InventoryShard {
  const { resourceVersion, deletionTimestamp } = object.metadata;
  const { part, parts, format, data = {} } = object.spec ?? {};
  const sections = { ...data, format: String(format), shard: `${part}/${parts}` };
  return { stored: object, resourceVersion, isEnding: deletionTimestamp !== undefined, data: sections };
}

function indexOf({ metadata }: RecordObject, instanceName: string): number | undefined {
  const prefix = `${instanceName}-inventory-`;
  if (instanceName === "" || !metadata.name.startsWith(prefix)) return undefined;
  const text = metadata.name.slice(prefix.length);
  return /^[1-9][0-9]{0,3}$/.test(text) ? Number(text) : undefined;
}

/** The number of shards, from the first shard. */
function countOf(first: InventoryShard | undefined): number {
  return Math.min(first?.stored?.spec?.parts ?? 0, recordPartsMax);
}

export function describeShard(instance: ObjectName, index: number): string {
  return `WafRecord ${nameKey({ namespace: instance.namespace, name: shardName(instance, index) })}`;
}
