// How a process stops: first it starts no new call, and a moment later it aborts the call in flight.
import type { Clock } from "../async/clock.ts";

/** How long a call in flight may take to end: a command that is interrupted at a terminal ends within a second. */
const graceMsDefault = 600;

export interface Stopping {
  /** Aborts when no new call may start. */
  readonly stop: AbortSignal;
  /** Aborts when the call in flight has to end. */
  readonly abandon: AbortSignal;
}

export interface StoppingControl extends Stopping {
  begin(reason: string): void;
  /** Call this when nothing runs any longer: then the process does not wait for `abandon`. */
  done(): void;
}

export function createStopping(clock: Clock, graceMs: number = graceMsDefault): StoppingControl {
  const stop = new AbortController();
  const abandon = new AbortController();
  const ended = new AbortController();
  return {
    stop: stop.signal,
    abandon: abandon.signal,
    begin(reason) {
      if (stop.signal.aborted) {
        abandon.abort(reason);
        return;
      }
      stop.abort(reason);
      void clock.sleep(graceMs, ended.signal).then(() => abandon.abort(reason));
    },
    done() {
      ended.abort();
    },
  };
}
