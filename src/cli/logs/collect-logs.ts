// Copies rows from the WAF to the output: once for a range of days, or continuously. After each day of a range, the output is synced and
// then the checkpoint is written, so that output and checkpoint always match.
import type { Clock } from "../../async/clock.ts";
import type { LogEntry } from "../../model/log-entry.ts";
import type { WafFault } from "../../model/waf-result.ts";
import { LogCursor, type DayRange } from "../../logs/cursor.ts";
import { dayOf } from "../../model/texts.ts";
import { type LogReaderPorts, randomSeed, readLogs, type ReadLogsOptions } from "../../logs/read-logs.ts";
import type { RowTest } from "../../logs/row-tests.ts";
import type { LogFormat } from "./log-format.ts";
import type { LogOutput } from "./log-output.ts";
import type { LogWatch } from "./log-watch.ts";

/** Rows that are formatted together: enough to be fast, and few compared to a page. */
const rowsPerWrite = 500;

export interface LogCollection {
  readonly ports: LogReaderPorts;
  readonly perPage: number;
  readonly filter: RowTest;
  readonly format: LogFormat;
  readonly output: LogOutput;
  readonly watcher: Pick<LogWatch, "rowsRead" | "dayDone" | "failed">;
}

interface RowsReader {
  /** Reading ends early if it returns false. */
  readonly onRows: (entries: readonly LogEntry[], day: number) => boolean | Promise<boolean>;
  readonly onDay?: (day: number, total: number) => Promise<void>;
  readonly watcher?: Pick<LogWatch, "rowsRead" | "dayDone"> | undefined;
}

type RowsEnd =
  | { readonly state: "Done" | "Stopped" | "Enough" }
  | { readonly state: "Failed"; readonly fault: WafFault };

/** Passes all rows of the days on. */
export async function eachRows(
  ports: LogReaderPorts,
  options: ReadLogsOptions,
  { onRows, onDay, watcher }: RowsReader,
): Promise<RowsEnd> {
  for await (const piece of readLogs(ports, options)) {
    if (piece.kind === "Failed") return { state: "Failed", fault: piece.fault };
    if (piece.kind === "Stopped") return { state: "Stopped" };
    if (piece.kind === "Page") {
      if (!(await onRows(piece.newEntries, piece.day))) return { state: "Enough" };
      watcher?.rowsRead(piece.newEntries.length, piece.day);
    } else {
      await onDay?.(piece.day, piece.total);
      if (piece.summary !== undefined) watcher?.dayDone(piece.day, piece.summary);
    }
  }
  return { state: "Done" };
}

/** `Enough`: the reader closed the output. */
export type CollectionEnd = RowsEnd & { readonly rows: number };

/** Reads every day of the range once; of a resumed file, the days that are left. */
export async function collectRange(collection: LogCollection, days: DayRange): Promise<CollectionEnd> {
  const { ports, perPage, format, output, watcher } = collection;
  const { nextDay = days.firstDay, rows = 0, isNew = true } = output.from ?? {};
  const copy = copyTo(collection, rows);
  if (isNew) {
    await output.write(format.start);
    await output.dayDone?.(nextDay, 0);
  }
  const left = { firstDay: nextDay, lastDay: days.lastDay };
  const onDay = async (day: number): Promise<void> => await output.dayDone?.(day + 1, copy.rows);
  const end = await eachRows(ports, { days: left, perPage }, { onRows: copy.write, onDay, watcher });
  if (end.state !== "Done") return { ...end, rows: copy.rows };
  const isRead = await output.write(format.end(copy.rows === 0));
  await output.finish?.();
  return { state: isRead ? "Done" : "Enough", rows: copy.rows };
}

export interface Following {
  readonly firstDay: number;
  /** How many days before today are read again for late rows. */
  readonly lookbackDays: number;
  readonly intervalMs: number;
  readonly clock: Pick<Clock, "nowMs" | "sleep">;
}

/** Reads the existing rows, and then new ones until it is stopped. */
export async function followLogs(collection: LogCollection, following: Following): Promise<CollectionEnd> {
  const { clock, intervalMs, lookbackDays, firstDay } = following;
  const { ports, perPage, watcher, output, format } = collection;
  const cursor = new LogCursor(firstDay, randomSeed(ports.random));
  const copy = copyTo(collection, 0);
  await output.write(format.start);
  while (!ports.stopping.aborted) {
    const days = cursor.daysToRead(dayOf(clock.nowMs()), lookbackDays);
    const onDay = async (day: number, total: number): Promise<void> =>
      await Promise.resolve(cursor.dayDone(day, total));
    const end = await eachRows(ports, { days, perPage, cursor }, { onRows: copy.write, onDay, watcher });
    if (end.state === "Failed" && isTransient(end.fault)) watcher.failed(end.fault);
    else if (end.state === "Done") cursor.forget(days.lastDay, lookbackDays);
    else return { ...end, rows: copy.rows };
    await clock.sleep(intervalMs, ports.stopping);
  }
  return { state: "Stopped", rows: copy.rows };
}

function isTransient({ code }: WafFault): boolean {
  return code === "Unavailable" || code === "TimedOut" || code === "RateLimited" || code === "ContractBroken";
}

/** Rows on their way to the output. `write` returns false if the reader has closed it. @param rows those of earlier runs */
function copyTo({ filter, format, output }: LogCollection, rows: number) {
  const copy = {
    rows,
    write: async (entries: readonly LogEntry[]): Promise<boolean> => {
      for (let start = 0; start < entries.length; start += rowsPerWrite) {
        const chosen = entries.slice(start, start + rowsPerWrite).filter(filter);
        if (chosen.length === 0) continue;
        if (!(await output.write(format.rows(chosen, copy.rows === 0)))) return false;
        copy.rows += chosen.length;
      }
      return true;
    },
  };
  return copy;
}
