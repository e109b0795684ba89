// Pauses between two plans: while changes never stop, calls continue in between. Otherwise, a guest who changes objects all the
// time could delay the owner's next call indefinitely.
import type { Clock } from "../async/clock.ts";
import { inSlices } from "../async/time-slices.ts";

/** After a plan, no other plan is made for this many times its duration, so that planning takes at most a quarter of the time. */
const pausePerWork = 3;
/** The longest that an urgent address waits for the next plan. */
const pauseMsMax = 250;

/** Limits how often a run plans again. */
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

  /** Plans in slices, and then starts the pause. The time of other work in between does not count. */
  async inSlices<T>(work: Generator<undefined, T>): Promise<T> {
    const timed = this.#timed(work);
    const { result, tookMs } = await inSlices(this.#clock, timed);
    this.#restsUntilMs = this.#clock.monotonicMs() + Math.min(tookMs * pausePerWork, pauseMsMax);
    return result;
  }

  /** Does the same work, and adds up the time of its slices. */
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
