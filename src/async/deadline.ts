// A deadline for one act. The act is told by its signal, and the caller goes on at the deadline whether it listens or not.
import type { Clock } from "./clock.ts";

export type DeadlineResult<T> = { readonly inTime: true; readonly value: T } | { readonly inTime: false };

/**
 * Runs `act` for at most `timeoutMs` of the clock's time, or until `signal` aborts.
 * A failure of `act` in time is thrown on; what becomes of it after the deadline is nobody's business any more.
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
