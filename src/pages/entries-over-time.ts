// Computes how many entries wafsync managed over time. It starts with the current number and goes back through the history, so no
// separate record is needed.
import type { ListName } from "../model/declared.ts";
import { listNames } from "../model/declared.ts";
import type { HistoryEvent, HistoryKind } from "../model/history.ts";
import { dayMs, hourMs, minuteMs } from "../model/time-text.ts";

export interface EntriesOverTime {
  readonly startMs: number;
  readonly stepMs: number;
  /** The count at the end of each step. The last step ends now. */
  readonly counts: Readonly<Record<ListName, readonly number[]>>;
}

const stepsMax = 90;
/** The possible lengths of a step: the first one that needs few enough steps is used. */
const stepsMs = [5 * minuteMs, 30 * minuteMs, hourMs, 6 * hourMs, dayMs] as const;

/** How each event changes the number of managed entries. Other events do not change it. */
const effects: Partial<Record<HistoryKind, 1 | -1>> = { Added: 1, Adopted: 1, Removed: -1 };

/** Undefined if there are no events, because the past is unknown then. */
export function entriesOverTime(
  events: readonly HistoryEvent[],
  now: Readonly<Record<ListName, number>>,
  nowMs: number,
): EntriesOverTime | undefined {
  const firstMs = events.reduce((first, { atMs }) => Math.min(first, atMs), Number.POSITIVE_INFINITY);
  if (!Number.isFinite(firstMs)) return undefined;
  const spanMs = Math.max(nowMs - firstMs, hourMs);
  const stepMs = stepsMs.find((step) => spanMs / step < stepsMax - 1) ?? dayMs;
  const steps = Math.min(stepsMax, Math.ceil(spanMs / stepMs) + 1);
  const startMs = nowMs - (steps - 1) * stepMs;
  const counts = Object.fromEntries(
    listNames.map((list) => [list, backFrom(now[list], changesOf(list, events, { startMs, stepMs, steps }))]),
  );
  return { startMs, stepMs, counts: counts as Record<ListName, readonly number[]> };
}

/** The change of the number in each step. */
function changesOf(
  list: ListName,
  events: readonly HistoryEvent[],
  { startMs, stepMs, steps }: { readonly startMs: number; readonly stepMs: number; readonly steps: number },
): readonly number[] {
  const changes = Array.from({ length: steps }, () => 0);
  for (const { target, kind, values, atMs } of events) {
    const step = Math.ceil((atMs - startMs) / stepMs);
    const effect = target === list ? effects[kind] : undefined;
    if (effect === undefined || step < 0) continue;
    const place = Math.min(step, steps - 1);
    changes[place] = (changes[place] ?? 0) + effect * values.length;
  }
  return changes;
}

/**
 * Counts back from the last number. Another writer may have removed managed entries without an event, so counts are limited to at
 * least 0.
 */
function backFrom(last: number, changes: readonly number[]): readonly number[] {
  const counts: number[] = [];
  let count = last;
  for (let step = changes.length - 1; step >= 0; step -= 1) {
    counts.push(Math.max(0, count));
    count -= changes[step] ?? 0;
  }
  return counts.toReversed();
}
