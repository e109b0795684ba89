// Reads blocked requests, day by day and page by page, as a stream. After a failure, the day is read again from its start, and
// rows that were forwarded are skipped. However many rows there are, only one page is in memory and one in flight.
import { upwardBackOffDelayMs } from "../async/back-off.ts";
import type { Clock } from "../async/clock.ts";
import type { LogEntry, LogPage } from "../model/log-entry.ts";
import { formatDay } from "../model/texts.ts";
import type { WafFault, WafResult, LogPort } from "../model/waf-result.ts";
import type { DayRange, LogCursor } from "./cursor.ts";
import { type DaySummary, LogDayReading, type ReadingDefect } from "./day-reading.ts";
import { createRowIdentity, type IdentitySeed } from "./row-tally.ts";

/** Why the reader waits. */
export interface LogWait {
  readonly day: number;
  readonly why: WafFault;
  readonly delayMs: number;
}

export interface LogReaderPorts {
  readonly waf: LogPort;
  readonly clock: Clock;
  /** A number from 0 to below 1. */
  readonly random: () => number;
  /** Aborts when no further call may start. */
  readonly stopping: AbortSignal;
  /** Must not throw. */
  readonly onWait?: ((wait: LogWait) => void) | undefined;
}

/** The maximum page size of the API. */
export const logsPerPageMax = 10_000;
const retryBaseMs = 100;
const retryMsMax = 10_000;
const turnsUntilSent = 2;

export interface ReadLogsOptions {
  readonly days: DayRange;
  readonly perPage?: number;
  /** For callers that read days repeatedly. The reader keeps the tallies of forwarded rows up to date. Without it, days are read once. */
  readonly cursor?: LogCursor;
  /** Called before each page. If it returns false, reading ends as if the process were stopping. */
  readonly mayRead?: () => boolean;
}

export interface ReadPage {
  readonly kind: "Page";
  readonly day: number;
  readonly entries: readonly LogEntry[];
  /** Those that no earlier page contained. */
  readonly newEntries: readonly LogEntry[];
  /** Whether a reading of the day begins with this page: the pages of earlier readings no longer count. */
  readonly isFirst: boolean;
  /** Whether a reading of this day contradicted itself or its total: then a row that occurs twice may be one request. */
  readonly isDoubtful: boolean;
}

/**
 * - `DayDone`: the day was read to its end. `total` is the number of rows that the API reports; `summary` is undefined if
 *   nothing was new.
 * - `Failed`, `Stopped`: reading ended before the end of the day.
 */
export type LogPiece =
  | ReadPage
  | { readonly kind: "DayDone"; readonly day: number; readonly total: number; readonly summary: DaySummary | undefined }
  | { readonly kind: "Failed"; readonly day: number; readonly fault: WafFault }
  | { readonly kind: "Stopped"; readonly day: number };

/**
 * Returns the logs of the days, oldest day first. Within a day, rows are in the order of the API. If the consumer stops iterating,
 * the calls end. A piece that was consumed counts as forwarded.
 */
export async function* readLogs(ports: LogReaderPorts, options: ReadLogsOptions): AsyncGenerator<LogPiece, void, void> {
  const { days } = options;
  const pages = new LogPages(ports, options);
  const reader = new DayReader(ports, pages, options);
  try {
    for (let day = days.firstDay; day <= days.lastDay; day += 1) {
      for await (const piece of reader.read(day)) {
        yield piece;
        if (piece.kind === "Failed" || piece.kind === "Stopped") return;
      }
    }
  } finally {
    await pages.close();
  }
}

/** Returns the total number of rows of the days, as the API currently reports it. */
export async function countLogs(
  ports: LogReaderPorts,
  dates: { readonly startDate: string; readonly endDate: string },
) {
  const query = { ...dates, perPage: 1 };
  for (let failures = 1; ; failures += 1) {
    const page = await ports.waf.queryLogs(query, { signal: ports.stopping });
    if (page.ok) return { ok: true, total: page.value.total } as const;
    const { fault } = page;
    if (retryOf(fault, false, failures, false) === "Fail") return { ok: false, fault } as const;
    await pause(ports, 0, fault, failures);
  }
}

class DayReader {
  readonly #ports: LogReaderPorts;
  readonly #pages: LogPages;
  readonly #options: ReadLogsOptions;
  #hasWorked = false;
  #failures = 0;

  constructor(ports: LogReaderPorts, pages: LogPages, options: ReadLogsOptions) {
    this.#ports = ports;
    this.#pages = pages;
    this.#options = options;
  }

  async *read(day: number): AsyncGenerator<LogPiece, void, void> {
    const { cursor, mayRead } = this.#options;
    const mark = cursor?.markOf(day);
    if (mark?.total !== undefined) {
      const total = await this.#pages.total(day);
      // If this failed, reading the day fails as well and reports it.
      if (total.ok && total.value === mark.total) {
        yield { kind: "DayDone", day, total: mark.total, summary: undefined };
        return;
      }
    }
    const identityOf = cursor?.identityOf ?? createRowIdentity(randomSeed(this.#ports.random));
    const reading = new LogDayReading(identityOf, mark?.forwarded);
    let request: PageRequest = { day };
    for (;;) {
      if (this.#ports.stopping.aborted || mayRead?.() === false) return yield { kind: "Stopped", day };
      const page = await this.#pages.get(request);
      let fault: WafFault;
      if (page.ok) {
        this.#hasWorked = true;
        const { scrollId, length } = page.value;
        if (scrollId === null || length > 0) await this.#pages.askAhead(day, scrollId);
        const isFirst = request.scrollId === undefined;
        const rows = page.value.rows();
        const verdict = reading.page(page.value, rows);
        if (verdict.next === "Failed") return yield { kind: "Failed", day, fault: contractFault(verdict.problem) };
        const newEntries = verdict.rows;
        if (newEntries.length > 0) this.#failures = 0;
        cursor?.noteRows(day, newEntries);
        yield { kind: "Page", day, entries: rows.entries, newEntries, isFirst, isDoubtful: reading.isDoubtful };
        if (verdict.next === "Nothing") {
          this.#failures = 0;
          return yield { kind: "DayDone", day, total: verdict.summary.total, summary: verdict.summary };
        }
        if (verdict.next === "Page") {
          request = { day, scrollId: verdict.scrollId };
          continue;
        }
        fault = contractFault(defectWords[verdict.defect]);
      } else fault = page.fault;
      this.#failures += 1;
      const retry = retryOf(fault, request.scrollId !== undefined, this.#failures, this.#hasWorked);
      if (retry !== "Fail") await pause(this.#ports, day, fault, this.#failures);
      if (this.#ports.stopping.aborted) return yield { kind: "Stopped", day };
      if (retry === "Fail") return yield { kind: "Failed", day, fault };
      if (retry === "SameDay") request = { day };
      if (request.scrollId === undefined) reading.begin();
    }
  }
}

/** What is wrong with a reading, to complete "the WAF sent …". */
const defectWords: Readonly<Record<ReadingDefect, string>> = {
  RepeatedPage: "the same page of logs twice",
  TooManyRows: "more log entries than it reported",
  TooFewRows: "fewer log entries than it reported",
  Endless: "an endless series of log pages",
};

/** Creates a seed for row identities; `random` works like `Math.random`. */
export function randomSeed(random: () => number): IdentitySeed {
  return { low: Math.floor(random() * 2 ** 32), high: Math.floor(random() * 2 ** 32) };
}

function contractFault(problem: string): WafFault {
  return { code: "ContractBroken", message: `The WAF sent ${problem}.` };
}

async function pause(ports: LogReaderPorts, day: number, why: WafFault, attempt: number): Promise<void> {
  const { clock, random, stopping, onWait } = ports;
  if (stopping.aborted) return;
  const backOffMs = upwardBackOffDelayMs({ attempt, baseMs: retryBaseMs, maxMs: retryMsMax, random });
  const delayMs = Math.max(why.retryAfterMs ?? 0, backOffMs);
  onWait?.({ day, why, delayMs });
  await clock.sleep(delayMs, stopping);
}

/** A page of a day: the first one, or the one with this scroll ID. */
interface PageRequest {
  readonly day: number;
  readonly scrollId?: string | undefined;
}

/** Fetches pages one after another, and the next page while the last one is processed. Never makes two calls at a time. */
class LogPages {
  readonly #waf: LogPort;
  readonly #options: ReadLogsOptions;
  readonly #ended = new AbortController();
  readonly #signal: AbortSignal;
  #ahead: { readonly request: PageRequest; readonly result: Promise<WafResult<LogPage>> } | undefined;

  constructor({ waf, stopping }: LogReaderPorts, options: ReadLogsOptions) {
    this.#waf = waf;
    this.#options = options;
    this.#signal = AbortSignal.any([stopping, this.#ended.signal]);
  }

  /**
   * Requests the page that most likely follows the one with this scroll ID, before its rows are checked, so that the WAF and wafsync work
   * at the same time. If another page is needed, the response is discarded.
   */
  async askAhead(day: number, scrollId: string | null): Promise<void> {
    const { days, cursor } = this.#options;
    // For a day that was read before, only the total is requested first.
    if (scrollId === null && (day >= days.lastDay || cursor?.markOf(day + 1).total !== undefined)) return;
    const request = scrollId === null ? { day: day + 1 } : { day, scrollId };
    this.#ahead ??= { request, result: this.#call(request) };
    // The lane waits one turn of the event loop for other calls, and sends in the next turn.
    for (let turn = 0; turn < turnsUntilSent; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  }

  async get(request: PageRequest): Promise<WafResult<LogPage>> {
    const ahead = this.#ahead;
    this.#ahead = undefined;
    if (ahead === undefined) return await this.#call(request);
    const result = await ahead.result;
    const isWanted = ahead.request.day === request.day && ahead.request.scrollId === request.scrollId;
    return isWanted ? result : await this.#call(request);
  }

  /** Returns the number of rows of the day, from a page with a single row. */
  async total(day: number): Promise<WafResult<number>> {
    const page = await this.#call({ day }, 1);
    return page.ok ? { ok: true, value: page.value.total } : page;
  }

  /** Resolves when no request is in progress. */
  async close(): Promise<void> {
    this.#ended.abort();
    await this.#ahead?.result;
  }

  async #call({ day, scrollId }: PageRequest, perPage = this.#options.perPage): Promise<WafResult<LogPage>> {
    const options = { signal: this.#signal };
    if (scrollId !== undefined) return await this.#waf.scrollLogs(scrollId, options);
    const date = formatDay(day);
    const query = { startDate: date, endDate: date, perPage: perPage ?? logsPerPageMax };
    return await this.#waf.queryLogs(query, options);
  }
}

/** The maximum number of consecutive failures. With backoff, this takes a few minutes. */
export const logFailuresMax = 20;
/** Before the first success, a wrong address is more likely than a transient error. */
const firstFailuresMax = 5;

/**
 * @param failures consecutive failures of calls and readings, including this one
 * @param hasWorked whether a page already succeeded: then the failure is probably transient
 */
function retryOf(
  { code, status = 200 }: WafFault,
  isScroll: boolean,
  failures: number,
  hasWorked: boolean,
): "SamePage" | "SameDay" | "Fail" {
  if (failures >= (hasWorked ? logFailuresMax : firstFailuresMax)) return "Fail";
  if (code === "RateLimited") return "SamePage";
  if (code === "Unavailable" || code === "TimedOut") return isScroll ? "SameDay" : "SamePage";
  if (code === "Rejected") return isScroll ? "SameDay" : "Fail";
  // After another status, such as that of a redirect or a different server, the URL is wrong.
  return code === "ContractBroken" && (hasWorked || status === 200) ? "SameDay" : "Fail";
}
