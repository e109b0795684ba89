// SIGINT and SIGTERM as the end of a command: after the first it starts no new call, after the second it gives up the one in flight.
import type { StoppingControl } from "../app/stopping.ts";
import { createStopping } from "../app/stopping.ts";
import { realClock } from "../async/clock.ts";

/** Does the work, which signals stop; after it they end the process again. */
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

/** Returns what removes the handlers again. */
export function stopOnSignals(stopping: StoppingControl): () => void {
  const stop = (signal: NodeJS.Signals): void => stopping.begin(signal);
  process.on("SIGINT", stop).on("SIGTERM", stop);
  return () => void process.off("SIGINT", stop).off("SIGTERM", stop);
}
