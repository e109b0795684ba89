// A shard that this process holds: what its runs ask before they write, how they are told to stop, and when they have ended.
import type { Clock } from "../async/clock.ts";
import type { LeaseElector } from "../kube/lease.ts";
import { nameKey, type ObjectName } from "../model/resource.ts";
import { createStopping, type Stopping, type StoppingControl } from "./stopping.ts";

/** When the shard is given up: how long a call in flight may take to end. Less than the Lease waits for it. */
const graceMs = 8_000;

export interface HeldShardOptions {
  readonly shard: number;
  readonly elector: Pick<LeaseElector, "mayWrite" | "mayRecord">;
  /** Whether all replicas divide the keys into the same number of shards. */
  readonly isAgreed: () => boolean;
  readonly clock: Clock;
  /** Of the process. */
  readonly stopping: Stopping;
}

export class HeldShard {
  readonly shard: number;
  /** For the runs of this shard: also stops with the process. */
  readonly stopping: Stopping;
  readonly #options: HeldShardOptions;
  readonly #control: StoppingControl;
  readonly #runs = new Set<Promise<void>>();
  readonly #admitted = new Map<string, ObjectName>();

  constructor(options: HeldShardOptions) {
    this.#options = options;
    this.shard = options.shard;
    this.#control = createStopping(options.clock, graceMs);
    const { stop, abandon } = options.stopping;
    this.stopping = {
      stop: AbortSignal.any([stop, this.#control.stop]),
      abandon: AbortSignal.any([abandon, this.#control.abandon]),
    };
  }

  mayWrite(): boolean {
    const { elector, isAgreed } = this.#options;
    return elector.mayWrite() && isAgreed();
  }

  mayRecord(): boolean {
    const { elector, isAgreed } = this.#options;
    return elector.mayRecord() && isAgreed();
  }

  /** Notes a run of the instance. Call the result when it has ended. */
  begin(instance: ObjectName): () => void {
    this.#admitted.set(nameKey(instance), instance);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#runs.add(promise);
    return () => {
      this.#runs.delete(promise);
      resolve();
    };
  }

  /** The instances that had a run. */
  admitted(): readonly ObjectName[] {
    return [...this.#admitted.values()];
  }

  /** Whether the instance had a run; from now on, it counts as one that had none. */
  forget(instance: ObjectName): boolean {
    return this.#admitted.delete(nameKey(instance));
  }

  /** No run begins a new call from now on. */
  stop(): void {
    this.#control.begin("the shard is given up");
  }

  /** Resolves when no run is in progress. */
  async ended(): Promise<void> {
    while (this.#runs.size > 0) await Promise.all(this.#runs);
    this.#control.done();
  }
}
