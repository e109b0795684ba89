// The time that one exchange has, or several together.
import type { Clock } from "../../async/clock.ts";

/** Of the reason of the signal when the time is over. */
export const deadlineCode = "FEED_DEADLINE";

export interface Deadline {
  /** Aborts when the time is over, or with `outer`. */
  readonly signal: AbortSignal;
  /** Ends what may still be open: a body of which nothing more is wanted. */
  end(): void;
}

export function startDeadline(clock: Pick<Clock, "schedule">, timeoutMs: number, outer?: AbortSignal): Deadline {
  const deadline = new AbortController();
  const cancel = clock.schedule(timeoutMs, () =>
    deadline.abort(Object.assign(new Error("The time is over."), { code: deadlineCode })),
  );
  return {
    signal: outer === undefined ? deadline.signal : AbortSignal.any([deadline.signal, outer]),
    end: () => {
      cancel();
      deadline.abort();
    },
  };
}
