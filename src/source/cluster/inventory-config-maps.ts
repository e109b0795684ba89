// Inventories in ConfigMaps next to their instance: `<instance>-wafsync-inventory-<n>`, plain lists that people can read.
// Every save writes the first ConfigMap last, so that concurrent writers conflict there and a stale one fails. The others are
// written before it, if they differ; those that are no longer needed are deleted after it. A crash in between leaves a union
// with too many entries, never too few, which the next save corrects. A finalizer protects them from any other deletion (of
// the namespace, or by a cascade): only `remove` removes it.
import { LruMap } from "../../async/lru-map.ts";
import type { ApiFault, ApiResult } from "../../kube/api-result.ts";
import type { ApiServer } from "../../kube/api-server.ts";
import { type Inventory, emptyInventory, type LoadedInventory, type SavedInventory } from "../../model/inventory.ts";
import { nameKey, type ObjectName } from "../../model/resource.ts";
import { asSentence } from "../../model/sentence.ts";
import { decodeInventory, encodeInventory } from "../inventory-codec.ts";
import { joinShards, shardInventory } from "../inventory-shards.ts";
import { describeShard, type InventoryShard, InventoryShardStore, isHeldFor } from "./inventory-shard-store.ts";

/** Bytes of text in a ConfigMap, whose limit is 1 MiB. */
const shardBytesMaxDefault = 900 * 1024;
/** Instances whose text is cached. For the others, every save writes every shard. */
const knownMax = 100;

export interface InventoryConfigMaps {
  /** By the name of the instance, whatever its UID. Without an inventory: an empty one with an empty revision. Never rejects. */
  load(instance: ObjectName): Promise<LoadedInventory>;
  /** Stored when it resolves with `Saved`. `Conflict` if another writer has saved since `revision`. Never rejects. */
  save(instance: ObjectName, inventory: Inventory, revision: string): Promise<SavedInventory>;
  /** Deletes the inventory of a released instance. Returns undefined, or why it could not be deleted. Never rejects. */
  remove(instance: ObjectName): Promise<string | undefined>;
  /**
   * Removes the finalizer of inventories that are being deleted and whose instance no longer exists, because its finalizer
   * was removed by hand. Call it periodically, with synced caches. Returns the names of the instances. Never rejects.
   */
  sweep(): Promise<readonly ObjectName[]>;
}

export interface InventoryConfigMapsOptions {
  readonly api: ApiServer;
  /** The UID of an instance; undefined if it does not exist. */
  readonly uidOf: (instance: ObjectName) => string | undefined;
  /** All namespaces if undefined. */
  readonly namespace?: string;
  /** Called before a load writes: it adopts the inventory of a former instance of the same name. */
  readonly mayWrite?: () => boolean;
  readonly shardBytesMax?: number;
}

/** By number, from 1. */
type Shards = ReadonlyMap<number, InventoryShard>;

export function createInventoryConfigMaps(options: InventoryConfigMapsOptions): InventoryConfigMaps {
  return new StoredInventories(options);
}

class StoredInventories implements InventoryConfigMaps {
  readonly #options: InventoryConfigMapsOptions;
  readonly #store: InventoryShardStore;
  /** What is stored, as far as known, to omit writes that would change nothing. */
  readonly #known = new LruMap<string, { readonly revision: string; readonly shards: Shards }>(knownMax);

  constructor(options: InventoryConfigMapsOptions) {
    this.#options = options;
    this.#store = new InventoryShardStore(options.api);
  }

  async load(instance: ObjectName): Promise<LoadedInventory> {
    const found = await this.#store.find(instance);
    if (!found.ok) return { state: "Unreachable", problem: unreachable(instance, found.fault) };
    const shards = await this.#adopted(instance, found.value);
    this.#know(instance, shards);
    if (shards.size === 0) return { state: "Loaded", inventory: emptyInventory, revision: "" };
    const misnamed = [...shards].find(([index, { data }]) => !(data["shard"] ?? "").startsWith(`${index}/`));
    if (misnamed !== undefined) {
      const problem = `${describeShard(instance, misnamed[0])} is damaged, or is not wafsync's: it has no section shard with its number.`;
      return { state: "Unreadable", problem };
    }
    const joined = joinShards([...shards.values()].map(({ data }) => data));
    const decoded = joined.ok ? decodeInventory(joined.record) : joined;
    if (decoded.ok) return { state: "Loaded", inventory: decoded.inventory, revision: revisionOf(shards) };
    const names = [...shards.keys()].sort((left, right) => left - right).map((index) => describeShard(instance, index));
    return { state: "Unreadable", problem: `${names.join(", ")}: ${decoded.problem}` };
  }

  async save(instance: ObjectName, inventory: Inventory, revision: string): Promise<SavedInventory> {
    const uid = this.#options.uidOf(instance);
    if (uid === undefined) return { state: "Failed", problem: `There is no WafInstance ${nameKey(instance)}.` };
    const known = this.#known.get(nameKey(instance));
    const stored = new Map(known?.revision === revision ? known.shards : parseRevision(revision));
    this.#known.delete(nameKey(instance));
    const wanted = this.#shardsOf(inventory);
    if (wanted.length > 1 && !stored.has(1)) {
      // So that a crash before the last write leaves a complete set.
      const begun = await this.#store.write(instance, uid, 1, this.#shardsOf(emptyInventory)[0] ?? {}, undefined);
      if (!begun.ok) return refused(instance, 1, begun.fault);
      stored.set(1, begun.value);
    }
    for (let index = wanted.length; index >= 1; index -= 1) {
      const written = await this.#writeShard(instance, uid, index, wanted[index - 1] ?? {}, stored.get(index));
      if (!written.ok) return refused(instance, index, written.fault);
      stored.set(index, written.value);
    }
    await this.#releaseAfter(instance, wanted.length, stored);
    this.#know(instance, stored);
    return { state: "Saved", revision: revisionOf(stored) };
  }

  async remove(instance: ObjectName): Promise<string | undefined> {
    this.#known.delete(nameKey(instance));
    const found = await this.#store.find(instance);
    if (!found.ok) return unreachable(instance, found.fault);
    const shards = new Map(found.value);
    const first = shards.get(1);
    if (first !== undefined && shards.size > 1) {
      // Empty it before the others are deleted, because a set with missing shards cannot be read.
      const empty = this.#shardsOf(emptyInventory)[0] ?? {};
      const emptied = await this.#store.write(instance, this.#options.uidOf(instance), 1, empty, first);
      if (!emptied.ok) return unreachable(instance, emptied.fault);
      shards.set(1, emptied.value);
    }
    const fault = await this.#releaseAfter(instance, 0, shards);
    return fault === undefined ? undefined : unreachable(instance, fault);
  }

  async sweep(): Promise<readonly ObjectName[]> {
    const { uidOf, namespace } = this.#options;
    const swept = new Map<string, ObjectName>();
    for (const { instance, index, shard } of await this.#store.findEnding(namespace)) {
      if (uidOf(instance) !== undefined) continue;
      const fault = await this.#store.release(instance, index, shard);
      if (fault === undefined) swept.set(nameKey(instance), instance);
    }
    return [...swept.values()];
  }

  /** After a restore the instance has a new UID: without this, the garbage collector would delete the inventory. */
  async #adopted(instance: ObjectName, found: Shards): Promise<Shards> {
    const uid = this.#options.uidOf(instance);
    if (uid === undefined || this.#options.mayWrite?.() === false) return found;
    const shards = new Map<number, InventoryShard>();
    for (const [index, shard] of found) {
      // If this fails, the next load or save retries.
      const isForeign = shard.data["shard"] === undefined;
      const adopted =
        isForeign || isHeldFor(shard, uid)
          ? undefined
          : await this.#store.write(instance, uid, index, shard.data, shard);
      shards.set(index, adopted?.ok === true ? adopted.value : shard);
    }
    return shards;
  }

  async #writeShard(
    instance: ObjectName,
    uid: string,
    index: number,
    data: InventoryShard["data"],
    stored: InventoryShard | undefined,
  ): Promise<ApiResult<InventoryShard>> {
    const isSame = stored !== undefined && isHeldFor(stored, uid) && sameData(stored.data, data);
    if (isSame && index > 1) return { ok: true, value: stored, status: 200 };
    return await this.#store.write(instance, uid, index, data, stored);
  }

  /** Deletes the shards after `last`, the highest number first. After a failure, the rest is as after a crash. */
  async #releaseAfter(
    instance: ObjectName,
    last: number,
    shards: Map<number, InventoryShard>,
  ): Promise<ApiFault | undefined> {
    for (const [index, shard] of [...shards].sort(([left], [right]) => right - left)) {
      if (index <= last) continue;
      const fault = await this.#store.release(instance, index, shard);
      if (fault !== undefined) return fault;
      shards.delete(index);
    }
    return undefined;
  }

  #shardsOf(inventory: Inventory): Record<string, string>[] {
    return shardInventory(encodeInventory(inventory), this.#options.shardBytesMax ?? shardBytesMaxDefault);
  }

  #know(instance: ObjectName, shards: Shards): void {
    const key = nameKey(instance);
    if (shards.size === 0) this.#known.delete(key);
    else this.#known.set(key, { revision: revisionOf(shards), shards });
  }
}

function refused(instance: ObjectName, index: number, fault: ApiFault): SavedInventory {
  const name = describeShard(instance, index);
  // NotFound: another writer deleted what was loaded.
  if (fault.code === "Conflict" || fault.code === "AlreadyExists" || fault.code === "NotFound") {
    return { state: "Conflict", problem: `${name} was changed by somebody else since it was read.` };
  }
  return { state: "Failed", problem: `${name} could not be written: ${fault.message}` };
}

/** `1=<resourceVersion>,2=…` */
function revisionOf(shards: Shards): string {
  return [...shards]
    .sort(([left], [right]) => left - right)
    .map(([index, { resourceVersion }]) => `${index}=${resourceVersion}`)
    .join(",");
}

/** Shards of which only the version is known. */
function parseRevision(revision: string): Map<number, InventoryShard> {
  const parts = revision === "" ? [] : revision.split(",").map((part) => part.split("="));
  return new Map(
    parts.map(([index = "", resourceVersion = ""]) => [
      Number(index),
      { stored: undefined, resourceVersion, data: {} },
    ]),
  );
}

function sameData(left: InventoryShard["data"], right: InventoryShard["data"]): boolean {
  const names = Object.keys(left);
  return names.length === Object.keys(right).length && names.every((name) => left[name] === right[name]);
}

function unreachable(instance: ObjectName, fault: ApiFault): string {
  return `The inventory of ${nameKey(instance)} can't be reached: ${asSentence(fault.message)}`;
}
