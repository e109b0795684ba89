// Reads the data of a report: the blocked requests of the period, the domain of the WAF, and its lists, once.
import type { ListName } from "../../model/declared.ts";
import type { ApiKey } from "../../model/api-key.ts";
import type { LogEntry } from "../../model/log-entry.ts";
import type { OriginsRead, WafFault, WafResult } from "../../model/waf-result.ts";
import { LogReport } from "./report-statistics.ts";
import { formatDay } from "../../reconcile/logs/log-days.ts";
import type { LogPort, LogReaderPorts } from "../../reconcile/logs/log-ports.ts";
import type { CallOptions } from "../../reconcile/ports.ts";
import { countLogs, readLogs } from "../../reconcile/logs/read-logs.ts";
import { isWithin } from "../logs/log-range.ts";
import type { LogRange } from "../logs/log-range.ts";
import type { LogWatch } from "../logs/log-watch.ts";

export interface ReportPorts extends LogReaderPorts {
  readonly waf: LogPort & {
    readOrigins(options?: CallOptions): Promise<WafResult<OriginsRead>>;
    readList(list: ListName, options?: CallOptions): Promise<WafResult<readonly string[]>>;
  };
}

export type ReportEnd =
  | {
      readonly state: "Done";
      readonly report: LogReport;
      readonly domain: string | undefined;
      readonly blocklist: WafResult<readonly string[]>;
      readonly allowlist: WafResult<readonly string[]>;
    }
  | { readonly state: "Stopped" }
  | { readonly state: "Failed"; readonly fault: WafFault };

/** The key is taken out of every text that a report may show. */
export async function collectReport(
  ports: ReportPorts,
  key: ApiKey,
  range: LogRange,
  watch: LogWatch,
): Promise<ReportEnd> {
  const { stopping, waf } = ports;
  const { days } = range;
  const dates = { startDate: formatDay(days.firstDay), endDate: formatDay(days.lastDay) };
  const counted = await countLogs(ports, dates);
  if (!counted.ok) return stopping.aborted ? { state: "Stopped" } : { state: "Failed", fault: counted.fault };
  watch.expect(counted.total);
  const report = new LogReport(days);
  for await (const piece of readLogs(ports, { days })) {
    switch (piece.kind) {
      case "Rows":
        for (const entry of piece.entries) {
          if (!isWithin(range, entry.timestamp)) continue;
          report.add(withoutKey(entry, key), piece.day, Date.parse(entry.timestamp));
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
  return { state: "Done", report, domain: origins.ok ? origins.value.domain : undefined, blocklist, allowlist };
}

/** Before anything is cut: a part of a key would not be found. */
function withoutKey(entry: LogEntry, key: ApiKey): LogEntry {
  return {
    ...entry,
    client_ip: key.redact(entry.client_ip),
    request_path: key.redact(entry.request_path),
    block_reason: key.redact(entry.block_reason),
    country: entry.country === null ? null : key.redact(entry.country),
  };
}
