// Keeps instances in memory, as a finalizer does in a cluster.
import { nameKey, type ObjectName, type ResourceMeta } from "../../../src/model/resource.ts";
import type { LifecyclePort } from "../../../src/run/ports.ts";

export class MemoryLifecycle implements LifecyclePort {
  readonly #held = new Set<string>();

  isHeld(instance: ObjectName): boolean {
    return this.#held.has(nameKey(instance));
  }

  async ensureFinalizer(instance: ResourceMeta): Promise<string | undefined> {
    await Promise.resolve();
    this.#held.add(nameKey(instance));
    return undefined;
  }

  async removeFinalizer(instance: ResourceMeta): Promise<string | undefined> {
    await Promise.resolve();
    this.#held.delete(nameKey(instance));
    return undefined;
  }
}
