// A log port with scripted responses: for each day, one list of pages per reading of the day.
import { parseDay } from "../../../src/model/texts.ts";
import type { LogEntry, LogPage } from "../../../src/model/log-entry.ts";
import type { WafFault, WafFaultCode, WafResult, LogPort } from "../../../src/model/waf-result.ts";
import type { LogPiece } from "../../../src/logs/read-logs.ts";
import { anEntry } from "../builders/log-entry.ts";

/** One row, identified by its path. */
export function row(path: string, more: Partial<LogEntry> = {}): LogEntry {
  return anEntry({ timestamp: "2026-06-10T10:00:00.000Z", request_path: path, block_reason: "Bad Bot 1002", ...more });
}

/** A page with these rows. */
export function pageOf(
  entries: readonly LogEntry[],
  total: number,
  scrollId: string | null,
  textLength = 1000,
): LogPage {
  return { scrollId, total, length: entries.length, textLength, rows: () => ({ entries, broken: [] }) };
}

/** `a b b` is a page of three rows; a fault code makes the request fail; a function is called. */
export type Answer = string | { readonly fault: WafFaultCode; readonly retryAfterMs?: number } | LogPage;

export interface ScriptedLogs {
  readonly waf: LogPort;
  /** `query 2026-06-10/10000` and `scroll …`, in their order. */
  readonly calls: readonly string[];
  /** The maximum number of simultaneous requests. */
  readonly most: number;
}

/**
 * The pages of each reading of each date. A scroll ID is valid for the reading that returned it; the last page has none. Readings
 * after the last one in the script repeat it. By default, `total` is the number of rows in the reading.
 */
export function scriptedLogs(
  script: Readonly<Record<string, readonly (readonly Answer[])[]>>,
  totals: Readonly<Record<string, number>> = {},
): ScriptedLogs {
  const calls: string[] = [];
  const readings = new Map<string, number>();
  let running = 0;
  let most = 0;
  const answer = async (date: string, reading: number, page: number): Promise<WafResult<LogPage>> => {
    running += 1;
    most = Math.max(most, running);
    await new Promise((resolve) => setImmediate(resolve));
    running -= 1;
    const all = script[date] ?? [[""]];
    const pages = all[Math.min(reading, all.length - 1)] ?? [""];
    const told = pages[page] ?? "";
    if (typeof told === "object" && "fault" in told) return { ok: false, fault: faultOf(told) };
    if (typeof told === "object") return { ok: true, value: told };
    const scrollId = page + 1 < pages.length ? `${date} ${reading} ${page + 1}` : null;
    const total = totals[date] ?? pages.flatMap((one) => (typeof one === "string" ? paths(one) : [])).length;
    const entries = paths(told).map((path) => row(path, { timestamp: `${date}T10:00:00.000Z` }));
    return { ok: true, value: pageOf(entries, total, scrollId) };
  };
  return {
    calls,
    get most() {
      return most;
    },
    waf: {
      async queryLogs({ startDate, endDate, perPage }) {
        calls.push(`query ${startDate}${endDate === startDate ? "" : `..${endDate}`}/${perPage}`);
        const reading = readings.get(startDate) ?? 0;
        if (perPage > 1) readings.set(startDate, reading + 1);
        return await answer(startDate, perPage > 1 ? reading : Math.max(0, reading), 0);
      },
      async scrollLogs(scrollId) {
        calls.push(`scroll ${scrollId}`);
        const [date = "", reading, page] = scrollId.split(" ");
        return await answer(date, Number(reading), Number(page));
      },
    },
  };
}

function paths(text: string): string[] {
  return text.split(" ").filter((path) => path !== "");
}

function faultOf({ fault: code, retryAfterMs }: { fault: WafFaultCode; retryAfterMs?: number }): WafFault {
  return { code, message: `It failed: ${code}.`, ...(retryAfterMs !== undefined && { retryAfterMs }) };
}

/** All items of a stream as strings: `a b`, `done 3/3`, `failed BadApiKey`, `stopped`. */
export async function told(pieces: AsyncIterable<LogPiece>): Promise<string[]> {
  const words: string[] = [];
  for await (const piece of pieces) {
    if (piece.kind === "Page") {
      if (piece.newEntries.length > 0) words.push(piece.newEntries.map(({ request_path }) => request_path).join(" "));
    } else if (piece.kind === "DayDone") {
      words.push(piece.summary === undefined ? "unchanged" : `done ${piece.summary.came}/${piece.summary.total}`);
    } else words.push(piece.kind === "Failed" ? `failed ${piece.fault.code}` : "stopped");
  }
  return words;
}

export function day(date: string): number {
  return parseDay(date) ?? 0;
}
