// The time limit of one exchange, or of several together.
import type { Clock } from "../../async/clock.ts";

/** The code of the signal's reason after the deadline. */
export const deadlineCode = "FEED_DEADLINE";

export interface Deadline {
  /** Aborts at the deadline, or with `outer`. */
  readonly signal: AbortSignal;
  /** Ends everything that may still be open, such as a body that is no longer needed. */
  end(): void;
}

export function startDeadline(clock: Pick<Clock, "schedule">, timeoutMs: number, outer?: AbortSignal): Deadline {
  const deadline = new AbortController();
  const cancel = clock.schedule(timeoutMs, () =>
    deadline.abort(Object.assign(new Error("The deadline has passed."), { code: deadlineCode })),
  );
  return {
    signal: outer === undefined ? deadline.signal : AbortSignal.any([deadline.signal, outer]),
    end: () => {
      cancel();
      deadline.abort();
    },
  };
}
