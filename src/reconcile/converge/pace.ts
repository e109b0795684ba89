// How fast a run writes.
import type { Pace, WritesDone } from "../facts.ts";

/** Fewer writes than this say nothing about the pace. */
const paceFrom = 5;

export function paceOf(writes: WritesDone, left: number, tookMs: number): Pace {
  const { added, removed, originsAdded, originsRemoved } = writes;
  const done = added + removed + originsAdded + originsRemoved;
  return { done, left, perSecond: done < paceFrom || tookMs <= 0 ? undefined : (done * 1000) / tookMs };
}
