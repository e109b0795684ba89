// Inventories in a record store. A damaged one stops all writes until someone decides: its entries would be orphaned otherwise.
import { LruMap } from "../async/lru-map.ts";
import { emptyInventory, type LoadedInventory, type InventoryPort } from "../model/inventory.ts";
import { nameKey, type ObjectName } from "../model/resource.ts";
import { decodeInventory, encodeInventory } from "./inventory-text.ts";
import type { RecordKey, RecordStore } from "./record-store.ts";

/** The number of inventories that are not decoded again if they are unchanged. */
const knownMax = 100;

export function inventoryKey({ namespace, name }: ObjectName): RecordKey {
  return { type: "Inventory", namespace, name };
}

export function createInventoryRecords(store: RecordStore): InventoryPort {
  // Plans compare only what has changed since the same inventory.
  const decoded = new LruMap<string, Extract<LoadedInventory, { state: "Loaded" }>>(knownMax);
  return {
    load: async (instance) => {
      const stored = await store.load(inventoryKey(instance));
      if (stored.state === "Absent") return { state: "Loaded", inventory: emptyInventory, revision: stored.revision };
      if (stored.state === "Damaged") return unreadable(stored.problem);
      if (stored.state === "Unreachable") return stored;
      const { text, revision } = stored;
      const last = decoded.get(nameKey(instance));
      if (last?.revision === revision) return last;
      const read = decodeInventory(text);
      if (!read.ok) return unreadable(`${store.placeOf(inventoryKey(instance))}: ${read.problem}`);
      const loaded = { state: "Loaded", inventory: read.inventory, revision } as const;
      decoded.set(nameKey(instance), loaded);
      return loaded;
    },
    save: async (instance, inventory, revision) => {
      const saved = await store.save(inventoryKey(instance), encodeInventory(inventory), revision);
      return saved.state === "NotAllowed" ? { state: "Failed", problem: saved.problem } : saved;
    },
    remove: async (instance) => {
      decoded.delete(nameKey(instance));
      return await store.remove(inventoryKey(instance));
    },
  };
}

function unreadable(problem: string): LoadedInventory {
  const wayOut =
    "Restore it from a backup, or run the version of wafsync that wrote it. If you delete it, all entries on the WAF become unmanaged.";
  return { state: "Unreadable", problem: `${problem} ${wayOut}` };
}
