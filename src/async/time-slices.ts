// Long work in slices: between two of them, everything else that is due in the process runs. A blocked event loop answers no
// request and can lose the Lease.
import type { Clock } from "./clock.ts";

/** Well below what anybody notices. */
export const sliceMsMax = 10;

export class TimeSlices {
  readonly #clock: Pick<Clock, "monotonicMs" | "sleep">;
  #beganMs: number;

  constructor(clock: Pick<Clock, "monotonicMs" | "sleep">) {
    this.#clock = clock;
    this.#beganMs = clock.monotonicMs();
  }

  /** Cheap: ask it often, and await `pause` then. */
  get isOver(): boolean {
    return this.#clock.monotonicMs() - this.#beganMs >= sliceMsMax;
  }

  /** Resolves when other work had its turn, and begins the next slice. */
  async pause(): Promise<void> {
    // By the clock, so that a simulation of time sees that somebody waits.
    await this.#clock.sleep(0);
    this.#beganMs = this.#clock.monotonicMs();
  }
}
