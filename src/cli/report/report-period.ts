// The period of a report in milliseconds, and the period of the same length before it.
import { dayMs } from "../../model/time-text.ts";
import { firstKeptDay } from "../../plan/logs/retention.ts";
import type { LogPlan } from "../../plan/logs/retention.ts";
import { dayOf } from "../../reconcile/logs/log-days.ts";
import type { Period } from "./time-bars.ts";
import type { LogRange } from "../logs/log-range.ts";

/** The API's limit for the age of a period; see `parseRange` for its length. */
const rangeDaysMax = 365;

/** A period that starts at a time ends now at the latest, because its bars are short. Otherwise, days are included as a whole. */
export function periodOf({ days, sinceMs, untilMs }: LogRange, nowMs: number): Period {
  const endMs = untilMs ?? (days.lastDay + 1) * dayMs;
  if (sinceMs === undefined) return { startMs: days.firstDay * dayMs, endMs };
  return { startMs: sinceMs, endMs: nowMs > sinceMs ? Math.min(endMs, nowMs) : endMs };
}

/** The previous period, as long as the part of the period that has passed. Undefined if no part has passed. */
export function previousRange(range: LogRange, nowMs: number): LogRange | undefined {
  const { startMs, endMs } = periodOf(range, nowMs);
  const spanMs = Math.min(endMs, nowMs) - startMs;
  if (spanMs <= 0) return undefined;
  const sinceMs = Math.max(startMs - spanMs, (dayOf(startMs - 1) - rangeDaysMax + 1) * dayMs);
  return { days: { firstDay: dayOf(sinceMs), lastDay: dayOf(startMs - 1) }, sinceMs, untilMs: startMs };
}

/** Whether the plan keeps the whole period; true if the plan is unknown. */
export function isKept(plan: LogPlan | undefined, { days }: LogRange, nowMs: number): boolean {
  return plan === undefined || days.firstDay >= firstKeptDay(plan, dayOf(nowMs));
}
