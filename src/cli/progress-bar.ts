// The progress of calls: one line that is redrawn on a terminal, or a plain line from time to time elsewhere.
import type { Clock } from "../async/clock.ts";
import { durationInWords } from "../reconcile/status/trouble.ts";
import type { Terminal } from "./terminal.ts";

const barWidth = 28;
const clearLine = "\u001B[2K";
const redrawIntervalMs = 80;
const plainIntervalMs = 5_000;
/** The pace is shown from this many calls on. */
const paceFrom = 5;

export class ProgressBar {
  readonly #terminal: Terminal;
  readonly #clock: Clock;
  readonly #label: string;
  readonly #startMs: number;
  #done = 0;
  #left = 0;
  #drawnMs: number;
  #isShown = false;
  #note = "";

  constructor(terminal: Terminal, clock: Clock, label: string) {
    this.#terminal = terminal;
    this.#clock = clock;
    this.#label = label;
    this.#startMs = clock.monotonicMs();
    this.#drawnMs = terminal.isInteractive ? Number.NEGATIVE_INFINITY : this.#startMs;
  }

  /** Call this after each call; `left` is the number of remaining calls. */
  advance(left: number): void {
    this.#done += 1;
    this.#left = left;
    this.#note = "";
    this.#drawIfDue();
  }

  /** The work waits and will continue by itself. */
  wait(why: string): void {
    this.#note = why;
    this.#drawnMs = Number.NEGATIVE_INFINITY;
    this.#drawIfDue();
  }

  /** Ends the line, with a blank one after it. Removes it if there was no call. */
  end(): void {
    if (!this.#terminal.isInteractive) return;
    this.#note = "";
    if (this.#done > 0) {
      this.#redraw();
      this.#terminal.write("\n\n");
    } else if (this.#isShown) this.#terminal.write(`\r${clearLine}`);
  }

  #drawIfDue(): void {
    const interval = this.#terminal.isInteractive ? redrawIntervalMs : plainIntervalMs;
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#drawnMs < interval) return;
    this.#drawnMs = nowMs;
    if (this.#terminal.isInteractive) this.#redraw();
    else this.#terminal.line(this.#text(false));
  }

  #redraw(): void {
    this.#isShown = true;
    this.#terminal.write(`\r${clearLine}${this.#text(true).slice(0, Math.max(20, this.#terminal.columns - 1))}`);
  }

  #text(withBar: boolean): string {
    if (this.#done === 0) return `${this.#label}  ${this.#note}`;
    const total = this.#done + this.#left;
    const share = total === 0 ? 0 : this.#done / total;
    const filled = Math.round(share * barWidth);
    const bar = withBar ? ` ${"█".repeat(filled)}${"░".repeat(barWidth - filled)}` : "";
    const counts = `${this.#done}/${total} ${Math.floor(share * 100)} %`;
    return `${this.#label}${bar} ${counts}${this.#pace()}${this.#note === "" ? "" : `  ${this.#note}`}`;
  }

  #pace(): string {
    const seconds = (this.#clock.monotonicMs() - this.#startMs) / 1000;
    if (this.#done < paceFrom || seconds <= 0) return "";
    const perSecond = this.#done / seconds;
    const rate = `  ${perSecond >= 10 ? Math.round(perSecond) : perSecond.toFixed(1)}/s`;
    return this.#left === 0 ? rate : `${rate}  ${durationInWords(this.#left / perSecond)} left`;
  }
}
