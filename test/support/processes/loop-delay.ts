// Measures how long the event loop of an operator was blocked since its metrics were last read. The time of other processes also
// counts, so on a busy machine, the 99th percentile is more meaningful than the longest delay.
import type { OperatorProcess } from "./operator-process.ts";
import { slowness } from "./slowness.ts";

/** On a quiet machine. */
const mostMsMax = 100;
/** Allows for a garbage collection, or a moment without CPU time. */
const longestMsMax = 500;

export interface LoopDelay {
  /** The 99th percentile in milliseconds. */
  readonly mostMs: number;
  readonly longestMs: number;
}

/** Later delays count for the next measurement. */
export async function loopDelay(operator: OperatorProcess): Promise<LoopDelay> {
  const lines = (await operator.metrics()).split("\n");
  const millisecondsOf = (series: string): number => {
    const line = lines.find((each) => each.startsWith(`${series} `));
    return Number(line?.slice(series.length)) * 1000;
  };
  const mostMs = millisecondsOf("nodejs_eventloop_lag_p99_seconds");
  return { mostMs, longestMs: millisecondsOf("nodejs_eventloop_lag_max_seconds") };
}

/** Throws if the delays exceed the limits for a machine as slow as this one. */
export function expectShortDelay({ mostMs, longestMs }: LoopDelay): void {
  const factor = slowness();
  if (mostMs <= mostMsMax * factor && longestMs <= longestMsMax * factor) return;
  const [most, longest] = [mostMs, longestMs].map(Math.round);
  throw new Error(
    `The event loop was blocked for ${most} ms (99 of 100) and ${longest} ms (longest); ${Math.round(mostMsMax * factor)} and ${Math.round(longestMsMax * factor)} ms are allowed.`,
  );
}
