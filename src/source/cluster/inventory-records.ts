// Inventories in WafRecords next to their instance, as plain, readable lists: `<instance>-inventory-<n>`. Every save writes the
// first shard last, so that concurrent writers conflict there and a stale one fails. The other shards are written before it if
// they differ; unneeded ones are deleted after it. A crash in between leaves a union with too many entries, never too few, which
// the next save corrects. With `deletionPolicy: Delete`, a finalizer protects the records from deletion by anything but `remove`,
// such as the deletion of the namespace or a cascade.
import { LruMap } from "../../async/lru-map.ts";
import type { ApiFault, ApiResult } from "../../kube/api-result.ts";
import type { ApiServer } from "../../kube/api-server.ts";
import { type Inventory, emptyInventory, type LoadedInventory, type SavedInventory } from "../../model/inventory.ts";
import { nameKey, type ObjectName } from "../../model/resource.ts";
import { decodeInventory } from "../inventory-codec.ts";
import { joinShards } from "../inventory-shards.ts";
import { refused, unlisted, unreachable } from "./inventory-faults.ts";
import { parseRevision, revisionOf, type Shards } from "./inventory-revision.ts";
import type { RecordData, RecordHolder } from "./record-object.ts";
import { shardsOf, type ShardOptions } from "./shards-of-inventory.ts";
import { describeShard, type InventoryShard, isHeldFor, isNumbered, RecordShardStore } from "./record-shard-store.ts";

/** The number of instances whose text is cached. For others, every save writes all shards. */
const knownMax = 100;

export interface InventoryRecords {
  /** Finds it by the name of the instance, whatever its UID. If missing: an empty inventory with an empty revision. Never rejects. */
  load(instance: ObjectName): Promise<LoadedInventory>;
  /** Stored once it resolves with `Saved`. `Conflict` if another writer has saved since `revision`. Never rejects. */
  save(instance: ObjectName, inventory: Inventory, revision: string): Promise<SavedInventory>;
  /** Deletes the inventory of a released instance. Returns undefined, or why it could not be deleted. Never rejects. */
  remove(instance: ObjectName): Promise<string | undefined>;
  /**
   * Removes owner and finalizer of an inventory that must outlive its instance: call it before the instance is deleted. Returns
   * undefined, or the reason for a failure. Never rejects.
   */
  detach(instance: ObjectName): Promise<string | undefined>;
  /** Whether inventories can be read at all. Never rejects. */
  isUsable(): Promise<boolean>;
  /**
   * Removes the finalizer of inventories that are being deleted and whose instance no longer exists, because its finalizer was
   * removed manually. Call it periodically, with synced caches. Returns the names of the instances. Never rejects.
   */
  sweep(): Promise<readonly ObjectName[]>;
}

export interface InventoryRecordsOptions extends ShardOptions {
  readonly api: ApiServer;
  /** Undefined if the instance does not exist. */
  readonly holderOf: (instance: ObjectName) => RecordHolder | undefined;
  /** All namespaces if undefined. */
  readonly namespace?: string;
  /** Called before a load writes, to take over the inventory of a former instance with the same name. */
  readonly mayWrite?: () => boolean;
  /** Whether all objects may have disappeared with their CRDs instead of being deleted. */
  readonly wasUninstalled?: () => boolean;
  /** The inventories of an older version; undefined if they must not be moved. */
}

/** Equals no revision. */
const unknownRevision = "unknown";

export function createInventoryRecords(options: InventoryRecordsOptions): InventoryRecords {
  return new StoredInventories(options);
}

class StoredInventories implements InventoryRecords {
  readonly #options: InventoryRecordsOptions;
  readonly #store: RecordShardStore;
  /** The stored data, as far as known, to omit redundant writes. */
  readonly #known = new LruMap<string, { readonly revision: string; readonly shards: Shards }>(knownMax);
  /** The last complete set, which stays unchanged if a save fails because the CRD is being deleted. */
  readonly #recoverable = new LruMap<string, Shards>(knownMax);

  /** The inventories that were loaded last: plans compare only later changes. */
  readonly #decoded = new LruMap<string, Extract<LoadedInventory, { state: "Loaded" }>>(knownMax);

  constructor(options: InventoryRecordsOptions) {
    this.#options = options;
    this.#store = new RecordShardStore(options.api);
  }

  async load(instance: ObjectName): Promise<LoadedInventory> {
    const found = await this.#store.find(instance);
    if (!found.ok) return { state: "Unreachable", problem: unlisted(instance, found.fault) };
    const moved = await this.#restored(instance, found.value);
    if (moved !== undefined && "state" in moved) return moved;
    const shards = moved ?? (await this.#adopted(instance, found.value));
    this.#know(instance, shards);
    if (shards.size === 0) return { state: "Loaded", inventory: emptyInventory, revision: "" };
    const misnamed = [...shards].find(([index, shard]) => !isNumbered(shard, index));
    if (misnamed !== undefined) {
      const problem = `${describeShard(instance, misnamed[0])} is damaged: its \`spec.part\` is not the number in its name.`;
      return { state: "Unreadable", problem };
    }
    const revision = revisionOf(shards);
    const last = this.#decoded.get(nameKey(instance));
    if (last?.revision === revision) return last;
    const joined = joinShards([...shards.values()].map(({ data }) => data));
    const decoded = joined.ok ? decodeInventory(joined.record) : joined;
    if (decoded.ok) {
      const loaded = { state: "Loaded", inventory: decoded.inventory, revision } as const;
      this.#decoded.set(nameKey(instance), loaded);
      return loaded;
    }
    const names = [...shards.keys()].sort((left, right) => left - right).map((index) => describeShard(instance, index));
    return { state: "Unreadable", problem: `${names.join(", ")}: ${decoded.problem}` };
  }

  async save(instance: ObjectName, inventory: Inventory, revision: string): Promise<SavedInventory> {
    const holder = this.#options.holderOf(instance);
    if (holder === undefined) return { state: "Failed", problem: `There is no WafInstance ${nameKey(instance)}.` };
    const known = this.#known.get(nameKey(instance));
    const stored = new Map(known?.revision === revision ? known.shards : parseRevision(revision));
    // After a failure, the revision is unknown. The content is kept: if its CRD was deleted, it is written again.
    if (known !== undefined) this.#known.set(nameKey(instance), { ...known, revision: unknownRevision });
    const wanted = await this.#shardsOf(inventory);
    if (wanted.length > 1 && !stored.has(1)) {
      // Written first, so that a crash before the last write leaves a complete set.
      const begun = await this.#store.write(instance, holder, 1, await this.#emptyShard(), undefined);
      if (!begun.ok) return refused(instance, 1, begun.fault);
      stored.set(1, begun.value);
    }
    for (let index = wanted.length; index >= 1; index -= 1) {
      const written = await this.#writeShard(instance, holder, index, wanted[index - 1] ?? {}, stored.get(index));
      if (!written.ok) return refused(instance, index, written.fault);
      stored.set(index, written.value);
    }
    await this.#releaseAfter(instance, wanted.length, stored);
    this.#know(instance, stored);
    return { state: "Saved", revision: revisionOf(stored) };
  }

  async remove(instance: ObjectName): Promise<string | undefined> {
    this.#known.delete(nameKey(instance));
    this.#decoded.delete(nameKey(instance));
    this.#recoverable.delete(nameKey(instance));
    const found = await this.#store.find(instance);
    if (!found.ok) return unreachable(instance, found.fault);
    const shards = new Map(found.value);
    const first = shards.get(1);
    if (first !== undefined && shards.size > 1) {
      // Empty it before the others are deleted, because a set with missing shards cannot be read.
      const empty = await this.#emptyShard();
      const emptied = await this.#store.write(instance, this.#options.holderOf(instance), 1, empty, first);
      if (!emptied.ok) return unreachable(instance, emptied.fault);
      shards.set(1, emptied.value);
    }
    const fault = await this.#releaseAfter(instance, 0, shards);
    return fault === undefined ? undefined : unreachable(instance, fault);
  }

  async detach(instance: ObjectName): Promise<string | undefined> {
    const holder = this.#options.holderOf(instance);
    const found = await this.#store.find(instance);
    // Without its CRD, there is no inventory.
    if (!found.ok) return found.fault.code === "NotFound" ? undefined : unreachable(instance, found.fault);
    if (holder === undefined) return undefined;
    const free = { ...holder, retains: true };
    for (const [index, shard] of [...found.value].sort(([left], [right]) => right - left)) {
      let fault: ApiFault | undefined;
      // Objects that another writer deleted disappear with the instance.
      if (shard.isEnding) fault = await this.#store.release(instance, index, shard);
      else if (isNumbered(shard, index) && !isHeldFor(shard, free)) {
        const written = await this.#store.write(instance, free, index, shard.data, shard);
        if (!written.ok) fault = written.fault;
      }
      if (fault !== undefined) return unreachable(instance, fault);
    }
    return undefined;
  }

  async isUsable(): Promise<boolean> {
    return (await this.#store.probe(this.#options.namespace)) === undefined;
  }

  async sweep(): Promise<readonly ObjectName[]> {
    const { holderOf, namespace } = this.#options;
    const swept = new Map<string, ObjectName>();
    for (const { instance, index, shard } of await this.#store.findEnding(namespace)) {
      if (holderOf(instance) !== undefined) continue;
      const fault = await this.#store.release(instance, index, shard);
      if (fault === undefined) swept.set(nameKey(instance), instance);
    }
    return [...swept.values()];
  }

  /**
   * Binds the objects to the current instance. After a restore it has a new UID, and without this the garbage
   * collector would delete the inventory; and its `deletionPolicy` may have changed.
   */
  async #adopted(instance: ObjectName, found: Shards): Promise<Shards> {
    const holder = this.#options.holderOf(instance);
    if (holder === undefined || this.#options.mayWrite?.() === false) return found;
    const shards = new Map<number, InventoryShard>();
    for (const [index, shard] of found) {
      const isFine = !isNumbered(shard, index) || isHeldFor(shard, holder);
      // If this fails, the next load or save retries.
      const adopted = isFine ? undefined : await this.#store.write(instance, holder, index, shard.data, shard);
      shards.set(index, adopted?.ok === true ? adopted.value : shard);
    }
    return shards;
  }

  /** Rewrites an inventory that disappeared with the CRD, if this process still knows it. Undefined if there is none. */
  async #restored(instance: ObjectName, found: Shards): Promise<Shards | LoadedInventory | undefined> {
    const { holderOf, mayWrite, wasUninstalled } = this.#options;
    const known = this.#recoverable.get(nameKey(instance));
    const holder = holderOf(instance);
    if (known === undefined || holder === undefined || found.has(1) || wasUninstalled?.() !== true) return undefined;
    if (mayWrite?.() === false) return undefined;
    const sections = [...known].sort(([left], [right]) => left - right).map(([, { data }]) => data);
    return await this.#begin(instance, holder, sections, found);
  }

  /** The first shard is written last: while it is missing, the inventory does not exist. */
  async #begin(
    instance: ObjectName,
    holder: RecordHolder,
    sections: readonly RecordData[],
    found: Shards,
  ): Promise<Shards | LoadedInventory> {
    const shards = new Map(found);
    for (let index = sections.length; index >= 1; index -= 1) {
      const written = await this.#store.write(instance, holder, index, sections[index - 1] ?? {}, found.get(index));
      if (!written.ok) return { state: "Unreachable", problem: unreachable(instance, written.fault) };
      shards.set(index, written.value);
    }
    return shards;
  }

  async #writeShard(
    instance: ObjectName,
    holder: RecordHolder,
    index: number,
    data: InventoryShard["data"],
    stored: InventoryShard | undefined,
  ): Promise<ApiResult<InventoryShard>> {
    const isSame = stored !== undefined && isHeldFor(stored, holder) && sameData(stored.data, data);
    if (isSame && index > 1) return { ok: true, value: stored, status: 200 };
    return await this.#store.write(instance, holder, index, data, stored);
  }

  /** Deletes the shards after `last`, the highest number first. A failure leaves the same state as a crash. */
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

  async #emptyShard(): Promise<RecordData> {
    const [shard = {}] = await this.#shardsOf(emptyInventory);
    return shard;
  }

  async #shardsOf(inventory: Inventory): Promise<Record<string, string>[]> {
    return await shardsOf(inventory, this.#options);
  }

  #know(instance: ObjectName, shards: Shards): void {
    // An empty set may have disappeared with the CRD: then the known set is written again.
    if (shards.size === 0) return;
    this.#known.set(nameKey(instance), { revision: revisionOf(shards), shards });
    this.#recoverable.set(nameKey(instance), shards);
  }
}

function sameData(left: InventoryShard["data"], right: InventoryShard["data"]): boolean {
  const names = Object.keys(left);
  return names.length === Object.keys(right).length && names.every((name) => left[name] === right[name]);
}
