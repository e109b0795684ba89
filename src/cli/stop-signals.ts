// Stops a command on SIGINT and SIGTERM: after the first signal it starts no new call, and after the second it gives up the call
// in flight.
import type { StoppingControl } from "../app/stopping.ts";
import { createStopping } from "../app/stopping.ts";
import { realClock } from "../async/clock.ts";

/** Does the work, which signals can stop. Afterwards, a signal ends the process as usual. */
export async function withStopSignals<T>(work: (stopping: StoppingControl) => Promise<T>): Promise<T> {
  const stopping = createStopping(realClock);
  const removeHandlers = stopOnSignals(stopping);
  try {
    return await work(stopping);
  } finally {
    removeHandlers();
    stopping.done();
  }
}

/** Returns a function that removes the handlers. */
export function stopOnSignals(stopping: StoppingControl): () => void {
  const stop = (signal: NodeJS.Signals): void => stopping.begin(signal);
  process.on("SIGINT", stop).on("SIGTERM", stop);
  return () => void process.off("SIGINT", stop).off("SIGTERM", stop);
}
