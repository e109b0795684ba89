// How long the event loop of an operator was blocked at most since its metrics were last read.
import type { OperatorProcess } from "./operator-process.ts";
import { slowness } from "./slowness.ts";

/** Nothing may block it longer on a quiet machine. */
const loopDelayMsMax = 100;

/** The longest delay in milliseconds. The next reading counts from now on. */
export async function loopDelayMs(operator: OperatorProcess): Promise<number> {
  return ((await operator.metric("nodejs_eventloop_lag_max_seconds")) ?? Number.NaN) * 1000;
}

/** Throws if that is longer than it may be on a machine as slow as this one. */
export function expectShortDelay(delayMs: number): void {
  const allowedMs = loopDelayMsMax * slowness();
  if (delayMs <= allowedMs) return;
  throw new Error(`The event loop was blocked for ${Math.round(delayMs)} ms; ${Math.round(allowedMs)} ms are allowed.`);
}
