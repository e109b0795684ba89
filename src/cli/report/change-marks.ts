// Marks the changes to the lists in the chart. Changes within one bar share a number.
import { AddressCover } from "../../model/address-cover.ts";
import type { HistoryEvent } from "../../model/history.ts";
import { joinEvents } from "../../model/history.ts";
import type { LogReportSummary } from "./report-statistics.ts";
import type { FocusView } from "./report-data.ts";

/** Only the newest changes are shown. */
const changesShownMax = 100;

export interface MarkedChange {
  readonly mark: string;
  readonly event: HistoryEvent;
}

export interface MarkedChanges {
  readonly marks: readonly { readonly bar: number; readonly label: string }[];
  /** Oldest first. */
  readonly changes: readonly MarkedChange[];
  /** Older changes that are not shown. */
  readonly left: number;
}

/** With clients or networks in focus, only the entries that cover them count. */
export function markChanges(
  events: readonly HistoryEvent[],
  { barsStartMs, barMs }: LogReportSummary,
  focus: readonly FocusView[],
): MarkedChanges {
  const covers = focus.map(({ entry }) => new AddressCover(entry));
  const fitting = joinEvents(events.flatMap((event) => eventFor(event, covers))).toSorted((a, b) => a.atMs - b.atMs);
  const shown = fitting.slice(-changesShownMax);
  const marks = new Map<number, string>();
  const changes = shown.map((event): MarkedChange => {
    const bar = Math.floor((event.atMs - barsStartMs) / barMs);
    const mark = marks.get(bar) ?? String(marks.size + 1);
    marks.set(bar, mark);
    return { mark, event };
  });
  return { marks: [...marks].map(([bar, label]) => ({ bar, label })), changes, left: fitting.length - shown.length };
}

function eventFor(event: HistoryEvent, covers: readonly AddressCover[]): HistoryEvent[] {
  if (covers.length === 0) return [event];
  const values = event.values.filter((value) => covers.some((cover) => cover.find(value) !== undefined));
  return values.length === 0 ? [] : [{ ...event, values }];
}
