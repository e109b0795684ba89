// Parses and validates the options of `wafsync logs`, so that every mistake is found before any call.
import { parseLogFilter } from "./log-filter.ts";
import type { LogFilter, LogFilterTexts } from "./log-filter.ts";
import type { DayRange } from "../../plan/logs/cursor.ts";
import type { LogPlan } from "../../plan/logs/retention.ts";
import { formatDay } from "../../reconcile/logs/log-days.ts";
import { CommandError } from "../describe-error.ts";
import type { LogQuestion } from "./log-checkpoint.ts";
import type { LogFormatName } from "./log-format.ts";
import { isAbsoluteDate, parseRange } from "./log-range.ts";
import type { LogSourceOptions } from "./log-source.ts";

export interface LogsOptions extends LogSourceOptions, LogFilterTexts {
  readonly from?: string;
  readonly to?: string;
  readonly format?: LogFormatName;
  readonly output?: string;
  readonly resume: boolean;
  readonly follow: boolean;
  /** In seconds. */
  readonly interval: number;
  /** In days. */
  readonly lookback: number;
  readonly plan?: LogPlan;
  readonly pageSize: number;
  /** In seconds. */
  readonly timeout: number;
}

export interface LogRequest {
  readonly days: DayRange;
  /** Whether the days were given by date, so that they must equal those of a resumed download. */
  readonly fixedDays: { readonly first: boolean; readonly last: boolean };
  readonly filter: LogFilter;
  readonly filters: LogFilterTexts;
  readonly format: LogFormatName;
  readonly file: string | undefined;
  readonly isResuming: boolean;
  readonly isFollowing: boolean;
  readonly intervalMs: number;
  readonly lookbackDays: number;
  readonly plan: LogPlan | undefined;
  readonly perPage: number;
  readonly timeoutMs: number;
}

/** @throws CommandError that says what to write instead */
export function readLogRequest(options: LogsOptions, today: number): LogRequest {
  const { country, reason, client, status, path, follow, resume, output, from, to } = options;
  if (follow && to !== undefined) throw new CommandError("--to cannot be combined with --follow", "Omit --to.");
  if (resume && output === undefined) throw new CommandError("--resume needs a file", "Add --output FILE.");
  const days = parseRange(from ?? (follow ? "today" : "yesterday"), to ?? "today", today);
  const filters = { country, reason, client, status, path };
  const parsed = parseLogFilter(filters);
  if (!parsed.ok) throw new CommandError(`--${parsed.option}: ${parsed.problem}`);
  const format = options.format ?? (output === undefined && process.stdout.isTTY ? "table" : "ndjson");
  if (follow && format === "json") {
    throw new CommandError("-o json cannot be combined with --follow, which never ends", "Use -o ndjson.");
  }
  return {
    days,
    fixedDays: { first: isAbsoluteDate(from ?? ""), last: isAbsoluteDate(to ?? "") },
    filter: parsed.filter,
    filters,
    format,
    file: output,
    isResuming: resume,
    isFollowing: follow,
    intervalMs: options.interval * 1000,
    lookbackDays: options.lookback,
    plan: options.plan,
    perPage: options.pageSize,
    timeoutMs: options.timeout * 1000,
  };
}

/**
 * The request of a resumed download: dates such as `7d` keep the meaning of its start.
 * @throws CommandError if it is another request
 */
export function resumeQuestion(request: LogRequest, baseUrl: string, before: LogQuestion | undefined): LogQuestion {
  const { days, format, isFollowing, fixedDays } = request;
  const filters: LogQuestion["filters"] = { ...request.filters };
  const asked = { baseUrl, format, firstDay: days.firstDay, lastDay: isFollowing ? null : days.lastDay, filters };
  if (before === undefined) return asked;
  const firstDay = fixedDays.first ? asked.firstDay : before.firstDay;
  const lastDay = fixedDays.last || isFollowing || before.lastDay === null ? asked.lastDay : before.lastDay;
  const question: LogQuestion = { ...asked, firstDay, lastDay };
  if (JSON.stringify(question) === JSON.stringify(before)) return question;
  const until = before.lastDay === null ? "--follow" : `--to ${formatDay(before.lastDay)}`;
  throw new CommandError(
    `the unfinished download in ${request.file ?? ""} had other options`,
    `It was --base-url ${before.baseUrl} --from ${formatDay(before.firstDay)} ${until} -o ${before.format}${filterWords(before.filters)}.`,
  );
}

function filterWords(filters: LogQuestion["filters"]): string {
  return Object.entries(filters)
    .flatMap(([option, texts]) => texts.map((text) => ` --${option} ${JSON.stringify(text)}`))
    .join("");
}
