// The only module that knows real time. Everything else is handed a Clock, so that tests decide what time it is.
import { setTimeout as sleepFor } from "node:timers/promises";

export interface Clock {
  /** Milliseconds since 1970. */
  nowMs(): number;
  /** Milliseconds that only ever grow, whatever happens to the wall clock. */
  monotonicMs(): number;
  /** Resolves after the delay, or as soon as the signal aborts: never rejects, so look at the signal afterwards. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>;
}

/** Node fires timers of more than this at once. */
const delayMsMax = 2 ** 31 - 1;

export const realClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  async sleep(delayMs, signal) {
    const bounded = Math.min(Math.max(delayMs, 0), delayMsMax);
    await sleepFor(bounded, undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
  },
};
