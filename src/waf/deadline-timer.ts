// The deadline of whatever runs in a lane. A sleep for each request, ended with the answer, would cost more than all else that
// a call does here: so one sleep goes on under many requests, and when it ends, it looks whether a deadline has really come.
import type { Clock } from "../async/clock.ts";

interface Deadline {
  readonly timeMs: number;
  expire(): void;
}

interface Sleep {
  readonly untilMs: number;
  readonly ended: AbortController;
}

export class DeadlineTimer {
  readonly #clock: Clock;
  #deadline: Deadline | undefined;
  #sleep: Sleep | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `expire` after the delay, unless it is disarmed or armed again before. */
  arm(delayMs: number, expire: () => void): void {
    const timeMs = this.#clock.monotonicMs() + delayMs;
    this.#deadline = { timeMs, expire };
    if (this.#sleep === undefined || this.#sleep.untilMs > timeMs) this.#sleepUntil(timeMs);
  }

  disarm(): void {
    this.#deadline = undefined;
  }

  /** Disarms, and leaves no sleep behind. */
  close(): void {
    this.#deadline = undefined;
    this.#sleep?.ended.abort();
    this.#sleep = undefined;
  }

  #sleepUntil(untilMs: number): void {
    this.#sleep?.ended.abort();
    const sleep = { untilMs, ended: new AbortController() };
    this.#sleep = sleep;
    void this.#clock.sleep(untilMs - this.#clock.monotonicMs(), sleep.ended.signal).then(() => this.#wake(sleep));
  }

  #wake(sleep: Sleep): void {
    if (this.#sleep !== sleep) return;
    this.#sleep = undefined;
    const deadline = this.#deadline;
    if (deadline === undefined) return;
    if (deadline.timeMs > this.#clock.monotonicMs()) return this.#sleepUntil(deadline.timeMs);
    this.#deadline = undefined;
    deadline.expire();
  }
}
