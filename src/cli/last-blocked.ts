// Reads the newest days of the logs, and finds in them the last request of an address that the WAF blocked. A busy WAF logs a million
// rows a day, so only a few pages of each day are read.
import { dayOf, formatDay } from "../model/time-text.ts";
import { realClock } from "../async/clock.ts";
import { type Entry, networkOf } from "../address/entry.ts";
import { type LogEntry, logTimeMs } from "../model/log-entry.ts";
import type { DayRange } from "../logs/cursor.ts";
import type { LogPort, LogReaderPorts } from "../logs/read-logs.ts";
import { eachRows } from "./logs/collect-logs.ts";
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
  const ports = { waf, clock: realClock, random: Math.random, stopping: new AbortController().signal };
  const fits = rowsOfClients(networkOf(address));
  const days = newestDays(nowMs);
  let entry: LogEntry | undefined;
  const onRow = (row: LogEntry): void => {
    if (!fits(row)) return;
    if (entry === undefined || logTimeMs(row.timestamp) > logTimeMs(entry.timestamp)) entry = row;
  };
  const [gap] = await eachNewestRow(ports, days, onRow, () => entry !== undefined);
  return { entry, since: formatDay(days.firstDay), gap };
}

/** Yesterday and today. */
export function newestDays(nowMs: number): DayRange {
  const today = dayOf(nowMs);
  return { firstDay: today - daysMax + 1, lastDay: today };
}

/**
 * Passes the rows of the newest day on, and then those of earlier days, until `isEnough` after a day. Returns what was not read, one
 * sentence each.
 */
export async function eachNewestRow(
  ports: LogReaderPorts,
  { firstDay, lastDay }: DayRange,
  onRow: (row: LogEntry) => void,
  isEnough: () => boolean = () => false,
): Promise<string[]> {
  const gaps: string[] = [];
  for (let day = lastDay; day >= firstDay && !isEnough(); day -= 1) {
    let rows = 0;
    const onRows = (entries: readonly LogEntry[]): boolean => {
      for (const row of entries) onRow(row);
      rows += entries.length;
      return rows < rowsMax;
    };
    const end = await eachRows(ports, { days: { firstDay: day, lastDay: day } }, { onRows });
    const logs = `The logs of ${formatDay(day)}`;
    const limit = `${inThousands(rowsMax)} rows that are read here`;
    if (end.state === "Failed") gaps.push(`${logs} could not be read. ${end.fault.message}`);
    if (end.state === "Enough")
      gaps.push(`${logs} are longer than the ${limit}: see \`wafsync logs\` or \`wafsync report\`.`);
  }
  return gaps;
}
