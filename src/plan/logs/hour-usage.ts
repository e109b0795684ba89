// What the log forwarding of one instance has used in the current hour: the forwarded rows and the pages that were read. Both are
// limited, so a WAF whose logs never end cannot exhaust the operator or flood its output. An hour begins with its first page or
// row. At the limit, no rows are lost: the cursor does not move.
import { hourMs } from "../../model/time-text.ts";

export interface LogLimits {
  /** The maximum number of forwarded rows per hour. */
  readonly rowsPerHourMax: number;
  /** The maximum number of pages per hour, with or without new rows. */
  readonly pagesPerHourMax: number;
  /** The maximum number of distinct rows kept in memory, over all days that are still read. */
  readonly rowsKeptMax: number;
}

/** 10,000 pages allow 833 in each run with the default interval of 5 minutes. */
export const defaultLogLimits: LogLimits = {
  rowsPerHourMax: 1_000_000,
  pagesPerHourMax: 10_000,
  rowsKeptMax: 1_000_000,
};

/** The exhausted limit, and when the next hour begins. */
export interface HourEnd {
  readonly used: "Rows" | "Pages";
  readonly untilMs: number;
}

export class HourUsage {
  #startMs = Number.NEGATIVE_INFINITY;
  #rows = 0;
  #pages = 0;

  rowsLeft(nowMs: number, { rowsPerHourMax }: LogLimits): number {
    return this.#isOver(nowMs) ? rowsPerHourMax : Math.max(0, rowsPerHourMax - this.#rows);
  }

  rowsForwarded(nowMs: number, count: number): void {
    this.#begin(nowMs);
    this.#rows += count;
  }

  /** @returns whether another page may be read; if so, it is counted */
  takePage(nowMs: number, { pagesPerHourMax }: LogLimits): boolean {
    this.#begin(nowMs);
    if (this.#pages >= pagesPerHourMax) return false;
    this.#pages += 1;
    return true;
  }

  /** Undefined while no limit is reached. */
  endOf(nowMs: number, limits: LogLimits): HourEnd | undefined {
    if (this.#isOver(nowMs)) return undefined;
    const untilMs = this.#startMs + hourMs;
    if (this.#rows >= limits.rowsPerHourMax) return { used: "Rows", untilMs };
    return this.#pages >= limits.pagesPerHourMax ? { used: "Pages", untilMs } : undefined;
  }

  /** When it can be dropped; undefined if now. */
  forgottenAt(nowMs: number): number | undefined {
    return this.#isOver(nowMs) ? undefined : this.#startMs + hourMs;
  }

  /** After a clock was set back, a new hour begins, so that the limit does not last longer because of that. */
  #isOver(nowMs: number): boolean {
    return nowMs < this.#startMs || nowMs >= this.#startMs + hourMs;
  }

  #begin(nowMs: number): void {
    if (!this.#isOver(nowMs)) return;
    this.#startMs = nowMs;
    this.#rows = 0;
    this.#pages = 0;
  }
}
