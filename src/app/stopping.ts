// How a process ends: first no new call is begun, a moment later the running call is given up.
import type { Clock } from "../async/clock.ts";

/** A command at a terminal that was asked to stop ends within a second: this is what a running call gets of it. */
const graceMsDefault = 600;

export interface Stopping {
  /** No new call is begun. */
  readonly stop: AbortSignal;
  /** A running call is given up. */
  readonly abandon: AbortSignal;
}

export interface StoppingControl extends Stopping {
  begin(reason: string): void;
  /** Nothing runs any more: the process need not live until the running call would have been given up. */
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
