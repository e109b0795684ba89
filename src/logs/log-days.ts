// Which days of the logs the API keeps, and which of them a run has to read. Days are whole numbers since 1970.
import type { LogForwarding } from "../model/declared.ts";
import { dayOf } from "../model/texts.ts";
import type { DayRange, LogCursor } from "./cursor.ts";

/** How long the API keeps logs, by the plan of the account. */
export const logRetentionDays = {
  Basic: 30,
  CDN: 30,
  Advanced: 90,
  Professional: 180,
  Network: 365,
  Enterprise: 365,
} as const;

export type LogPlan = keyof typeof logRetentionDays;
export const logPlans = Object.keys(logRetentionDays) as LogPlan[];

/** The API keeps no entry longer, regardless of the subscription plan. */
const daysKeptMax = 365;

/** The first day whose logs are certainly complete. Days count from 1970. */
export function firstKeptDay(plan: LogPlan | undefined, today: number): number {
  return today - (plan === undefined ? daysKeptMax : logRetentionDays[plan]) + 1;
}

export function firstOfLookback(logs: LogForwarding, nowMs: number): number {
  return Math.max(dayOf(nowMs - logs.lookbackMs), firstKept(logs, nowMs));
}

/** The oldest day that the API keeps. */
export function firstKept({ plan: name }: LogForwarding, nowMs: number): number {
  const plan = logPlans.find((one) => one === name);
  return firstKeptDay(plan, dayOf(nowMs));
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
