// The days that somebody asks for, checked by the API's rules before anything is called.
import type { DayRange } from "../../plan/logs/cursor.ts";
import { firstKeptDay, logRetentionDays } from "../../plan/logs/retention.ts";
import type { LogPlan } from "../../plan/logs/retention.ts";
import { formatDay, parseDay } from "../../reconcile/logs/log-days.ts";
import { CommandError } from "../describe-error.ts";

/** One query of the API spans no more, both ends counted. */
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
      `from ${formatDay(firstDay)} to ${formatDay(lastDay)} it is ${days} days, and the WAF answers for at most ${rangeDaysMax}`,
      `Write --from ${formatDay(lastDay - rangeDaysMax + 1)}, and ask for the days before it in a second call.`,
    );
  }
  return { firstDay, lastDay };
}

/** Whether the text names one day for ever: `7d` is another one tomorrow. */
export function isAbsoluteDate(text: string): boolean {
  return parseDay(text) !== undefined;
}

/** A warning if the plan keeps less than what is asked for. */
export function retentionWarning(plan: LogPlan, { firstDay }: DayRange, today: number): string | undefined {
  const kept = firstKeptDay(plan, today);
  if (firstDay >= kept) return undefined;
  return `the plan ${plan} keeps logs for ${logRetentionDays[plan]} days: of the days before ${formatDay(kept)} there will be nothing, or only a part`;
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
