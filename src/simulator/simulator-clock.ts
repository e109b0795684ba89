// The clock of the simulator: an interface that test clocks also implement, and the real clock. The simulator imports nothing
// from the rest of the program, so it has its own.
import { setTimeout as sleepFor } from "node:timers/promises";

export interface SimulatorClock {
  /** Milliseconds since 1970. */
  nowMs(): number;
  /** Resolves after the delay, or as soon as the signal aborts. Never rejects. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>;
}

export const wallClock: SimulatorClock = {
  nowMs: () => Date.now(),
  async sleep(delayMs, signal) {
    await sleepFor(delayMs, undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
  },
};
