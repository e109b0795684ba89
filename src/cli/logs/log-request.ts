// Parses and validates the options of `wafsync logs`, so that every mistake is found before any call.
import { parseLogFilter, parseNetwork } from "./log-filter.ts";
import type { LogFilter, LogFilterTexts } from "./log-filter.ts";
import type { LogPlan } from "../../plan/logs/log-days.ts";
import { CommandError } from "../describe-error.ts";
import type { LogQuestion } from "./log-checkpoint.ts";
import type { LogFormatName } from "./log-format.ts";
import { parseRange } from "./log-range.ts";
import type { LogRange } from "./log-range.ts";
import type { WafOptions } from "../targets/open-target.ts";

export interface LogsOptions extends WafOptions, LogFilterTexts {
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
  readonly filter: LogFilter;
  readonly format: LogFormatName;
  /** For --resume. */
  readonly question: Omit<LogQuestion, "baseUrl">;
}

/** @throws CommandError that says what to write instead */
export function readLogRequest(options: LogsOptions, nowMs: number): LogRequest {
  const { country, reason, status, path, follow, resume, out, since, until } = options;
  if (follow && until !== undefined) {
    throw new CommandError("--until cannot be combined with --follow", "Omit --until.");
  }
  if (follow && resume) {
    throw new CommandError("--resume cannot be combined with --follow", "Follow into another file.");
  }
  if (resume && out === undefined) throw new CommandError("--resume needs a file", "Add --out FILE.");
  const range = parseRange(since ?? (follow ? "today" : "yesterday"), until ?? "today", nowMs);
  // Clients and networks are one kind of filter.
  const client = [...options.client, ...options.network.map(parseNetwork)];
  const filters = { country, reason, client, status, path };
  const parsed = parseLogFilter(filters);
  if (!parsed.ok) throw new CommandError(`--${parsed.option}: ${parsed.problem}`);
  const format =
    options.output ?? formatOfFile(out) ?? (out === undefined && process.stdout.isTTY ? "table" : "ndjson");
  if (follow && format === "json") {
    throw new CommandError("-o json cannot be combined with --follow, which never ends", "Use -o ndjson.");
  }
  const times = { ...(since !== undefined && { since }), ...(until !== undefined && { until }) };
  return { range, filter: parsed.filter, format, question: { format, ...times, filters } };
}

function formatOfFile(file: string | undefined): LogFormatName | undefined {
  const extension = /\.(?<format>csv|json|ndjson)$/i.exec(file ?? "")?.groups?.["format"];
  return extension?.toLowerCase() as LogFormatName | undefined;
}
