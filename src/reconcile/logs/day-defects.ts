// The events about a day with log entries that deviate from the API's documentation.
import type { DaySummary } from "../../plan/logs/day-reading.ts";
import { formatDay } from "./log-days.ts";

export interface DayDefect {
  /** The same subject with the same message is emitted once. */
  readonly subject: string;
  readonly message: string;
  readonly reason: "LogEntriesBroken" | "LogEntriesMissing";
}

/** @param summary undefined if the day had nothing new */
export function dayDefects(day: number, summary: DaySummary | undefined): readonly DayDefect[] {
  if (summary === undefined) return [];
  const { came, total, brokenCount, broken, surplus } = summary;
  const date = formatDay(day);
  const defects: DayDefect[] = [];
  if (brokenCount > 0) {
    const example = broken[0] === undefined ? "" : ` (entry ${broken[0].position}: ${broken[0].problem})`;
    const message = `${date}: ${brokenCount} log ${brokenCount === 1 ? "entry is" : "entries are"} malformed and not forwarded${example}.`;
    defects.push({ subject: `broken ${date}`, message, reason: "LogEntriesBroken" });
  }
  if (came !== total) {
    const message = `${date}: the API reported ${total} log entries but returned ${came}.`;
    defects.push({ subject: `count ${date}`, message, reason: "LogEntriesMissing" });
  }
  if (surplus > 0) {
    const message = `${date}: the API no longer returns ${surplus} forwarded log ${surplus === 1 ? "entry" : "entries"}.`;
    defects.push({ subject: `surplus ${date}`, message, reason: "LogEntriesMissing" });
  }
  return defects;
}
