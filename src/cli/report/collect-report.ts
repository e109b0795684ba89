// Reads the data of a report: the blocked requests of the period, the domain of the WAF, and its lists.
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
import type { LogReportSummary, Period } from "./report-statistics.ts";
import { isWithin } from "../logs/log-range.ts";
import type { LogRange } from "../logs/log-range.ts";
import type { LogWatch } from "../logs/log-watch.ts";

export interface ReportPorts extends LogReaderPorts {
  readonly waf: LogPort & {
    readOrigins(options?: CallOptions): Promise<WafResult<OriginsRead>>;
    readList(list: ListName, options?: CallOptions): Promise<WafResult<readonly string[]>>;
  };
}

export interface ReportQuestion {
  readonly range: LogRange;
  readonly topMax: number;
}

export interface CollectedReport {
  readonly state: "Done";
  readonly summary: LogReportSummary;
  readonly domain: string | undefined;
  readonly primaryOrigin: string | undefined;
  readonly blocklist: WafResult<readonly string[]>;
  readonly allowlist: WafResult<readonly string[]>;
}

export type ReportEnd =
  | CollectedReport
  | { readonly state: "Stopped" }
  | { readonly state: "Failed"; readonly fault: WafFault };

/** Removes the key from every string that the report may show. */
export async function collectReport(
  ports: ReportPorts,
  key: ApiKey,
  question: ReportQuestion,
  watch: LogWatch,
): Promise<ReportEnd> {
  const { stopping, waf } = ports;
  const { range, topMax } = question;
  const { firstDay, lastDay } = range.days;
  const counted = await countLogs(ports, { startDate: formatDay(firstDay), endDate: formatDay(lastDay) });
  if (!counted.ok) return stopping.aborted ? { state: "Stopped" } : { state: "Failed", fault: counted.fault };
  watch.expect(counted.total);
  const report = new LogReport(periodOf(range, ports.clock.nowMs()));
  for await (const piece of readLogs(ports, { days: range.days })) {
    switch (piece.kind) {
      case "Rows":
        for (const row of piece.entries) {
          if (!isWithin(range, row.timestamp)) continue;
          report.add(withoutKey(row, key), piece.day * dayMs, logTimeMs(row.timestamp));
        }
        watch.rowsRead(piece.entries.length, piece.day);
        break;
      case "DayDone":
        if (piece.summary !== undefined) watch.dayDone(piece.day, piece.summary);
        break;
      case "Failed":
        return { state: "Failed", fault: piece.fault };
      case "Stopped":
        return { state: "Stopped" };
    }
  }
  const blocklist = await waf.readList("blocklist", { signal: stopping });
  const allowlist = await waf.readList("allowlist", { signal: stopping });
  const origins = await waf.readOrigins({ signal: stopping });
  if (stopping.aborted) return { state: "Stopped" };
  return {
    state: "Done",
    summary: report.summary(topMax),
    domain: origins.ok ? origins.value.domain : undefined,
    primaryOrigin: origins.ok ? origins.value.primary : undefined,
    blocklist,
    allowlist,
  };
}

/** A period that starts at a time ends now at the latest, because its bars are short. Otherwise, days are included as a whole. */
export function periodOf({ days, sinceMs, untilMs }: LogRange, nowMs: number): Period {
  const endMs = untilMs ?? (days.lastDay + 1) * dayMs;
  if (sinceMs === undefined) return { startMs: days.firstDay * dayMs, endMs };
  return { startMs: sinceMs, endMs: nowMs > sinceMs ? Math.min(endMs, nowMs) : endMs };
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
