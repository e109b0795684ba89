// Parses and validates the options of `wafsync logs`, so that every mistake is found before any call.
import { parseLogFilter } from "./log-filter.ts";
import type { LogFilter, LogFilterTexts } from "./log-filter.ts";
import type { LogPlan } from "../../plan/logs/retention.ts";
import { formatDay } from "../../reconcile/logs/log-days.ts";
import { CommandError } from "../describe-error.ts";
import { isAbsoluteTime } from "../since.ts";
import type { LogQuestion } from "./log-checkpoint.ts";
import type { LogFormatName } from "./log-format.ts";
import { formatMoment, isWithin, parseRange } from "./log-range.ts";
import type { LogRange, Moments } from "./log-range.ts";
import type { LogSourceOptions } from "./log-source.ts";
import { parseNetwork } from "./network-option.ts";

export interface LogsOptions extends LogSourceOptions, LogFilterTexts {
  /** Networks; an address stands for its network. */
  readonly network: readonly string[];
  readonly since?: string;
  readonly until?: string;
  readonly output?: LogFormatName;
  readonly out?: string;
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
  readonly range: LogRange;
  /** Whether the times are absolute: then they must match the times of a resumed download. */
  readonly isFixed: { readonly since: boolean; readonly until: boolean };
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
export function readLogRequest(options: LogsOptions, nowMs: number): LogRequest {
  const { country, reason, status, path, follow, resume, out, since, until } = options;
  if (follow && until !== undefined) {
    throw new CommandError("--until cannot be combined with --follow", "Omit --until.");
  }
  if (resume && out === undefined) throw new CommandError("--resume needs a file", "Add --out FILE.");
  const range = parseRange(since ?? (follow ? "today" : "yesterday"), until ?? "today", nowMs);
  // Clients and networks are one kind of filter, as in a report.
  const client = [...options.client, ...options.network.map(parseNetwork)];
  const filters = { country, reason, client, status, path };
  const parsed = parseLogFilter(filters);
  if (!parsed.ok) throw new CommandError(`--${parsed.option}: ${parsed.problem}`);
  const format =
    options.output ?? formatOfFile(out) ?? (out === undefined && process.stdout.isTTY ? "table" : "ndjson");
  if (follow && format === "json") {
    throw new CommandError("-o json cannot be combined with --follow, which never ends", "Use -o ndjson.");
  }
  return {
    range,
    isFixed: { since: isAbsoluteTime(since ?? ""), until: isAbsoluteTime(until ?? "") },
    filter: parsed.filter,
    filters,
    format,
    file: out,
    isResuming: resume,
    isFollowing: follow,
    intervalMs: options.interval * 1000,
    lookbackDays: options.lookback,
    plan: options.plan,
    perPage: options.pageSize,
    timeoutMs: options.timeout * 1000,
  };
}

function formatOfFile(file: string | undefined): LogFormatName | undefined {
  const extension = /\.(?<format>csv|json|ndjson)$/i.exec(file ?? "")?.groups?.["format"];
  return extension?.toLowerCase() as LogFormatName | undefined;
}

/**
 * The request of a resumed download: relative dates such as `7d` keep the meaning that they had when the download started.
 * @throws CommandError if the options differ from those of the unfinished download
 */
export function resumeQuestion(request: LogRequest, baseUrl: string, before: LogQuestion | undefined): LogQuestion {
  const { range, format, isFollowing, isFixed } = request;
  const { firstDay, lastDay } = range.days;
  const filters: LogQuestion["filters"] = { ...request.filters, ...momentTexts(range) };
  const asked = { baseUrl, format, firstDay, lastDay: isFollowing ? null : lastDay, filters };
  if (before === undefined) return asked;
  const keepsSince = !isFixed.since;
  const keepsUntil = !isFixed.until && !isFollowing && before.lastDay !== null;
  const { since: askedSince, until: askedUntil } = momentTexts(range);
  const moments = {
    since: keepsSince ? before.filters["since"] : askedSince,
    until: keepsUntil ? before.filters["until"] : askedUntil,
  };
  const question: LogQuestion = {
    ...asked,
    firstDay: keepsSince ? before.firstDay : asked.firstDay,
    lastDay: keepsUntil ? before.lastDay : asked.lastDay,
    filters: { ...request.filters, ...definedOnly(moments) },
  };
  if (JSON.stringify(question) === JSON.stringify(before)) return question;
  const { since = [formatDay(before.firstDay)], until, ...others } = before.filters;
  const end = before.lastDay === null ? "--follow" : `--until ${until?.[0] ?? formatDay(before.lastDay)}`;
  throw new CommandError(
    `the unfinished download in ${request.file ?? ""} was started with other options`,
    `It was started with --base-url ${before.baseUrl} --since ${since[0] ?? ""} ${end} -o ${before.format}${filterWords(others)}.`,
  );
}

/** The requested rows. Times are treated as filters, because the API supports only whole days. */
export function rowFilter({ filter }: LogRequest, { filters: { since, until } }: LogQuestion): LogFilter {
  const timeMs = (texts: readonly string[] | undefined) =>
    texts?.[0] === undefined ? undefined : Date.parse(texts[0]);
  const moments: Moments = { sinceMs: timeMs(since), untilMs: timeMs(until) };
  return (entry) => isWithin(moments, entry.timestamp) && filter(entry);
}

function momentTexts({ sinceMs, untilMs }: Moments): LogQuestion["filters"] {
  return definedOnly({
    since: sinceMs === undefined ? undefined : [formatMoment(sinceMs)],
    until: untilMs === undefined ? undefined : [formatMoment(untilMs)],
  });
}

function definedOnly(
  filters: Readonly<Record<"since" | "until", readonly string[] | undefined>>,
): LogQuestion["filters"] {
  const { since, until } = filters;
  return { ...(since === undefined ? {} : { since }), ...(until === undefined ? {} : { until }) };
}

function filterWords(filters: LogQuestion["filters"]): string {
  return Object.entries(filters)
    .flatMap(([option, texts]) => texts.map((text) => ` --${option} ${JSON.stringify(text)}`))
    .join("");
}
