// Formats a time without the platform's Date, which has access to the current time.

export const minuteMs = 60_000;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;
/** Days from 0000-03-01 to 1970-01-01. If years begin in March, leap days come last. */
const epochDay = 719_468;
const daysOf400Years = 146_097;

/** `2026-11-22T09:12:01Z`: in UTC, truncated to seconds. For years from 1 to 9999. */
export function secondText(timeMs: number): string {
  const days = Math.floor(timeMs / dayMs) + epochDay;
  const era = Math.floor(days / daysOf400Years);
  const dayOfEra = days - era * daysOf400Years;
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1_460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const marchMonth = Math.floor((5 * dayOfYear + 2) / 153);
  const day = dayOfYear - Math.floor((153 * marchMonth + 2) / 5) + 1;
  const month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9;
  const year = era * 400 + yearOfEra + (month <= 2 ? 1 : 0);
  const seconds = Math.floor((((timeMs % dayMs) + dayMs) % dayMs) / 1_000);
  const time = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60].map(twoDigits).join(":");
  return `${String(year).padStart(4, "0")}-${twoDigits(month)}-${twoDigits(day)}T${time}Z`;
}

function twoDigits(value: number): string {
  return String(value).padStart(2, "0");
}

/** The day that a time belongs to. */
export function dayOf(timeMs: number): number {
  return Math.floor(timeMs / dayMs);
}

/** `2026-11-22`. Days are whole numbers since 1970. */
export function formatDay(day: number): string {
  return secondText(day * dayMs).slice(0, 10);
}

/** Parses a date in this format; undefined if it has another format, or the day does not exist. */
export function parseDay(date: string): number | undefined {
  const [, year = 0, month = 0, dayOfMonth = 0] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(date)?.map(Number) ?? [];
  const marchYear = year - (month <= 2 ? 1 : 0);
  const leapDays = Math.floor(marchYear / 4) - Math.floor(marchYear / 100) + Math.floor(marchYear / 400);
  const dayOfYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + dayOfMonth - 1;
  const day = 365 * marchYear + leapDays + dayOfYear - epochDay;
  return formatDay(day) === date ? day : undefined;
}
