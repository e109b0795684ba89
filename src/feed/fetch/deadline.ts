// The time limit of the wait for a response, or for several together, and of reading it.
import type { Clock } from "../../async/clock.ts";
import type { InTurn } from "../../plan/feeds/fetched-text.ts";

/** The code of the signal's reason after the deadline. */
export const deadlineCode = "FEED_DEADLINE";

export interface Deadline {
  /** Aborts at the deadline, or with `outer`. */
  readonly signal: AbortSignal;
  /** Reads a response with a time limit that begins with its turn. */
  readonly read: InTurn;
  /** Ends everything that may still be open, such as a body that is no longer needed. */
  end(): void;
}

export function startDeadline(
  { clock, inTurn }: { readonly clock: Pick<Clock, "schedule">; readonly inTurn: InTurn },
  timeoutMs: number,
  outer?: AbortSignal,
): Deadline {
  const deadline = new AbortController();
  const start = (): (() => void) =>
    clock.schedule(timeoutMs, () =>
      deadline.abort(Object.assign(new Error("The deadline has passed."), { code: deadlineCode })),
    );
  let cancel = start();
  return {
    signal: outer === undefined ? deadline.signal : AbortSignal.any([deadline.signal, outer]),
    read: async (read) => {
      cancel();
      return await inTurn(async () => {
        cancel = start();
        return await read();
      });
    },
    end: () => {
      cancel();
      deadline.abort();
    },
  };
}
