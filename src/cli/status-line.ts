// Shows the progress of long work in one line. On a terminal, the line is redrawn in place; otherwise, a plain line is printed
// every few seconds.
import type { Clock } from "../async/clock.ts";
import { inThousands, shortened } from "../model/sentence.ts";
import { visibleText } from "../model/visible-text.ts";
import { durationInWords } from "../kinds/durations.ts";
import type { Terminal } from "./terminal.ts";

const clearLine = "\r\u001B[2K";
const barWidthMax = 24;
/** A shorter bar is not useful. */
const barWidthMin = 5;
/** The minimum width of the label. */
const labelWidthMin = 4;
const columnsMin = 20;
const redrawIntervalMs = 100;
const plainIntervalMs = 5_000;
/** The rate is shown only after this many items and this much time. */
const paceFrom = 5;
const paceAfterMs = 500;

export interface StatusLineOptions {
  /** At the start of the line. */
  readonly label?: string;
  /** The unit of the counts. */
  readonly unit?: string;
}

export class StatusLine {
  readonly #terminal: Terminal;
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #unit: string;
  readonly #startMs: number;
  #label: string;
  #done = 0;
  #total: number | undefined;
  #note = "";
  #drawnMs: number;
  #isShown = false;

  constructor(
    terminal: Terminal,
    clock: Pick<Clock, "monotonicMs">,
    { label = "", unit = "" }: StatusLineOptions = {},
  ) {
    this.#terminal = terminal;
    this.#clock = clock;
    this.#label = label;
    this.#unit = unit === "" ? "" : ` ${unit}`;
    this.#startMs = clock.monotonicMs();
    this.#drawnMs = terminal.isInteractive ? Number.NEGATIVE_INFINITY : this.#startMs;
  }

  /** Sets the expected total. */
  expect(total: number): void {
    this.#total = total;
  }

  /** Adds completed items. `left` corrects the expected total. */
  advance(count: number, { label, left }: { readonly label?: string; readonly left?: number } = {}): void {
    this.#done += count;
    this.#label = label ?? this.#label;
    if (left !== undefined) this.#total = this.#done + left;
    this.#note = "";
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#drawnMs < (this.#terminal.isInteractive ? redrawIntervalMs : plainIntervalMs)) return;
    this.#drawnMs = nowMs;
    if (this.#terminal.isInteractive) this.#redraw();
    else this.#terminal.line(this.#text(undefined));
  }

  /** Shows why the work is waiting. It continues by itself. */
  wait(why: string): void {
    this.#note = why;
    if (this.#terminal.isInteractive) this.#redraw();
    else this.#terminal.line([this.#label, why].filter((part) => part !== "").join(": "));
  }

  /** Removes the line, so that something else can be printed. */
  clear(): void {
    if (this.#isShown) this.#terminal.write(clearLine);
    this.#isShown = false;
  }

  /** Leaves the line with the final state of the work, and a blank line after it. Removes the line if nothing was done. */
  end(): void {
    this.#note = "";
    if (this.#done === 0 || !this.#terminal.isInteractive) return this.clear();
    this.#redraw();
    this.#terminal.write("\n\n");
    this.#isShown = false;
  }

  #redraw(): void {
    this.#isShown = true;
    const width = Math.max(columnsMin, this.#terminal.columns - 1);
    this.#terminal.write(`${clearLine}${visibleText(this.#text(width)).slice(0, width)}`);
  }

  /** @param width the maximum width; first the bar and then the label shrink to fit. Undefined: no bar */
  #text(width: number | undefined): string {
    const counts = this.#done === 0 ? "" : this.#counts();
    const rest = [counts, ...this.#pace(), this.#note].filter((part) => part !== "").join("  ");
    const gap = this.#label === "" || rest === "" ? "" : " ";
    const whole = `${this.#label}${counts === "" ? gap.repeat(2) : gap}`;
    if (width === undefined) return `${whole}${rest}`;
    const room = width - whole.length - rest.length;
    if (room >= 0) return `${whole}${this.#bar(room)}${rest}`;
    const labelWidth = Math.max(labelWidthMin, this.#label.length + room);
    return `${shortened(this.#label, labelWidth)}${gap}${rest}`;
  }

  /** Empty if there is no space or no known total. */
  #bar(room: number): string {
    const width = Math.min(barWidthMax, room - 1);
    if (this.#total === undefined || this.#done === 0 || width < barWidthMin) return "";
    const filled = Math.round(this.#share() * width);
    return `${"█".repeat(filled)}${"░".repeat(width - filled)} `;
  }

  #share(): number {
    const total = Math.max(this.#total ?? 0, this.#done);
    return total === 0 ? 0 : this.#done / total;
  }

  #counts(): string {
    if (this.#total === undefined) return `${inThousands(this.#done)}${this.#unit}`;
    const total = Math.max(this.#total, this.#done);
    return `${inThousands(this.#done)}/${inThousands(total)}${this.#unit} ${Math.floor(this.#share() * 100)} %`;
  }

  #pace(): string[] {
    const elapsedMs = this.#clock.monotonicMs() - this.#startMs;
    if (elapsedMs < paceAfterMs || this.#done < paceFrom) return [];
    const perSecond = (this.#done * 1000) / elapsedMs;
    const rate = `${perSecond >= 10 ? inThousands(Math.round(perSecond)) : perSecond.toFixed(1)}/s`;
    const left = (this.#total ?? 0) - this.#done;
    return left > 0 ? [rate, `${durationInWords(left / perSecond)} left`] : [rate];
  }
}
