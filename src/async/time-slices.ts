// Splits long work into slices, between which other work in the process can run. A blocked event loop does not respond to
// requests and can lose the Lease.
import type { Clock } from "./clock.ts";

/** Short enough not to be noticeable. */
export const sliceMsMax = 10;

/** Does work that comes in slices, and lets other work run in between. */
export async function inSlices<T>(
  clock: Pick<Clock, "monotonicMs" | "sleep">,
  work: Generator<undefined, T>,
): Promise<T> {
  const slices = new TimeSlices(clock);
  let slice = work.next();
  while (slice.done !== true) {
    if (slices.isOver) await slices.pause();
    slice = work.next();
  }
  // The caller's next step may take long as well.
  if (slices.isOver) await slices.pause();
  return slice.value;
}

export class TimeSlices {
  readonly #clock: Pick<Clock, "monotonicMs" | "sleep">;
  #beganMs: number;

  constructor(clock: Pick<Clock, "monotonicMs" | "sleep">) {
    this.#clock = clock;
    this.#beganMs = clock.monotonicMs();
  }

  /** Cheap: call it often, and await `pause` if it returns true. */
  get isOver(): boolean {
    return this.#clock.monotonicMs() - this.#beganMs >= sliceMsMax;
  }

  /** Resolves after other work could run, and starts the next slice. */
  async pause(): Promise<void> {
    // Uses the clock, so that a simulation of time can detect the wait.
    await this.#clock.sleep(0);
    this.#beganMs = this.#clock.monotonicMs();
  }
}
