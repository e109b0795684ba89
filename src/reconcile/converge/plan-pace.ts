// How often a run plans again. Where changes never end, calls go on between two plans: otherwise a guest who changes objects all
// the time would keep the owner waiting for the next call.
import type { Clock } from "../../async/clock.ts";
import { inSlices } from "../../async/time-slices.ts";

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
    const timed = this.#timed(work);
    const { result, tookMs } = await inSlices(this.#clock, timed);
    this.#restsUntilMs = this.#clock.monotonicMs() + Math.min(tookMs * pausePerWork, pauseMsMax);
    return result;
  }

  /** The same work, with the time that its slices take. */
  *#timed<T>(work: Generator<undefined, T>): Generator<undefined, { readonly result: T; readonly tookMs: number }> {
    for (let tookMs = 0; ;) {
      const beganMs = this.#clock.monotonicMs();
      const slice = work.next();
      tookMs += this.#clock.monotonicMs() - beganMs;
      if (slice.done === true) return { result: slice.value, tookMs };
      yield;
    }
  }
}
