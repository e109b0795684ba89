// How long the event loop of an operator was blocked since its metrics were last read. Time that other processes of the machine
// take counts, too: so a single long delay says little on a busy machine, and one in a hundred says more.
import type { OperatorProcess } from "./operator-process.ts";
import { slowness } from "./slowness.ts";

/** On a quiet machine. */
const mostMsMax = 100;
/** A garbage collection, or a moment without a processor. */
const longestMsMax = 500;

export interface LoopDelay {
  /** 99 of 100 were shorter, in milliseconds. */
  readonly mostMs: number;
  readonly longestMs: number;
}

/** What comes after it counts for the next one. */
export async function loopDelay(operator: OperatorProcess): Promise<LoopDelay> {
  const lines = (await operator.metrics()).split("\n");
  const millisecondsOf = (series: string): number => {
    const line = lines.find((each) => each.startsWith(`${series} `));
    return Number(line?.slice(series.length)) * 1000;
  };
  const mostMs = millisecondsOf("nodejs_eventloop_lag_p99_seconds");
  return { mostMs, longestMs: millisecondsOf("nodejs_eventloop_lag_max_seconds") };
}

/** Throws if the delays are longer than they may be on a machine as slow as this one. */
export function expectShortDelay({ mostMs, longestMs }: LoopDelay): void {
  const factor = slowness();
  if (mostMs <= mostMsMax * factor && longestMs <= longestMsMax * factor) return;
  const [most, longest] = [mostMs, longestMs].map(Math.round);
  throw new Error(
    `The event loop was blocked for ${most} ms (99 of 100) and ${longest} ms (longest); ${Math.round(mostMsMax * factor)} and ${Math.round(longestMsMax * factor)} ms are allowed.`,
  );
}
