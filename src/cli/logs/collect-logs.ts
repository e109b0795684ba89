// Copies rows from the WAF to the output: once for a range of days, or continuously. After each day the output is synced and
// then the checkpoint is written, so that output and checkpoint always match.
import type { Clock } from "../../async/clock.ts";
import type { LogEntry } from "../../model/log-entry.ts";
import type { WafFault } from "../../model/waf-result.ts";
import { LogCursor } from "../../plan/logs/cursor.ts";
import type { DayRange } from "../../plan/logs/cursor.ts";
import type { DaySummary } from "../../plan/logs/day-reading.ts";
import type { LogFilter } from "./log-filter.ts";
import { dayOf } from "../../reconcile/logs/log-days.ts";
import type { LogReaderPorts } from "../../reconcile/logs/log-ports.ts";
import { randomSeed, readLogs } from "../../reconcile/logs/read-logs.ts";
import type { LogPiece } from "../../reconcile/logs/read-logs.ts";
import type { LogFormat } from "./log-format.ts";
import type { LogOutput } from "./log-output.ts";

/** Rows that are formatted together: enough to be fast, and few compared to a page. */
const rowsPerWrite = 500;

export interface LogCollection {
  readonly ports: LogReaderPorts;
  readonly perPage: number;
  readonly filter: LogFilter;
  readonly format: LogFormat;
  readonly output: LogOutput;
  /** Called after each day with what is needed to resume from there; undefined if the output cannot be resumed. */
  readonly checkpoint: ((offset: number, rows: number, cursor: LogCursor) => Promise<void>) | undefined;
  /** The checkpoint of an earlier run; undefined to start from the beginning. */
  readonly resumed: { readonly cursor: LogCursor; readonly rows: number } | undefined;
  readonly watcher: {
    rowsRead(rows: number, day: number): void;
    dayDone(day: number, summary: DaySummary): void;
    /** With --follow: a read failed, and the next poll retries it. */
    failed(fault: WafFault): void;
  };
}

/** `NobodyReads`: the reader closed the output. */
export type CollectionEnd =
  | { readonly state: "Done" | "Stopped" | "NobodyReads"; readonly rows: number }
  | { readonly state: "Failed"; readonly rows: number; readonly fault: WafFault };

/** Reads every day of the range once. */
export async function collectRange(collection: LogCollection, days: DayRange): Promise<CollectionEnd> {
  const work = new Collecting(collection, days.firstDay);
  await work.begin();
  const left = { firstDay: work.cursor.nextDay, lastDay: days.lastDay };
  const end = await work.take(readLogs(collection.ports, { days: left, perPage: collection.perPage }));
  return end ?? (await work.finish());
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
  const { ports, perPage, watcher } = collection;
  const work = new Collecting(collection, firstDay);
  const { cursor } = work;
  await work.begin();
  while (!ports.stopping.aborted) {
    const days = cursor.daysToRead(dayOf(clock.nowMs()), lookbackDays);
    const end = await work.take(readLogs(ports, { days, perPage, cursor }));
    if (end !== undefined && (end.state !== "Failed" || !isTransient(end.fault))) return end;
    if (end?.state === "Failed") watcher.failed(end.fault);
    if (end === undefined) cursor.forget(days.lastDay, lookbackDays);
    await clock.sleep(intervalMs, ports.stopping);
  }
  return { state: "Stopped", rows: work.rows };
}

function isTransient({ code }: WafFault): boolean {
  return code === "Unavailable" || code === "TimedOut" || code === "RateLimited" || code === "ContractBroken";
}

class Collecting {
  readonly cursor: LogCursor;
  readonly #collection: LogCollection;
  #rows: number;

  constructor(collection: LogCollection, firstDay: number) {
    this.#collection = collection;
    this.cursor = collection.resumed?.cursor ?? new LogCursor(firstDay, randomSeed(collection.ports.random));
    this.#rows = collection.resumed?.rows ?? 0;
  }

  get rows(): number {
    return this.#rows;
  }

  async begin(): Promise<void> {
    if (this.#collection.resumed !== undefined) return;
    await this.#collection.output.write(this.#collection.format.start);
    await this.#save();
  }

  /** Undefined when all days are done. */
  async take(pieces: AsyncIterable<LogPiece>): Promise<CollectionEnd | undefined> {
    const { watcher } = this.#collection;
    for await (const piece of pieces) {
      switch (piece.kind) {
        case "Rows":
          if (!(await this.#write(piece.entries))) return { state: "NobodyReads", rows: this.#rows };
          watcher.rowsRead(piece.entries.length, piece.day);
          break;
        case "DayDone":
          this.cursor.dayDone(piece.day, piece.total);
          if (piece.summary === undefined) break;
          await this.#save();
          watcher.dayDone(piece.day, piece.summary);
          break;
        case "Failed":
          return { state: "Failed", rows: this.#rows, fault: piece.fault };
        case "Stopped":
          return { state: "Stopped", rows: this.#rows };
      }
    }
    return undefined;
  }

  async finish(): Promise<CollectionEnd> {
    const { output, format } = this.#collection;
    const isRead = await output.write(format.end(this.#rows === 0));
    await output.settle();
    return { state: isRead ? "Done" : "NobodyReads", rows: this.#rows };
  }

  async #write(entries: readonly LogEntry[]): Promise<boolean> {
    const { filter, format, output } = this.#collection;
    for (let start = 0; start < entries.length; start += rowsPerWrite) {
      const chosen = entries.slice(start, start + rowsPerWrite).filter(filter);
      if (chosen.length === 0) continue;
      if (!(await output.write(format.rows(chosen, this.#rows === 0)))) return false;
      this.#rows += chosen.length;
    }
    return true;
  }

  async #save(): Promise<void> {
    const { output, checkpoint } = this.#collection;
    if (checkpoint !== undefined) await checkpoint(await output.settle(), this.#rows, this.cursor);
  }
}
