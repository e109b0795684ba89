// Real time, so many times as fast: a back-off of a second is over in a few milliseconds, while files and sockets stay real.
import type { Clock } from "../../../src/async/clock.ts";
import { realClock } from "../../../src/async/clock.ts";

/** @param laterMs how far the wall clock is ahead */
export function fastClock(timesAsFast: number, laterMs = 0): Clock {
  const startMs = Date.now() + laterMs;
  const startMonotonicMs = performance.now();
  const passedMs = (): number => (performance.now() - startMonotonicMs) * timesAsFast;
  return {
    nowMs: () => startMs + passedMs(),
    monotonicMs: () => startMonotonicMs + passedMs(),
    sleep: async (delayMs, signal) => await realClock.sleep(delayMs / timesAsFast, signal),
    schedule: (delayMs, act) => realClock.schedule(delayMs / timesAsFast, act),
  };
}
