// Reads the newest blocked requests of one WAF for the page. The number of rows and the length of their strings are limited,
// however long the logs are.
import type { ReadingWaf } from "../../app/waf-clients.ts";
import { realClock } from "../../async/clock.ts";
import type { LogEntry } from "../../model/log-entry.ts";
import { inThousands } from "../../model/sentence.ts";
import { dayOf, formatDay } from "../../reconcile/logs/log-days.ts";
import { readLogs } from "../../reconcile/logs/read-logs.ts";
import { keptText } from "../report/report-counter.ts";

const daysMax = 2;
/** The maximum for all days together. */
export const requestRowsMax = 20_000;

export interface BlockedRequests {
  readonly firstDay: number;
  readonly lastDay: number;
  readonly rows: readonly LogEntry[];
  /** Which rows are missing, and why. */
  readonly gaps: readonly string[];
}

/** Reads today and yesterday, in this order. @param redact removes keys from strings that attackers control */
export async function readBlockedRequests(
  waf: ReadingWaf,
  redact: (text: string) => string,
  { nowMs, stopping }: { readonly nowMs: number; readonly stopping: AbortSignal },
): Promise<BlockedRequests> {
  const today = dayOf(nowMs);
  const rows: LogEntry[] = [];
  const gaps: string[] = [];
  const ports = { waf, clock: realClock, random: Math.random, stopping };
  for (let day = today; day > today - daysMax && rows.length < requestRowsMax; day -= 1) {
    const perPage = Math.min(10_000, requestRowsMax);
    for await (const piece of readLogs(ports, { days: { firstDay: day, lastDay: day }, perPage })) {
      if (piece.kind === "Failed") gaps.push(`The logs of ${formatDay(day)} could not be read. ${piece.fault.message}`);
      if (piece.kind !== "Rows") continue;
      for (const entry of piece.entries.slice(0, requestRowsMax - rows.length)) rows.push(keptEntry(entry, redact));
      if (rows.length < requestRowsMax) continue;
      gaps.push(`Only ${inThousands(requestRowsMax)} requests were read: use \`wafsync report\` for all of them.`);
      break;
    }
  }
  return { firstDay: today - daysMax + 1, lastDay: today, rows, gaps };
}

function keptEntry(entry: LogEntry, redact: (text: string) => string): LogEntry {
  const kept = (text: string): string => keptText(redact(text));
  const keptOrNull = (text: string | null): string | null => (text === null ? null : kept(text));
  const { timestamp, http_status, response_size, cache_hit } = entry;
  return {
    timestamp: kept(timestamp),
    client_ip: kept(entry.client_ip),
    http_method: kept(entry.http_method),
    request_path: kept(entry.request_path),
    http_status,
    response_size,
    referrer: null,
    user_agent: keptOrNull(entry.user_agent),
    block_reason: kept(entry.block_reason),
    country: keptOrNull(entry.country),
    cache_hit,
  };
}
