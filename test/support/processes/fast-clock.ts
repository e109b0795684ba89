// Accelerated real time: a backoff of a second takes a few milliseconds, while files and sockets stay real.
import { type Clock, realClock } from "../../../src/async/clock.ts";

export function fastClock(timesAsFast: number): Clock {
  const startMs = Date.now();
  const startMonotonicMs = performance.now();
  const passedMs = (): number => (performance.now() - startMonotonicMs) * timesAsFast;
  return {
    nowMs: () => startMs + passedMs(),
    monotonicMs: () => startMonotonicMs + passedMs(),
    sleep: async (delayMs, signal) => await realClock.sleep(delayMs / timesAsFast, signal),
    schedule: (delayMs, act) => realClock.schedule(delayMs / timesAsFast, act),
  };
}
