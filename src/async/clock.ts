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

// A deadline for one operation. The signal aborts at the deadline, and the caller continues even if the operation does not react.

/** The code of the signal's reason after the deadline. */
export const deadlineCode = "DEADLINE";

/** One for all: an error for each operation would cost more than the rest of a deadline. */
const ended = Object.assign(new Error("The operation has ended."), { code: "ABORTED" });

export interface DeadlineOptions {
  readonly clock: Pick<Clock, "schedule">;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

export function startDeadline({ clock, timeoutMs, signal }: DeadlineOptions) {
  const over = new AbortController();
  const expire = (): void => over.abort(Object.assign(new Error("The deadline has passed."), { code: deadlineCode }));
  const start = (): (() => void) => clock.schedule(timeoutMs, expire);
  let cancel = start();
  const follow = (): void => over.abort(signal?.reason);
  if (signal?.aborted === true) follow();
  else signal?.addEventListener("abort", follow, { once: true });
  return {
    /** Aborts at the deadline, with the outer signal, or at the end. */
    signal: over.signal,
    /** Stops the time. */
    pause: () => cancel(),
    /** Starts the time from zero. */
    restart: () => {
      cancel();
      cancel = start();
    },
    /** Ends everything that may still be running. */
    end: () => {
      cancel();
      signal?.removeEventListener("abort", follow);
      over.abort(ended);
    },
  };
}

export type DeadlineResult<T> = { readonly inTime: true; readonly value: T } | { readonly inTime: false };

/**
 * Runs `act` for at most `timeoutMs` of the clock's time, or until `signal` aborts.
 * An error of `act` before the deadline is rethrown; after the deadline its result is ignored.
 */
export async function withDeadline<T>(
  options: DeadlineOptions,
  act: (signal: AbortSignal) => Promise<T>,
): Promise<DeadlineResult<T>> {
  const deadline = startDeadline(options);
  const over = Promise.withResolvers<DeadlineResult<T>>();
  const giveUp = (): void => over.resolve({ inTime: false });
  deadline.signal.addEventListener("abort", giveUp, { once: true });
  const acting = act(deadline.signal).then((value): DeadlineResult<T> => ({ inTime: true, value }));
  acting.catch(() => undefined);
  if (deadline.signal.aborted) giveUp();
  try {
    return await Promise.race([acting, over.promise]);
  } finally {
    deadline.end();
  }
}
