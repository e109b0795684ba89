// The only module that knows real time. Everything else gets a Clock, so that tests control the time.

export interface Clock {
  /** Milliseconds since 1970. */
  nowMs(): number;
  /** Monotonic milliseconds, independent of the wall clock. */
  monotonicMs(): number;
  /** Resolves after the delay, or as soon as the signal aborts. Never rejects, so check the signal afterwards. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>;
  /** Calls `act` once after the delay, unless the function that it returns is called before. `act` must not throw. */
  schedule(delayMs: number, act: () => void): CancelTimer;
}

/** Has no effect if it is called again, or after the timer has fired. */
export type CancelTimer = () => void;

/** Node.js fires timers with a longer delay immediately. */
const delayMsMax = 2 ** 31 - 1;

export const realClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  sleep: async (delayMs, signal) => await sleepBy(realClock, delayMs, signal),
  schedule(delayMs, act) {
    const timer = setTimeout(act, Math.min(Math.max(delayMs, 0), delayMsMax));
    return () => clearTimeout(timer);
  },
};

/**
 * Converts a time of `monotonicMs` to wall time, for reports and timers. Durations are measured only by `monotonicMs`, because the
 * wall clock can be set forward or back at any time.
 */
export function wallTimeOf(clock: Pick<Clock, "nowMs" | "monotonicMs">, monotonicMs: number): number {
  return clock.nowMs() + monotonicMs - clock.monotonicMs();
}

/** The reverse of `wallTimeOf`. */
export function monotonicTimeOf(clock: Pick<Clock, "nowMs" | "monotonicMs">, wallMs: number): number {
  return clock.monotonicMs() + wallMs - clock.nowMs();
}

/** The `sleep` of a clock that has a `schedule`. */
export function sleepBy(clock: Pick<Clock, "schedule">, delayMs: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted === true) return Promise.resolve();
  return new Promise((resolve) => {
    const cancel = clock.schedule(delayMs, () => {
      signal?.removeEventListener("abort", stop);
      resolve();
    });
    const stop = (): void => {
      cancel();
      resolve();
    };
    signal?.addEventListener("abort", stop, { once: true });
  });
}
