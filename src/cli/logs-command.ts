// `wafsync logs`: prints the requests that the WAF blocked, or writes them to a file. Every mistake in the options is found before any
// call.
import { extname } from "node:path";
import { realClock } from "../async/clock.ts";
import { inThousands, formatDay } from "../model/texts.ts";
import { countLogs } from "../logs/read-logs.ts";
import { type RowTest, countryTest, pathTest, reasonTest, rowTestOf, statusTest } from "../logs/row-tests.ts";
import type { LogsOptions } from "./commands/waf-commands.ts";
import { CommandError } from "./describe-error.ts";
import { collectRange, followLogs, type CollectionEnd, type LogCollection } from "./logs/collect-logs.ts";
import { type LogFormatName, logFormatNames, logFormats } from "./logs/log-format.ts";
import { createStreamOutput, type LogOutput, openLogFile } from "./logs/log-output.ts";
import { describeRange, isWithin, parseRange, type LogRange } from "./logs/log-range.ts";
import { type LogWatch, type OpenedLogs, logFaultError, withLogs } from "./logs/log-watch.ts";
import type { DeclaredInstance } from "../model/declared.ts";
import { quoted } from "./targets/open-target.ts";
import { terminalOn } from "./terminal.ts";
import { readSpelling } from "../address/entry.ts";
import type { Network } from "../address/network.ts";
import { contains } from "../address/ranges.ts";

/** @returns 0 if all rows were read, 1 if some were malformed or missing, 130 if stopped by a signal; 0 with --follow. */
export async function runLogs(options: LogsOptions): Promise<number> {
  const nowMs = realClock.nowMs();
  const request = readLogRequest(options, nowMs);
  const showsRows = options.follow || (options.out === undefined && process.stdout.isTTY);
  const how = { command: "wafsync logs", range: request.range, nowMs, showsProgress: !showsRows };
  return await withLogs(options, how, async (opened) => {
    const end = await copyRows(options, request, opened);
    return report(end, opened.sight?.gathered.instance, options, request, opened.watch);
  });
}

async function copyRows(
  options: LogsOptions,
  request: LogRequest,
  { ports, baseUrl, watch }: OpenedLogs,
): Promise<CollectionEnd> {
  const { out: file, follow, resume: isResuming } = options;
  const question = `--base-url ${quoted(baseUrl)} ${request.question}`;
  const opened =
    file === undefined ? undefined : await openLogFile(file, { question, range: request.range, isResuming });
  const output: LogOutput = opened ?? createStreamOutput(process.stdout);
  const range = opened?.from.range ?? request.range;
  const firstDay = opened?.from.nextDay ?? range.days.firstDay;
  const isTerminal = file === undefined && process.stdout.isTTY;
  const collection: LogCollection = {
    ports,
    perPage: options.pageSize,
    filter: (entry) => isWithin(range, entry.timestamp) && request.filter(entry),
    format: logFormats[request.format](isTerminal ? () => terminalOn(process.stdout).columns : undefined),
    output,
    watcher: watch,
  };
  try {
    if (follow) {
      const { lookback: lookbackDays, interval } = options;
      return await followLogs(collection, { firstDay, lookbackDays, intervalMs: interval * 1000, clock: realClock });
    }
    if (firstDay <= range.days.lastDay) {
      const dates = { startDate: formatDay(firstDay), endDate: formatDay(range.days.lastDay) };
      const counted = await countLogs(ports, dates);
      if (!counted.ok) return { state: ports.stopping.aborted ? "Stopped" : "Failed", rows: 0, fault: counted.fault };
      watch.expect(counted.total);
    }
    return await collectRange(collection, range.days);
  } finally {
    await output.close();
  }
}

function report(
  end: CollectionEnd,
  declared: DeclaredInstance | undefined,
  { out: file, follow }: LogsOptions,
  { range }: LogRequest,
  watch: LogWatch,
): number {
  const hint = file === undefined || follow ? "" : " Add --resume to continue.";
  switch (end.state) {
    case "Failed":
      throw logFaultError(end.fault, declared);
    case "Enough":
      return 0;
    case "Stopped":
      watch.line(`Stopped after ${inThousands(end.rows)} rows.${hint}`);
      return follow ? 0 : 130;
    case "Done": {
      if (file !== undefined) {
        watch.line(`${inThousands(end.rows)} rows of ${describeRange(range)} are in ${file}.`);
      }
      return watch.isWhole ? 0 : 1;
    }
  }
}

export interface LogRequest {
  readonly range: LogRange;
  readonly filter: RowTest;
  readonly format: LogFormatName;
  /** The options that select the rows and their format, as words: a download can be resumed only with the same ones. */
  readonly question: string;
}

/** @throws CommandError that says what to write instead */
export function readLogRequest(options: LogsOptions, nowMs: number): LogRequest {
  const { country = [], reason = [], client = [], status = [], path = [], follow, resume, out, since, until } = options;
  if (follow && until !== undefined) {
    throw new CommandError("--until cannot be combined with --follow", "Omit --until.");
  }
  if (follow && resume) {
    throw new CommandError("--resume cannot be combined with --follow", "Follow into another file.");
  }
  if (resume && out === undefined) throw new CommandError("--resume needs a file", "Add --out FILE.");
  const range = parseRange(since ?? (follow ? "today" : "yesterday"), until ?? "today", nowMs);
  const filters = { country, reason, client, status, path };
  const filter = parseLogFilter(filters);
  const format =
    options.output ?? formatOfFile(out) ?? (out === undefined && process.stdout.isTTY ? "table" : "ndjson");
  if (follow && format === "json") {
    throw new CommandError("-o json cannot be combined with --follow, which never ends", "Use -o ndjson.");
  }
  const asked = Object.entries({ since, until, output: format, ...filters });
  const words = asked.flatMap(([name, value = []]) => [value].flat().map((text) => `--${name} ${quoted(text)}`));
  return { range, filter, format, question: words.join(" ") };
}

function formatOfFile(file: string | undefined): LogFormatName | undefined {
  const extension = extname((file ?? "").toLowerCase()).slice(1);
  return logFormatNames.find((name) => name === extension);
}

// Filters log rows after they arrive, because the API has no filters.

/** A row must match at least one value of each list; an empty list matches every row. */
export interface LogFilterTexts {
  /** Two letters, in any case. */
  readonly country: readonly string[];
  /** Part of the block reason, in any case: `sql` or `942100`. */
  readonly reason: readonly string[];
  /** An address or a network. */
  readonly client: readonly string[];
  /** `403` or `4xx`. */
  readonly status: readonly string[];
  /** Part of the path; with `*`, the whole path. */
  readonly path: readonly string[];
}

const parsers = { country: countryTest, reason: reasonTest, client: clientTest, status: statusTest, path: pathTest };

/** @throws CommandError that names the option and says what to write instead */
export function parseLogFilter(texts: LogFilterTexts): RowTest {
  return rowTestOf(parsers, texts, (option, problem) => {
    throw new CommandError(`--${option}: ${problem}`);
  });
}

function clientTest(text: string): RowTest | string {
  const wanted = readSpelling(text);
  if (wanted === undefined) return "write an IP address or a network, for example 192.0.2.1 or 192.0.2.0/24";
  return rowsOfClients(wanted);
}

/** The rows of clients in this network. */
function rowsOfClients(wanted: Network): RowTest {
  return (entry) => {
    const client = readSpelling(entry.client_ip);
    return client !== undefined && contains(wanted, client);
  };
}
