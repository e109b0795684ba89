// A deadline for one operation. The signal aborts at the deadline, and the caller continues even if the operation does not react.
import type { Clock } from "./clock.ts";

export type DeadlineResult<T> = { readonly inTime: true; readonly value: T } | { readonly inTime: false };

/**
 * Runs `act` for at most `timeoutMs` of the clock's time, or until `signal` aborts.
 * An error of `act` before the deadline is rethrown; after the deadline its result is ignored.
 */
export async function withDeadline<T>(
  { clock, timeoutMs, signal }: { readonly clock: Clock; readonly timeoutMs: number; readonly signal?: AbortSignal },
  act: (signal: AbortSignal) => Promise<T>,
): Promise<DeadlineResult<T>> {
  const deadline = new AbortController();
  const finished = new AbortController();
  const limit = signal === undefined ? deadline.signal : AbortSignal.any([deadline.signal, signal]);
  const sleepUntil = signal === undefined ? finished.signal : AbortSignal.any([finished.signal, signal]);
  const acting = act(limit).then((value): DeadlineResult<T> => ({ inTime: true, value }));
  const waiting = clock.sleep(timeoutMs, sleepUntil).then((): DeadlineResult<T> => ({ inTime: false }));
  acting.catch(() => undefined);
  try {
    return await Promise.race([acting, waiting]);
  } finally {
    deadline.abort();
    finished.abort();
  }
}
