// What the log forwarding of one instance has used in the current hour: rows that were forwarded and pages that were read. Both are
// limited, so that a WAF whose logs never end cannot exhaust the operator or flood its output. An hour begins with its first page or
// row. Nothing is lost at the limit: the cursor stays where it is.

export const hourMs = 3_600_000;

export interface LogLimits {
  /** Rows that are forwarded in an hour. */
  readonly rowsPerHourMax: number;
  /** Pages that are read in an hour, whether they have new rows or not. */
  readonly pagesPerHourMax: number;
  /** Different rows that are remembered over all days that are still read. */
  readonly rowsKeptMax: number;
}

/** Pages are enough for 833 in each of the runs every 5 minutes, which is the default. */
export const defaultLogLimits: LogLimits = {
  rowsPerHourMax: 1_000_000,
  pagesPerHourMax: 10_000,
  rowsKeptMax: 1_000_000,
};

/** What is used up, and when the next hour begins. */
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

  /** @returns whether another page may be read, which then counts */
  takePage(nowMs: number, { pagesPerHourMax }: LogLimits): boolean {
    this.#begin(nowMs);
    if (this.#pages >= pagesPerHourMax) return false;
    this.#pages += 1;
    return true;
  }

  /** Undefined while there is something left. */
  endOf(nowMs: number, limits: LogLimits): HourEnd | undefined {
    if (this.#isOver(nowMs)) return undefined;
    const untilMs = this.#startMs + hourMs;
    if (this.#rows >= limits.rowsPerHourMax) return { used: "Rows", untilMs };
    return this.#pages >= limits.pagesPerHourMax ? { used: "Pages", untilMs } : undefined;
  }

  /** When it need not be remembered any longer; undefined if that is now. */
  forgottenAt(nowMs: number): number | undefined {
    return this.#isOver(nowMs) ? undefined : this.#startMs + hourMs;
  }

  /** A clock that was set back begins a new hour, so that it stops nothing for longer than that. */
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
