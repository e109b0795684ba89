// Finds the last request of an address that the WAF blocked, in the newest days of the logs. A busy WAF logs a million rows a
// day, so only a few pages are read.
import { dayOf, formatDay } from "../model/time-text.ts";
import { realClock } from "../async/clock.ts";
import { type Entry, networkOf } from "../address/entry.ts";
import { type LogEntry, logTimeMs } from "../model/log-entry.ts";
import type { LogPort } from "../logs/read-logs.ts";
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
  const today = dayOf(nowMs);
  const gaps: string[] = [];
  let entry: LogEntry | undefined;
  for (let day = today; day > today - daysMax; day -= 1) {
    let rows = 0;
    const onRows = (entries: readonly LogEntry[]): boolean => {
      for (const row of entries.filter(fits)) {
        if (entry === undefined || logTimeMs(row.timestamp) > logTimeMs(entry.timestamp)) entry = row;
      }
      rows += entries.length;
      return rows < rowsMax;
    };
    const end = await eachRows(ports, { days: { firstDay: day, lastDay: day } }, { onRows });
    const logs = `The logs of ${formatDay(day)}`;
    const limit = `${inThousands(rowsMax)} rows that this command reads`;
    if (end.state === "Failed") gaps.push(`${logs} could not be read. ${end.fault.message}`);
    if (end.state === "Enough") gaps.push(`${logs} are longer than the ${limit}: see \`wafsync logs\`.`);
    if (entry !== undefined) break;
  }
  return { entry, since: formatDay(today - daysMax + 1), gap: gaps[0] };
}
