// Runs a short history in the simulated world, with a watch that can be stopped, and returns the result.
import type { SimProcess } from "./sim-process.ts";
import { simKey, SimWorld } from "./sim-world.ts";

const stepMs = 60_000;
/** Longer than a resync. */
const settleMs = 1_000_000;
/** How long a stale API server serves a new process, as in Sieve's plans. */
const behindMs = 20_000;

export class History {
  readonly world = new SimWorld({ seed: 1 });
  #isWatching = true;

  constructor(before: (world: SimWorld) => void) {
    this.world.cluster.change({ key: simKey });
    before(this.world);
    this.world.cluster.onChange = () => this.#deliver();
    this.world.startProcess();
  }

  get process(): SimProcess | undefined {
    return this.world.processes.findLast(({ life }) => life.alive);
  }

  async change(act: (world: SimWorld) => void): Promise<void> {
    act(this.world);
    await this.world.time.advance(stepMs);
  }

  /** The process does not see the changes until they are complete: then it sees the final state. */
  async unobserved(changes: readonly ((world: SimWorld) => void)[]): Promise<void> {
    this.#isWatching = false;
    for (const change of changes) await this.change(change);
    this.#isWatching = true;
    this.#deliver();
    await this.world.time.advance(stepMs);
  }

  /** The process is killed, and an API server whose state is frozen at that moment serves the next process. */
  async restartBehind(index: number): Promise<void> {
    this.world.killed(this.process!, "to be connected to an API server that is behind");
    this.#isWatching = false;
    this.world.startProcess(index);
    await this.world.time.advance(behindMs);
    this.#isWatching = true;
    this.#deliver();
    await this.world.time.advance(stepMs);
  }

  /** Kills the process after its n-th call of this kind, and restarts it. Returns whether this call happened. */
  killAfter(where: string, nth = 1): () => boolean {
    const { world } = this;
    let left = nth;
    world.kills = (now) => {
      if (now !== `after ${where}`) return false;
      left -= 1;
      return left === 0;
    };
    world.onKilled = () => world.time.after(3_000, () => void world.startProcess());
    return () => left <= 0;
  }

  async settle(): Promise<void> {
    await this.world.time.advance(settleMs);
  }

  async discard(): Promise<void> {
    await this.world.discard();
  }

  #deliver(): void {
    if (this.#isWatching) this.process?.see(this.world.cluster.latest);
  }
}
