// A deadline for one operation. The signal aborts at the deadline, and the caller continues even if the operation does not react.
import type { Clock } from "./clock.ts";

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
