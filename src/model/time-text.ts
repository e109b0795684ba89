// Times and days as texts.

export const minuteMs = 60_000;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;

/** `2026-11-22T09:12:01Z`: RFC 3339 in UTC, truncated to seconds, as Kubernetes writes times. For years from 1 to 9999. */
export function formatTime(timeMs: number): string;
export function formatTime(timeMs: number | undefined): string | undefined;
export function formatTime(timeMs: number | undefined): string | undefined {
  return timeMs === undefined ? undefined : new Date(timeMs).toISOString().replace(/\.\d+Z$/u, "Z");
}

/** The day that a time belongs to. */
export function dayOf(timeMs: number): number {
  return Math.floor(timeMs / dayMs);
}

/** `2026-11-22`. Days are whole numbers since 1970. */
export function formatDay(day: number): string {
  return formatTime(day * dayMs).slice(0, 10);
}

/** Parses a date in this format; undefined if it has another format, or the day does not exist. */
export function parseDay(date: string): number | undefined {
  const day = Date.parse(`${date}T00:00:00Z`) / dayMs;
  return Number.isInteger(day) && formatDay(day) === date ? day : undefined;
}
