// The progress of reading logs: one line that is redrawn on a terminal, or a plain line from time to time elsewhere.
import type { Clock } from "../../async/clock.ts";
import { durationInWords } from "../../reconcile/status/trouble.ts";
import type { Terminal } from "../terminal.ts";

const redrawIntervalMs = 100;
const plainIntervalMs = 5_000;
/** The pace is shown after this time. */
const paceAfterMs = 500;
const barWidth = 24;

export class LogProgress {
  readonly #terminal: Terminal;
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #startMs: number;
  #total: number | undefined;
  #read = 0;
  #day = "";
  #note = "";
  #drawnMs: number;
  #isShown = false;

  constructor(terminal: Terminal, clock: Pick<Clock, "monotonicMs">) {
    this.#terminal = terminal;
    this.#clock = clock;
    this.#startMs = clock.monotonicMs();
    this.#drawnMs = terminal.isInteractive ? Number.NEGATIVE_INFINITY : this.#startMs;
  }

  /** The expected number of rows, as far as known. */
  expect(total: number): void {
    this.#total = total;
  }

  /** Call this with the number of rows that were read since. */
  advance(rows: number, day: string): void {
    this.#read += rows;
    this.#day = day;
    this.#note = "";
    this.#drawIfDue();
  }

  /** The reader waits and will continue by itself. */
  wait(why: string): void {
    this.#note = why;
    if (this.#terminal.isInteractive) this.#redraw();
    else this.#terminal.line(why);
  }

  /** Removes the line, so that something else can be printed. */
  clear(): void {
    if (this.#isShown) this.#terminal.write("\r\u001B[2K");
    this.#isShown = false;
  }

  #drawIfDue(): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#drawnMs < (this.#terminal.isInteractive ? redrawIntervalMs : plainIntervalMs)) return;
    this.#drawnMs = nowMs;
    if (this.#terminal.isInteractive) this.#redraw();
    else this.#terminal.line(this.#text(false));
  }

  #redraw(): void {
    this.#isShown = true;
    const text = this.#text(true).slice(0, Math.max(20, this.#terminal.columns - 1));
    this.#terminal.write(`\r\u001B[2K${text}`);
  }

  #text(withBar: boolean): string {
    const total = this.#total === undefined ? undefined : Math.max(this.#total, this.#read);
    const share = total === undefined || total === 0 ? 0 : this.#read / total;
    const filled = Math.round(share * barWidth);
    const bar = withBar && total !== undefined ? `${"█".repeat(filled)}${"░".repeat(barWidth - filled)} ` : "";
    const counts =
      total === undefined
        ? inWords(this.#read)
        : `${inWords(this.#read)}/${inWords(total)} rows ${Math.floor(share * 100)} %`;
    return [`${this.#day} ${bar}${counts}`, ...this.#pace(total), this.#note].join("  ").trim();
  }

  #pace(total: number | undefined): string[] {
    const elapsedMs = this.#clock.monotonicMs() - this.#startMs;
    if (elapsedMs < paceAfterMs || this.#read === 0) return [];
    const perSecond = (this.#read * 1000) / elapsedMs;
    const rate = `${inWords(Math.round(perSecond))}/s`;
    const left = (total ?? 0) - this.#read;
    return left > 0 ? [rate, `${durationInWords(left / perSecond)} left`] : [rate];
  }
}

/** A number with thousands separators: `250,000`. */
export function inWords(count: number): string {
  return count.toLocaleString("en-US");
}
