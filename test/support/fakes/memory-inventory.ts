// An inventory in memory, with revisions. It stores copies, so later changes to the caller's object do not affect it.
import {
  emptyInventory,
  type Inventory,
  type LoadedInventory,
  type SavedInventory,
  type InventoryPort,
} from "../../../src/model/inventory.ts";
import { nameKey, type ObjectName } from "../../../src/model/resource.ts";
import { crash } from "./crash.ts";

interface Stored {
  readonly inventory: Inventory;
  readonly revision: number;
}

export type SaveFault = "Conflict" | "Failed" | "CrashBefore" | "CrashAfter";

export class MemoryInventory implements InventoryPort {
  readonly #stored = new Map<string, Stored>();
  readonly #faults: SaveFault[] = [];
  #unreadable: string | undefined;
  #revision = 0;
  /** Every save that was stored, oldest first. */
  readonly saves: Inventory[] = [];
  /** Called after each save is stored. */
  onSaved: ((inventory: Inventory) => void) | undefined;

  /** The stored inventory; an empty inventory if nothing is stored. */
  of(instance: ObjectName): Inventory {
    return this.#stored.get(nameKey(instance))?.inventory ?? emptyInventory;
  }

  /** Stores a new version as another writer: anyone who loaded the inventory earlier gets a conflict. */
  put(instance: ObjectName, inventory: Inventory): void {
    this.#revision += 1;
    // A long list with few changes is not a plain map.
    const { blocklist, allowlist } = inventory.entries;
    const entries = { blocklist: new Map(blocklist), allowlist: new Map(allowlist) };
    const copy = structuredClone({ ...inventory, entries });
    this.#stored.set(nameKey(instance), { inventory: copy, revision: this.#revision });
  }

  /** The faults of the next saves, one for each. */
  failNext(...faults: readonly SaveFault[]): void {
    this.#faults.push(...faults);
  }

  /** Makes it unreadable for this reason; undefined makes it readable again. */
  makeUnreadable(problem: string | undefined): void {
    this.#unreadable = problem;
  }

  async load(instance: ObjectName): Promise<LoadedInventory> {
    await Promise.resolve();
    if (this.#unreadable !== undefined) return { state: "Unreadable", problem: this.#unreadable };
    const stored = this.#stored.get(nameKey(instance));
    if (stored === undefined) return { state: "Loaded", inventory: emptyInventory, revision: "" };
    return { state: "Loaded", inventory: structuredClone(stored.inventory), revision: String(stored.revision) };
  }

  async remove(instance: ObjectName): Promise<string | undefined> {
    await Promise.resolve();
    this.#stored.delete(nameKey(instance));
    return undefined;
  }

  async save(instance: ObjectName, inventory: Inventory, revision: string): Promise<SavedInventory> {
    await Promise.resolve();
    const fault = this.#faults.shift();
    if (fault === "CrashBefore") throw crash("before the inventory was stored");
    if (fault === "Failed") return { state: "Failed", problem: "The inventory could not be written." };
    const known = this.#stored.get(nameKey(instance));
    if (fault === "Conflict" || revision !== (known === undefined ? "" : String(known.revision))) {
      return { state: "Conflict", problem: "Another writer changed the inventory." };
    }
    this.put(instance, inventory);
    const stored = this.of(instance);
    this.saves.push(stored);
    this.onSaved?.(stored);
    if (fault === "CrashAfter") throw crash("after the inventory was stored");
    return { state: "Saved", revision: String(this.#revision) };
  }
}
