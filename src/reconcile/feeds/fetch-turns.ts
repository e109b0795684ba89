// Limits the concurrent fetches of feeds. Namespaces take turns, so a namespace with many feeds whose servers do not respond delays the
// feeds of others only slightly. Servers that do not respond delay no other feed of their namespace, up to a number of connections.
import { FairGate } from "../../async/fair-gate.ts";
import { nameKey, type ObjectName } from "../../model/resource.ts";

/** Each wait for a response takes a connection. */
const fetchesOfNamespaceMax = 64;
/** Each response that is read can fill a lot of memory. */
const readsMax = 6;
const readsOfNamespaceMax = 3;

class NamespaceTurns {
  readonly fetches = new FairGate(fetchesOfNamespaceMax);
  readonly reads = new FairGate(readsOfNamespaceMax);
}

export class FetchTurns {
  readonly #reads = new FairGate(readsMax);
  readonly #namespaces = new Map<string, NamespaceTurns>();
  readonly #fetching = new Map<string, Promise<void>>();

  isFetching(feed: ObjectName): boolean {
    return this.#fetching.has(nameKey(feed));
  }

  /** Fetches the feed when it is its turn, and then calls `onEnd`. @param fetch must not reject */
  start(feed: ObjectName, fetch: () => Promise<void>, onEnd: () => void): void {
    const key = nameKey(feed);
    const fetching = this.#of(feed)
      .fetches.run("", fetch)
      .finally(() => {
        this.#fetching.delete(key);
        onEnd();
      });
    this.#fetching.set(key, fetching);
  }

  /** Reads the response of a feed that is being fetched. */
  async read<T>(feed: ObjectName, read: () => Promise<T>): Promise<T> {
    return await this.#of(feed).reads.run("", async () => await this.#reads.run(feed.namespace, read));
  }

  /** Resolves when all fetches that were started so far have ended. */
  async ended(): Promise<void> {
    await Promise.all(this.#fetching.values());
    if (this.#fetching.size === 0) this.#namespaces.clear();
  }

  #of({ namespace }: ObjectName): NamespaceTurns {
    const turns = this.#namespaces.get(namespace) ?? new NamespaceTurns();
    this.#namespaces.set(namespace, turns);
    return turns;
  }
}
