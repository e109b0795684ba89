// The dates of a log query: `YYYY-MM-DD`, days that exist, both ends included, in UTC.
import { dayMs } from "./log-entries.ts";

/** The maximum number of days in a range, including both ends. */
const daysMax = 365;

export type DateRange =
  | { readonly ok: true; readonly firstDay: number; readonly lastDay: number }
  | { readonly ok: false; readonly message: string };

/** Returns days since 1970, or the API's error message. */
export function parseDateRange(startDate: string, endDate: string): DateRange {
  const firstDay = parseDay(startDate);
  const lastDay = parseDay(endDate);
  if (firstDay === undefined || lastDay === undefined) {
    return { ok: false, message: "Invalid date format. Use YYYY-MM-DD." };
  }
  if (firstDay > lastDay) return { ok: false, message: "start_date must be before or equal to end_date" };
  if (lastDay - firstDay + 1 > daysMax) return { ok: false, message: "Date range cannot exceed 365 days" };
  return { ok: true, firstDay, lastDay };
}

/** Days since 1970; undefined if the date does not exist. */
function parseDay(text: string): number | undefined {
  if (!/^[0-9]{4}-[0-9]{2}-[0-9]{2}$/u.test(text)) return undefined;
  const timeMs = Date.parse(`${text}T00:00:00.000Z`);
  if (Number.isNaN(timeMs) || !new Date(timeMs).toISOString().startsWith(text)) return undefined;
  return timeMs / dayMs;
}
