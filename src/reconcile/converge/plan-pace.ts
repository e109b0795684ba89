// How often a run plans again, and in which pieces. Of thousands of rules, compiling and planning take long enough to keep the
// rest of the process waiting, so other work has its turn in between. And where changes never end, calls go on between two
// plans: otherwise a guest who changes objects all the time would keep the owner waiting for the next call.
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

  /** Does both, with a pause in between and another one after it, if they take long. */
  async inPieces<T>(compile: () => T, plan: (compiled: T) => void): Promise<void> {
    const slices = new TimeSlices(this.#clock);
    const compiled = this.#timed(compile);
    if (slices.isOver) await slices.pause();
    const planned = this.#timed(() => plan(compiled.result));
    const tookMs = compiled.tookMs + planned.tookMs;
    this.#restsUntilMs = this.#clock.monotonicMs() + Math.min(tookMs * pausePerWork, pauseMsMax);
    if (slices.isOver) await slices.pause();
  }

  #timed<T>(act: () => T): { readonly result: T; readonly tookMs: number } {
    const beganMs = this.#clock.monotonicMs();
    const result = act();
    return { result, tookMs: this.#clock.monotonicMs() - beganMs };
  }
}
