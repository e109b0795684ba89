// A shard that this process holds: whether its runs may write, the signals that stop them, and when they have ended.
import type { Clock } from "../async/clock.ts";
import type { LeaseElector } from "../kube/lease.ts";
import { nameKey, type ObjectName } from "../model/resource.ts";
import { createStopping, type Stopping, type StoppingControl } from "./stopping.ts";

/** How long a call in flight may take to end when the shard is given up. Less than the time that the Lease's release waits. */
const graceMs = 8_000;

export interface HeldShardOptions {
  readonly shard: number;
  readonly elector: Pick<LeaseElector, "mayWrite" | "mayRecord">;
  /** Whether all replicas divide the keys into the same number of shards. */
  readonly isAgreed: () => boolean;
  readonly clock: Clock;
  /** The signals that stop the process. */
  readonly stopping: Stopping;
}

export class HeldShard {
  readonly shard: number;
  /** The signals that stop the runs of this shard. They also abort when the process stops. */
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

  /** Records the start of a run of the instance. Call the returned function when the run has ended. */
  begin(instance: ObjectName): () => void {
    this.#admitted.set(nameKey(instance), instance);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#runs.add(promise);
    return () => {
      this.#runs.delete(promise);
      resolve();
    };
  }

  /** The instances that have had a run. */
  admitted(): readonly ObjectName[] {
    return [...this.#admitted.values()];
  }

  /** Forgets that the instance has had a run. Returns whether it had one. */
  forget(instance: ObjectName): boolean {
    return this.#admitted.delete(nameKey(instance));
  }

  /** From now on, no run starts a new call. */
  stop(): void {
    this.#control.begin("the shard is given up");
  }

  /** Resolves when no run is in progress. */
  async ended(): Promise<void> {
    while (this.#runs.size > 0) await Promise.all(this.#runs);
    this.#control.done();
  }
}
