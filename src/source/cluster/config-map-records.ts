// Migrates the records of wafsync 0.1 from ConfigMaps to WafRecords, if requested. Anyone who can write ConfigMaps next to an
// instance can forge such a record, as in 0.1. Therefore, only instances that 0.1 has synced can have one, never new ones.
// Without the permission to change ConfigMaps, the records stay and are ignored.
import type { ApiFault, ApiResult } from "../../kube/api-result.ts";
import type { ApiServer } from "../../kube/api-server.ts";
import { apiGroup } from "../../api/kinds.ts";
import { removeFinalizer } from "../../kube/finalizer.ts";
import { finalizerApi } from "../../kube/object-apis.ts";
import { deleteObject, getObject, listObjects, listPage } from "../../kube/verbs.ts";
import type { Inventory } from "../../model/inventory.ts";
import { nameKey, type ObjectName } from "../../model/resource.ts";
import { asSentence } from "../../model/sentence.ts";
import { decodeInventory } from "../inventory-codec.ts";
import { joinShards } from "../inventory-shards.ts";
import { type ConfigMapObject, configMapType } from "./cluster-object.ts";
import { isOwnedBy } from "./record-object.ts";

const requestTimeoutMs = 10_000;
const listTimeoutMs = 30_000;
const obsoletePageSize = 20;
/** Anyone can create ConfigMaps with such labels. */
const obsoletePagesMax = 50;
const logPartsMax = 12;

const inventoryFinalizer = `${apiGroup}/keep-inventory`;
const instanceLabel = `${apiGroup}/instance`;
const selector = `app.kubernetes.io/managed-by=wafsync,${instanceLabel}`;

type Problem = { readonly state: "Unreachable" | "Unreadable"; readonly problem: string };

export interface FormerInventory {
  readonly state: "Loaded";
  readonly inventory: Inventory;
  readonly configMaps: readonly ConfigMapObject[];
}

export interface FormerInventories {
  /** The inventory of the instance with this UID. Never rejects. */
  read(instance: ObjectName, uid: string): Promise<FormerInventory | Problem | { readonly state: "None" }>;
  /** Call this after the record was moved. Never rejects. */
  remove(instance: ObjectName, moved: FormerInventory): Promise<void>;
}

export interface FormerLogRecord {
  /** The text of the record, which must match the digest. */
  readonly text: string;
  readonly digest: string | undefined;
  readonly configMaps: readonly ConfigMapObject[];
}

export interface FormerLogRecords {
  /** Undefined if there is none. Never rejects. */
  read(instance: ObjectName, uid: string): Promise<ApiResult<FormerLogRecord | undefined>>;
  /** Call this after the record was moved. Never rejects. */
  remove(instance: ObjectName, moved: FormerLogRecord): Promise<void>;
}

export interface FormerRecordsOptions {
  readonly api: ApiServer;
  /** Whether an earlier version has synced the instance, which only wafsync can record. */
  readonly wasSynced: (instance: ObjectName) => boolean;
  /** Called when the ConfigMaps of a record that was moved could not be removed. */
  readonly onKept: (instance: ObjectName, problem: string) => void;
}

export function formerInventories(options: FormerRecordsOptions): FormerInventories {
  const { api, wasSynced } = options;
  return {
    read: async (instance, uid) => {
      if (!wasSynced(instance)) return { state: "None" };
      const { namespace, name } = instance;
      const labelSelector = `${selector}=${name}`;
      const listed = await listObjects<ConfigMapObject>(api, configMapType, {
        namespace,
        labelSelector,
        timeoutMs: listTimeoutMs,
      });
      if (!listed.ok) return { state: "Unreachable", problem: unreachable(instance, listed.fault) };
      const configMaps = listed.value.items.filter(
        (object) => isInventory(object, name) && isOwnedBy(object.metadata, uid),
      );
      if (configMaps.length === 0) return { state: "None" };
      const joined = joinShards(configMaps.map(({ data }) => data ?? {}));
      const decoded = joined.ok ? decodeInventory(joined.record) : joined;
      if (decoded.ok) return { state: "Loaded", inventory: decoded.inventory, configMaps };
      const names = configMaps.map(({ metadata }) => metadata.name).join(", ");
      return { state: "Unreadable", problem: `The ConfigMaps ${names} can't be moved: ${decoded.problem}` };
    },
    remove: async (instance, { configMaps }) => await removeAll(options, instance, configMaps),
  };
}

export function formerLogRecords(options: FormerRecordsOptions): FormerLogRecords {
  const { api, wasSynced } = options;
  const get = async (namespace: string, name: string): Promise<ApiResult<ConfigMapObject | undefined>> => {
    const read = await getObject<ConfigMapObject>(
      api,
      configMapType,
      { namespace, name },
      { timeoutMs: requestTimeoutMs },
    );
    return !read.ok && read.fault.code === "NotFound" ? { ok: true, value: undefined, status: 404 } : read;
  };
  return {
    read: async ({ namespace, name }, uid) => {
      if (!wasSynced({ namespace, name })) return { ok: true, value: undefined, status: 200 };
      const head = await get(namespace, `${name}-wafsync-logs`);
      if (!head.ok) return head;
      if (head.value === undefined || !isOwnedBy(head.value.metadata, uid)) return { ...head, value: undefined };
      const { set = "", parts = "0", record = "", digest } = head.value.data ?? {};
      const configMaps = [head.value];
      const texts = [record];
      for (let part = 1; part <= Math.min(Number(parts), logPartsMax); part += 1) {
        const found = await get(namespace, `${name}-wafsync-logs-${set}-${part}`);
        if (!found.ok) return found;
        if (found.value !== undefined) configMaps.push(found.value);
        texts.push(found.value?.data?.["part"] ?? "");
      }
      return { ok: true, value: { text: texts.join(""), digest, configMaps }, status: 200 };
    },
    remove: async (instance, { configMaps }) => await removeAll(options, instance, configMaps),
  };
}

/** The event message about a remaining inventory of 0.1, with the commands that remove it. */
export function formerInventoryMessage({ namespace, name }: ObjectName, kept: string | undefined): string {
  const select = `-n ${namespace} -l ${selector}=${name}`;
  const patch = `kubectl patch -n ${namespace} --type=merge -p '{"metadata":{"finalizers":null}}'`;
  const commands = `kubectl delete configmap ${select} --wait=false; kubectl get configmap ${select} -o name | xargs -n 1 ${patch}`;
  const what =
    kept === undefined
      ? "ConfigMaps next to this instance contain an inventory of wafsync 0.1, which is ignored. To use it, delete the WafRecords of this instance and start the operator once with --migrate-config-map-records."
      : `The inventory of wafsync 0.1 was moved into WafRecords, but its ConfigMaps could not be removed: ${kept}`;
  return `${what} To remove the ConfigMaps: ${commands}`;
}

/** The instances with inventories of 0.1, as far as they could be listed. Never rejects. */
export async function findFormerInventories(api: ApiServer, namespace: string | undefined): Promise<ObjectName[]> {
  const found = new Map<string, ObjectName>();
  const scope = { labelSelector: selector, limit: obsoletePageSize, timeoutMs: listTimeoutMs };
  const options = namespace === undefined ? scope : { ...scope, namespace };
  let continueToken = "";
  for (let pages = 0; pages < obsoletePagesMax; pages += 1) {
    const page = await listPage<ConfigMapObject>(api, configMapType, { ...options, continueToken });
    if (!page.ok) break;
    for (const object of page.value.items) {
      const instance = {
        namespace: object.metadata.namespace ?? "",
        name: object.metadata.labels?.[instanceLabel] ?? "",
      };
      if (isInventory(object, instance.name)) found.set(nameKey(instance), instance);
    }
    continueToken = page.value.continueToken;
    if (continueToken === "") break;
  }
  return [...found.values()];
}

/** Whether it appears to be part of an inventory. */
function isInventory({ metadata }: ConfigMapObject, instanceName: string): boolean {
  const prefix = `${instanceName}-wafsync-inventory-`;
  const isNumbered = metadata.name.startsWith(prefix) && /^[1-9][0-9]{0,3}$/.test(metadata.name.slice(prefix.length));
  return isNumbered && metadata.finalizers?.includes(inventoryFinalizer) === true;
}

async function removeAll(
  { api, onKept }: FormerRecordsOptions,
  instance: ObjectName,
  configMaps: readonly ConfigMapObject[],
): Promise<void> {
  for (const object of configMaps) {
    const fault = await removeOne(api, object);
    if (fault !== undefined) return onKept(instance, asSentence(fault.message));
  }
}

async function removeOne(api: ApiServer, object: ConfigMapObject): Promise<ApiFault | undefined> {
  const { uid, name, namespace = "" } = object.metadata;
  const target = { type: configMapType, object, finalizer: inventoryFinalizer };
  const released = await removeFinalizer(finalizerApi(api), target);
  if (released.kind === "Failed") return released.fault;
  if (released.kind === "Gone") return undefined;
  const options = { preconditions: { uid }, timeoutMs: requestTimeoutMs };
  const deleted = await deleteObject(api, configMapType, { namespace, name }, options);
  return deleted.ok || deleted.fault.code === "NotFound" ? undefined : deleted.fault;
}

function unreachable(instance: ObjectName, { message }: ApiFault): string {
  return `The ConfigMaps with the inventory of ${nameKey(instance)} can't be read: ${asSentence(message)}`;
}
