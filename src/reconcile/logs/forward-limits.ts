// The messages for the status when the logs of an instance exceed a limit of the operator.
import { formatTime } from "../../api/conditions.ts";
import type { HourEnd, LogLimits } from "../../plan/logs/hour-usage.ts";
import type { LogsFinding } from "./forward-status.ts";
import { formatDay } from "./log-days.ts";
import { inThousands } from "../../model/sentence.ts";
import { dayMs } from "../../model/time-text.ts";

/** The instance forwards nothing until `untilMs`. The API keeps the rows that were not forwarded. */
export interface Resting {
  readonly kind: "Resting";
  readonly finding: LogsFinding;
  readonly untilMs: number;
}

const raise = "If the WAF really blocks this many requests, ask the administrator to raise --max-log-rows.";

/** The instance has reached a limit of its hour. */
export function restOfHour({ used, untilMs }: HourEnd, limits: LogLimits): Resting {
  const { rowsPerHourMax, pagesPerHourMax } = limits;
  const [limit, advice] =
    used === "Rows"
      ? [`${inThousands(rowsPerHourMax)} log rows were forwarded`, raise]
      : [
          `${inThousands(pagesPerHourMax)} pages of logs were read`,
          "Raise spec.logs.interval or lower spec.logs.lookback. If this does not help, the WAF returns logs without end: ask its provider.",
        ];
  const message = `Forwarding continues at ${formatTime(untilMs)}: ${limit} within an hour, which is the limit of one instance. The API keeps the other blocked requests until then. ${advice}`;
  return { kind: "Resting", finding: tooLarge(message), untilMs };
}

/** The day has more rows than are remembered, so it was closed, and its other rows are not forwarded. @param nowMs decides whether the next day has begun */
export function restOfDay(day: number, { rowsKeptMax }: LogLimits, nowMs: number): Resting {
  const untilMs = Math.max(nowMs, (day + 1) * dayMs);
  const message = `${dayProblem(day, rowsKeptMax)} Forwarding continues with ${formatDay(day + 1)}. ${raise}`;
  return { kind: "Resting", finding: tooLarge(message), untilMs };
}

/** The message for the event about a closed day. */
export function dayProblem(day: number, rowsKeptMax: number): string {
  return `The logs of ${formatDay(day)} are too long: wafsync keeps track of at most ${inThousands(rowsKeptMax)} rows of one instance. The other rows of this day are not forwarded. Use \`wafsync logs\` to read them.`;
}

function tooLarge(message: string): LogsFinding {
  return { status: "False", reason: "TooLarge", message };
}
