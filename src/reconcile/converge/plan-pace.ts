// How often a run plans again. Where changes never end, calls go on between two plans: otherwise a guest who changes objects all
// the time would keep the owner waiting for the next call.
import type { Clock } from "../../async/clock.ts";
import { TimeSlices } from "../../async/time-slices.ts";

/** After a plan of so many milliseconds, no other one for three times as long: then plans take a quarter of the time. */
const pausePerWork = 3;
/** What an urgent address waits for at most. */
const pauseMsMax = 250;

export class PlanPace {
  readonly #clock: Pick<Clock, "monotonicMs" | "sleep">;
  #restsUntilMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Pick<Clock, "monotonicMs" | "sleep">) {
    this.#clock = clock;
  }

  /** Whether another plan would follow the last one too soon. */
  get isResting(): boolean {
    return this.#clock.monotonicMs() < this.#restsUntilMs;
  }

  /** Plans in slices, and starts the rest. What other work takes in between does not count. */
  async inSlices<T>(work: Generator<undefined, T>): Promise<T> {
    let tookMs = 0;
    const timed = (): IteratorResult<undefined, T> => {
      const beganMs = this.#clock.monotonicMs();
      const slice = work.next();
      tookMs += this.#clock.monotonicMs() - beganMs;
      return slice;
    };
    const slices = new TimeSlices(this.#clock);
    let slice = timed();
    while (slice.done !== true) {
      if (slices.isOver) await slices.pause();
      slice = timed();
    }
    this.#restsUntilMs = this.#clock.monotonicMs() + Math.min(tookMs * pausePerWork, pauseMsMax);
    if (slices.isOver) await slices.pause();
    return slice.value;
  }
}
