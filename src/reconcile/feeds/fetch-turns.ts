// Limits the concurrent fetches of feeds. Namespaces take turns, so a namespace with many feeds whose servers do not respond delays the
// feeds of others only slightly.
import { FairGate } from "../../async/fair-gate.ts";
import { nameKey, type ObjectName } from "../../model/resource.ts";

/** Each fetch can fill a lot of memory. */
const fetchesMax = 6;
/** A namespace whose servers do not respond leaves fetches to the others. */
const fetchesOfNamespaceMax = 3;

export class FetchTurns {
  readonly #gate = new FairGate(fetchesMax);
  readonly #gates = new Map<string, FairGate>();
  readonly #fetching = new Map<string, Promise<void>>();

  isFetching(feed: ObjectName): boolean {
    return this.#fetching.has(nameKey(feed));
  }

  /** Fetches the feed when it is its turn, and then calls `onEnd`. @param fetch must not reject */
  start(feed: ObjectName, fetch: () => Promise<void>, onEnd: () => void): void {
    const key = nameKey(feed);
    const fetching = this.#inTurn(feed.namespace, fetch).finally(() => {
      this.#fetching.delete(key);
      onEnd();
    });
    this.#fetching.set(key, fetching);
  }

  /** Resolves when all fetches that were started so far have ended. */
  async ended(): Promise<void> {
    await Promise.all(this.#fetching.values());
    if (this.#fetching.size === 0) this.#gates.clear();
  }

  async #inTurn(namespace: string, fetch: () => Promise<void>): Promise<void> {
    const ofNamespace = this.#gates.get(namespace) ?? new FairGate(fetchesOfNamespaceMax);
    this.#gates.set(namespace, ofNamespace);
    await ofNamespace.run("", async () => {
      await this.#gate.run(namespace, fetch);
    });
  }
}
