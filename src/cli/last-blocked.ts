// Finds the last request of an address that the WAF blocked, in the newest days of the logs. A busy WAF logs a million rows a
// day, so only a few pages are read.
import { dayOf, formatDay } from "../model/time-text.ts";
import { realClock } from "../async/clock.ts";
import { type Entry, networkOf } from "../address/entry.ts";
import { type LogEntry, logTimeMs } from "../model/log-entry.ts";
import { type LogPort, readLogs } from "../logs/read-logs.ts";
import { rowsOfClients } from "./logs/log-filter.ts";
import { inThousands } from "../model/sentence.ts";

const daysMax = 2;
/** The maximum number of rows to read of each day. */
const rowsMax = 20_000;

/** `gap` says which rows were not read. */
export interface LastBlocked {
  readonly entry: LogEntry | undefined;
  /** The first day that was searched. */
  readonly since: string;
  readonly gap: string | undefined;
}

export async function readLastBlocked(waf: LogPort, address: Entry, nowMs: number): Promise<LastBlocked> {
  const today = dayOf(nowMs);
  const gaps: string[] = [];
  for (let day = today; day > today - daysMax; day -= 1) {
    const { newest, gap } = await newestOfDay(waf, day, rowsOfClients(networkOf(address)));
    if (gap !== undefined) gaps.push(gap);
    if (newest !== undefined) return { entry: newest, since: formatDay(day), gap: gaps[0] };
  }
  return { entry: undefined, since: formatDay(today - daysMax + 1), gap: gaps[0] };
}

async function newestOfDay(waf: LogPort, day: number, fits: (entry: LogEntry) => boolean) {
  const ports = { waf, clock: realClock, random: Math.random, stopping: new AbortController().signal };
  let newest: LogEntry | undefined;
  let rows = 0;
  for await (const piece of readLogs(ports, { days: { firstDay: day, lastDay: day } })) {
    if (piece.kind === "Failed") {
      return { newest, gap: `The logs of ${formatDay(day)} could not be read. ${piece.fault.message}` };
    }
    if (piece.kind !== "Rows") continue;
    for (const entry of piece.entries) {
      if (fits(entry) && (newest === undefined || logTimeMs(entry.timestamp) > logTimeMs(newest.timestamp))) {
        newest = entry;
      }
    }
    rows += piece.entries.length;
    if (rows < rowsMax) continue;
    const gap = `The logs of ${formatDay(day)} are longer than the ${inThousands(rowsMax)} rows that this command reads: see \`wafsync logs\`.`;
    return { newest, gap };
  }
  return { newest, gap: undefined };
}
