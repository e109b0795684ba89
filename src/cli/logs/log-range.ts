// The requested time range, validated by the rules of the API before any call. The API supports only whole days; if a time was
// given, rows outside the range are dropped after the read.
import type { DayRange } from "../../plan/logs/cursor.ts";
import { firstKeptDay, logRetentionDays } from "../../plan/logs/retention.ts";
import type { LogPlan } from "../../plan/logs/retention.ts";
import { dayMs, dayOf, formatDay, parseDay } from "../../reconcile/logs/log-days.ts";
import { CommandError } from "../describe-error.ts";

/** The maximum number of days in one query of the API, including both ends. */
export const rangeDaysMax = 365;

const hourMs = 3_600_000;

/** Undefined if whole days were given. Milliseconds since 1970; `untilMs` is exclusive. */
export interface Moments {
  readonly sinceMs: number | undefined;
  readonly untilMs: number | undefined;
}

export interface LogRange extends Moments {
  readonly days: DayRange;
}

/** A whole day, or a time. */
type Bound = { readonly day: number } | { readonly timeMs: number };

const timeHint =
  "Write a day as YYYY-MM-DD, 7d (seven days ago), today or yesterday, or a time as YYYY-MM-DDTHH:MM or 24h (24 hours ago). All times are UTC.";

/** @throws CommandError that says what to write instead */
export function parseRange(since: string, until: string, nowMs: number): LogRange {
  const from = parseBound("--since", since, nowMs);
  const to = parseBound("--until", until, nowMs);
  const sinceMs = "timeMs" in from ? from.timeMs : undefined;
  const untilMs = "timeMs" in to ? to.timeMs : undefined;
  const firstDay = "day" in from ? from.day : dayOf(from.timeMs);
  const lastDay = "day" in to ? to.day : dayOf(to.timeMs - 1);
  if (firstDay > lastDay || (sinceMs !== undefined && untilMs !== undefined && sinceMs >= untilMs)) {
    throw new CommandError(
      `--since ${describeBound(since, from)} is not before --until ${describeBound(until, to)}`,
      "--since must be the earlier of the two.",
    );
  }
  const days = lastDay - firstDay + 1;
  if (days > rangeDaysMax) {
    throw new CommandError(
      `${formatDay(firstDay)} to ${formatDay(lastDay)} is ${days} days, and the WAF allows at most ${rangeDaysMax}`,
      `Set --since ${formatDay(lastDay - rangeDaysMax + 1)}, and read the earlier days with a second command.`,
    );
  }
  return { days: { firstDay, lastDay }, sinceMs, untilMs };
}

/** Whether the string is absolute: `7d` is a different day tomorrow. */
export function isAbsoluteTime(text: string): boolean {
  return parseDay(text) !== undefined || parseMoment(text) !== undefined;
}

/** Whether a row belongs to the range. */
export function isWithin({ sinceMs, untilMs }: Moments, timestamp: string): boolean {
  if (sinceMs === undefined && untilMs === undefined) return true;
  const timeMs = Date.parse(timestamp);
  return timeMs >= (sinceMs ?? -Infinity) && timeMs < (untilMs ?? Infinity);
}

/** `2026-11-15 to 2026-11-21`, or the same with times if times were given. */
export function describeRange({ days, sinceMs, untilMs }: LogRange): string {
  const words = (timeMs: number | undefined, day: number): string =>
    timeMs === undefined
      ? formatDay(day)
      : formatMoment(timeMs)
          .replace("T", " ")
          .replace(/(?::00)?Z$/, "");
  return `${words(sinceMs, days.firstDay)} to ${words(untilMs, days.lastDay)}`;
}

/** `2026-11-21T09:30:00Z`, to the second. */
export function formatMoment(timeMs: number): string {
  return new Date(timeMs).toISOString().replace(/\.\d+Z$/, "Z");
}

/** A warning if the plan does not keep all requested days. */
export function retentionWarning(plan: LogPlan, { firstDay }: DayRange, today: number): string | undefined {
  const kept = firstKeptDay(plan, today);
  if (firstDay >= kept) return undefined;
  return `the plan ${plan} keeps logs for ${logRetentionDays[plan]} days: days before ${formatDay(kept)} are missing or incomplete`;
}

function parseBound(option: string, text: string, nowMs: number): Bound {
  const word = text.trim().toLowerCase();
  const today = dayOf(nowMs);
  if (word === "today") return { day: today };
  if (word === "yesterday") return { day: today - 1 };
  const ago = /^(?<count>\d{1,5})(?<unit>[dh])$/.exec(word)?.groups;
  if (ago?.["unit"] === "d") return { day: today - Number(ago["count"]) };
  // Truncated to seconds, as times are printed.
  if (ago !== undefined) return { timeMs: Math.floor((nowMs - Number(ago["count"]) * hourMs) / 1000) * 1000 };
  const day = parseDay(word);
  if (day !== undefined) return { day };
  const timeMs = parseMoment(word);
  if (timeMs !== undefined) return { timeMs };
  if (/^\d{4}-\d{2}-\d{2}(?:t.*)?$/.test(word)) throw new CommandError(`${option} ${text}: no such time`, timeHint);
  throw new CommandError(`${option} ${JSON.stringify(text)} is not a time`, timeHint);
}

/** A UTC time with minutes or seconds; the Z is optional. */
function parseMoment(text: string): number | undefined {
  const parts = /^(\d{4}-\d{2}-\d{2})t([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?z?$/i.exec(text.trim());
  if (parts === null) return undefined;
  const [, date = "", hour, minute, second = "00"] = parts;
  const day = parseDay(date);
  return day === undefined ? undefined : day * dayMs + Date.parse(`1970-01-01T${hour}:${minute}:${second}Z`);
}

function describeBound(text: string, bound: Bound): string {
  const meant = "day" in bound ? formatDay(bound.day) : formatMoment(bound.timeMs);
  return text === meant ? meant : `${text} (${meant})`;
}
