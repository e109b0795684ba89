// The days of the logs: `YYYY-MM-DD` in UTC for the API, whole numbers since 1970 for everything else.
import { dayMs } from "../../model/time-text.ts";

/** The day that a time belongs to. */
export function dayOf(timeMs: number): number {
  return Math.floor(timeMs / dayMs);
}

export function formatDay(day: number): string {
  return new Date(day * dayMs).toISOString().slice(0, 10);
}

/** Parses a date in the API's format; undefined if it has another format, or the day does not exist. */
export function parseDay(date: string): number | undefined {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(date)) return undefined;
  const timeMs = Date.parse(`${date}T00:00:00.000Z`);
  return Number.isNaN(timeMs) || formatDay(timeMs / dayMs) !== date ? undefined : timeMs / dayMs;
}
