// Reads the data of a report: the blocked requests of the period and of the previous period, the domain of the WAF, and its lists.
import type { ListName } from "../../model/declared.ts";
import type { ApiKey } from "../../model/api-key.ts";
import { type LogEntry, logTimeMs } from "../../model/log-entry.ts";
import type { OriginsRead, WafFault, WafResult } from "../../model/waf-result.ts";
import { dayMs } from "../../model/time-text.ts";
import { formatDay } from "../../reconcile/logs/log-days.ts";
import type { LogPort, LogReaderPorts } from "../../reconcile/logs/log-ports.ts";
import type { CallOptions } from "../../reconcile/ports.ts";
import { countLogs, readLogs } from "../../reconcile/logs/read-logs.ts";
import { LogReport } from "./report-statistics.ts";
import type { LogReportSummary } from "./report-statistics.ts";
import { NewestRows } from "./newest-rows.ts";
import type { NewestRow } from "./newest-rows.ts";
import { PreviousPeriod } from "./previous-period.ts";
import type { LogFilter } from "../logs/log-filter.ts";
import { isWithin } from "../logs/log-range.ts";
import type { LogRange } from "../logs/log-range.ts";
import type { LogWatch } from "../logs/log-watch.ts";
import { periodOf } from "./report-period.ts";

/** The maximum number of newest rows in a report about single clients or networks. */
const newestRowsMax = 50;

export interface ReportPorts extends LogReaderPorts {
  readonly waf: LogPort & {
    readOrigins(options?: CallOptions): Promise<WafResult<OriginsRead>>;
    readList(list: ListName, options?: CallOptions): Promise<WafResult<readonly string[]>>;
  };
}

export interface ReportQuestion {
  readonly range: LogRange;
  /** Undefined if there is nothing to compare with. */
  readonly before: LogRange | undefined;
  readonly filter: LogFilter;
  /** Whether the report is about single clients or networks. */
  readonly isFocused: boolean;
  readonly topMax: number;
}

export interface CollectedReport {
  readonly state: "Done";
  readonly summary: LogReportSummary;
  readonly newest: readonly NewestRow[];
  /** Undefined if the previous period was not requested or could not be read. */
  readonly before: PreviousPeriod | undefined;
  readonly previousFault: WafFault | undefined;
  readonly domain: string | undefined;
  readonly primaryOrigin: string | undefined;
  readonly blocklist: WafResult<readonly string[]>;
  readonly allowlist: WafResult<readonly string[]>;
}

export type ReportEnd =
  | CollectedReport
  | { readonly state: "Stopped" }
  | { readonly state: "Failed"; readonly fault: WafFault };

type ReadEnd = "Done" | "Stopped" | WafFault;

/** Removes the key from every string that the report may show. */
export async function collectReport(
  ports: ReportPorts,
  key: ApiKey,
  question: ReportQuestion,
  watch: LogWatch,
): Promise<ReportEnd> {
  const { stopping, waf } = ports;
  const { range, filter, isFocused, topMax } = question;
  const counted = await countRange(ports, range);
  if (!counted.ok) return stopping.aborted ? { state: "Stopped" } : { state: "Failed", fault: counted.fault };
  const countedPrevious = question.before && (await countRange(ports, question.before));
  watch.expect(counted.total + (countedPrevious?.ok === true ? countedPrevious.total : 0));
  const report = new LogReport(periodOf(range, ports.clock.nowMs()));
  const newest = new NewestRows(newestRowsMax);
  const end = await readRange(ports, range, watch, (row, day) => {
    if (!filter(row)) return;
    const entry = withoutKey(row, key);
    const timeMs = logTimeMs(row.timestamp);
    report.add(entry, day * dayMs, timeMs);
    if (isFocused) newest.add(entry, timeMs);
  });
  if (end === "Stopped") return { state: "Stopped" };
  if (end !== "Done") return { state: "Failed", fault: end };
  const summary = report.summary(topMax);
  const before = question.before && new PreviousPeriod(summary);
  const endPrevious =
    before === undefined || question.before === undefined
      ? "Done"
      : await readRange(ports, question.before, watch, (row) => {
          if (filter(row)) before.add(withoutKey(row, key));
        });
  const blocklist = await waf.readList("blocklist", { signal: stopping });
  const allowlist = await waf.readList("allowlist", { signal: stopping });
  const origins = await waf.readOrigins({ signal: stopping });
  if (stopping.aborted || endPrevious === "Stopped") return { state: "Stopped" };
  return {
    state: "Done",
    summary,
    newest: newest.ranked(),
    before: endPrevious === "Done" ? before : undefined,
    previousFault: endPrevious === "Done" ? undefined : endPrevious,
    domain: origins.ok ? origins.value.domain : undefined,
    primaryOrigin: origins.ok ? origins.value.primary : undefined,
    blocklist,
    allowlist,
  };
}

async function countRange(ports: LogReaderPorts, { days }: LogRange) {
  return await countLogs(ports, { startDate: formatDay(days.firstDay), endDate: formatDay(days.lastDay) });
}

async function readRange(
  ports: LogReaderPorts,
  range: LogRange,
  watch: LogWatch,
  take: (row: LogEntry, day: number) => void,
): Promise<ReadEnd> {
  for await (const piece of readLogs(ports, { days: range.days })) {
    switch (piece.kind) {
      case "Rows":
        for (const entry of piece.entries) {
          if (isWithin(range, entry.timestamp)) take(entry, piece.day);
        }
        watch.rowsRead(piece.entries.length, piece.day);
        break;
      case "DayDone":
        if (piece.summary !== undefined) watch.dayDone(piece.day, piece.summary);
        break;
      case "Failed":
        return piece.fault;
      case "Stopped":
        return "Stopped";
    }
  }
  return "Done";
}

/** Must run before strings are truncated, because a part of a key would not be recognized. */
function withoutKey(entry: LogEntry, key: ApiKey): LogEntry {
  return {
    ...entry,
    client_ip: key.redact(entry.client_ip),
    http_method: key.redact(entry.http_method),
    request_path: key.redact(entry.request_path),
    user_agent: entry.user_agent === null ? null : key.redact(entry.user_agent),
    block_reason: key.redact(entry.block_reason),
    country: entry.country === null ? null : key.redact(entry.country),
  };
}
