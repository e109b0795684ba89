// What the status says when the logs of an instance exceed a limit of the operator.
import { formatTime } from "../../api/conditions.ts";
import type { HourEnd, LogLimits } from "../../plan/logs/hour-usage.ts";
import type { LogsFinding } from "./forward-status.ts";
import { dayMs, formatDay } from "./log-days.ts";
import { inThousands } from "../../model/sentence.ts";

/** The instance rests until then; what it has not forwarded stays at the API. */
export interface Resting {
  readonly kind: "Resting";
  readonly finding: LogsFinding;
  readonly untilMs: number;
}

const raise = "If the WAF really blocks so many requests, ask the administrator to raise --max-log-rows.";

/** The hour of the instance has nothing left. */
export function restOfHour({ used, untilMs }: HourEnd, limits: LogLimits): Resting {
  const { rowsPerHourMax, pagesPerHourMax } = limits;
  const [limit, advice] =
    used === "Rows"
      ? [`${inThousands(rowsPerHourMax)} log rows were forwarded`, raise]
      : [
          `${inThousands(pagesPerHourMax)} pages of logs were read`,
          "Raise spec.logs.interval or lower spec.logs.lookback. If that does not help, the logs of the WAF never end: ask its provider.",
        ];
  const message = `Forwarding continues at ${formatTime(untilMs)}: ${limit} within an hour, which is the limit of one instance. Other blocked requests stay at the API until then. ${advice}`;
  return { kind: "Resting", finding: tooLarge(message), untilMs };
}

/** The day has more rows than are remembered, so it was closed: its other rows are not forwarded. @param nowMs Decides whether the next day has already begun. */
export function restOfDay(day: number, { rowsKeptMax }: LogLimits, nowMs: number): Resting {
  const untilMs = Math.max(nowMs, (day + 1) * dayMs);
  const message = `${dayProblem(day, rowsKeptMax)} Forwarding continues with ${formatDay(day + 1)}. ${raise}`;
  return { kind: "Resting", finding: tooLarge(message), untilMs };
}

/** What was not forwarded of a day that was closed, for the event. */
export function dayProblem(day: number, rowsKeptMax: number): string {
  return `The logs of ${formatDay(day)} are too long: wafsync keeps track of at most ${inThousands(rowsKeptMax)} rows of one instance. The other rows of this day are not forwarded: \`wafsync logs\` reads them.`;
}

function tooLarge(message: string): LogsFinding {
  return { status: "False", reason: "TooLarge", message };
}
