// The requested time range, validated by the rules of the API before any call. The API supports only whole days; if a time was
// given, rows outside the range are dropped after the read.
import { dayOf, formatDay, formatTime } from "../../model/texts.ts";
import type { DayRange } from "../../logs/cursor.ts";
import { firstKeptDay, type LogPlan, logRetentionDays } from "../../logs/log-days.ts";
import { logTimeMs } from "../../model/log-entry.ts";
import { CommandError } from "../describe-error.ts";
import { type Bound, parseBound } from "../arguments.ts";

/** The maximum number of days in one query of the API, including both ends. */
export const rangeDaysMax = 365;

/** Undefined if whole days were given. Milliseconds since 1970; `untilMs` is exclusive. */
export interface Moments {
  readonly sinceMs: number | undefined;
  readonly untilMs: number | undefined;
}

export interface LogRange extends Moments {
  readonly days: DayRange;
}

/** @throws CommandError that says what to write instead */
export function parseRange(since: string, until: string, nowMs: number): LogRange {
  const from = parseBound("--since", since, nowMs);
  const to = parseBound("--until", until, nowMs);
  const [firstDay, lastDay] = [dayOf(from.startMs), dayOf(to.endMs - 1)];
  if (from.startMs >= to.endMs) {
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
  const sinceMs = isDay(from) ? undefined : from.startMs;
  const untilMs = isDay(to) ? undefined : to.endMs;
  return { days: { firstDay, lastDay }, sinceMs, untilMs };
}

/** Whether a row belongs to the range. */
export function isWithin({ sinceMs, untilMs }: Moments, timestamp: string): boolean {
  if (sinceMs === undefined && untilMs === undefined) return true;
  const timeMs = logTimeMs(timestamp);
  return timeMs >= (sinceMs ?? -Infinity) && timeMs < (untilMs ?? Infinity);
}

/** `2026-11-15 to 2026-11-21`, one day alone, or the same with times if times were given. */
export function describeRange({ days, sinceMs, untilMs }: LogRange): string {
  const words = (timeMs: number | undefined, day: number): string =>
    timeMs === undefined
      ? formatDay(day)
      : formatTime(timeMs)
          .replace("T", " ")
          .replace(/(?::00)?Z$/, "");
  const [first, last] = [words(sinceMs, days.firstDay), words(untilMs, days.lastDay)];
  return first === last ? first : `${first} to ${last}`;
}

/** A warning if the plan does not keep all requested days. */
export function retentionWarning(plan: LogPlan, { firstDay }: DayRange, today: number): string | undefined {
  const kept = firstKeptDay(plan, today);
  if (firstDay >= kept) return undefined;
  return `the plan ${plan} keeps logs for ${logRetentionDays[plan]} days: days before ${formatDay(kept)} are missing or incomplete`;
}

function describeBound(text: string, bound: Bound): string {
  const meant = isDay(bound) ? formatDay(dayOf(bound.startMs)) : formatTime(bound.startMs);
  return text === meant ? meant : `${text} (${meant})`;
}

function isDay({ startMs, endMs }: Bound): boolean {
  return startMs < endMs;
}
