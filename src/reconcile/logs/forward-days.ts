// Which days of the logs a run has to read.
import type { LogForwarding } from "../../model/declared.ts";
import type { DayRange, LogCursor } from "../../plan/logs/cursor.ts";
import { firstKeptDay, logPlans } from "../../plan/logs/retention.ts";
import { dayOf } from "./log-days.ts";

/** The API keeps no entry longer, regardless of the subscription plan. */
const daysKeptMax = 365;

export function firstOfLookback(logs: LogForwarding, nowMs: number): number {
  return Math.max(dayOf(nowMs - logs.lookbackMs), firstKept(logs, nowMs));
}

/** The oldest day that the API keeps. */
export function firstKept({ plan: name }: LogForwarding, nowMs: number): number {
  const today = dayOf(nowMs);
  const plan = logPlans.find((one) => one === name);
  return plan === undefined ? today - daysKeptMax + 1 : firstKeptDay(plan, today);
}

/** `lost` are days that were not read, and that the API no longer keeps. */
export function daysToRead(
  cursor: LogCursor,
  logs: LogForwarding,
  nowMs: number,
): { readonly days: DayRange; readonly lost: DayRange | undefined } {
  const today = dayOf(nowMs);
  const { firstDay, lastDay } = cursor.daysToRead(today, today - firstOfLookback(logs, nowMs));
  const kept = firstKept(logs, nowMs);
  const lost = cursor.nextDay < kept ? { firstDay: cursor.nextDay, lastDay: kept - 1 } : undefined;
  return { days: { firstDay: Math.max(firstDay, kept), lastDay }, lost };
}
