// The requested range of days, validated by the rules of the API before any call.
import type { DayRange } from "../../plan/logs/cursor.ts";
import { firstKeptDay, logRetentionDays } from "../../plan/logs/retention.ts";
import type { LogPlan } from "../../plan/logs/retention.ts";
import { formatDay, parseDay } from "../../reconcile/logs/log-days.ts";
import { CommandError } from "../describe-error.ts";

/** The most days in one query of the API, including both ends. */
export const rangeDaysMax = 365;

const dateHint =
  "Write it as YYYY-MM-DD, as a number of days ago such as 7d, or as today or yesterday. Days are those of UTC.";

/** @param today Counts from 1970, like the days of the range. @throws CommandError that says what to write instead */
export function parseRange(from: string, to: string, today: number): DayRange {
  const firstDay = parseDate("--from", from, today);
  const lastDay = parseDate("--to", to, today);
  if (firstDay > lastDay) {
    throw new CommandError(
      `--from ${describeDay(from, firstDay)} is after --to ${describeDay(to, lastDay)}`,
      "--from is the older of the two, and both days are included.",
    );
  }
  const days = lastDay - firstDay + 1;
  if (days > rangeDaysMax) {
    throw new CommandError(
      `${formatDay(firstDay)} to ${formatDay(lastDay)} is ${days} days, and the WAF allows at most ${rangeDaysMax}`,
      `Set --from ${formatDay(lastDay - rangeDaysMax + 1)}, and read the earlier days with another command.`,
    );
  }
  return { firstDay, lastDay };
}

/** Whether the string always means the same day: `7d` is another day tomorrow. */
export function isAbsoluteDate(text: string): boolean {
  return parseDay(text) !== undefined;
}

/** A warning if the plan does not keep all requested days. */
export function retentionWarning(plan: LogPlan, { firstDay }: DayRange, today: number): string | undefined {
  const kept = firstKeptDay(plan, today);
  if (firstDay >= kept) return undefined;
  return `the plan ${plan} keeps logs for ${logRetentionDays[plan]} days: days before ${formatDay(kept)} are missing or incomplete`;
}

function parseDate(option: string, text: string, today: number): number {
  const word = text.trim().toLowerCase();
  if (word === "today") return today;
  if (word === "yesterday") return today - 1;
  const daysAgo = /^(?<days>\d{1,5})d$/.exec(word)?.groups?.["days"];
  if (daysAgo !== undefined) return today - Number(daysAgo);
  const day = parseDay(word);
  if (day !== undefined) return day;
  if (/^\d{4}-\d{2}-\d{2}$/.test(word)) throw new CommandError(`${option} ${text}: there is no such day`, dateHint);
  throw new CommandError(`${option} ${JSON.stringify(text)} is not a date`, dateHint);
}

function describeDay(text: string, day: number): string {
  const date = formatDay(day);
  return text === date ? date : `${text} (${date})`;
}
