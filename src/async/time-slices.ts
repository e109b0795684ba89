// Splits long work into slices, between which other work in the process can run. A blocked event loop does not respond to
// requests and can lose the Lease.
import type { Clock } from "./clock.ts";

/** Short enough not to be noticeable. */
export const sliceMsMax = 10;

/** Does work that comes in slices, and lets other work run in between. `onDone` gets the time that the slices took. */
export async function inSlices<T>(
  clock: Pick<Clock, "monotonicMs" | "sleep">,
  work: Generator<undefined, T>,
  onDone: (tookMs: number) => void = () => undefined,
): Promise<T> {
  const slices = new TimeSlices(clock);
  for (let tookMs = 0; ;) {
    const beganMs = clock.monotonicMs();
    const slice = work.next();
    tookMs += clock.monotonicMs() - beganMs;
    // At the end as well, because the caller's next step may take long.
    if (slices.isOver) await slices.pause();
    if (slice.done !== true) continue;
    onDone(tookMs);
    return slice.value;
  }
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
