// Keeps instances in memory, as a finalizer does in a cluster.
import { nameKey, type ObjectName, type ResourceMeta } from "../../../src/model/resource.ts";
import type { LifecyclePort } from "../../../src/run/ports.ts";

export class MemoryLifecycle implements LifecyclePort {
  readonly #held = new Set<string>();
  /** Why adding and removing the finalizer fail from now on; undefined if they succeed. */
  problem: string | undefined;

  isHeld(instance: ObjectName): boolean {
    return this.#held.has(nameKey(instance));
  }

  async ensureFinalizer(instance: ResourceMeta): Promise<string | undefined> {
    await Promise.resolve();
    if (this.problem === undefined) this.#held.add(nameKey(instance));
    return this.problem;
  }

  async removeFinalizer(instance: ResourceMeta): Promise<string | undefined> {
    await Promise.resolve();
    if (this.problem !== undefined) return this.problem;
    this.#held.delete(nameKey(instance));
    return undefined;
  }
}
