// Shows the progress of long work in one line. On a terminal, the line is redrawn in place; otherwise, a plain line is printed
// every few seconds.
import type { Clock } from "../async/clock.ts";
import { inThousands, shortened, visibleText } from "../model/texts.ts";
import { durationInWords } from "../kinds/durations.ts";
import type { Terminal } from "./terminal.ts";

const clearLine = "\r\u001B[2K";
/** The minimum width of the label. */
const labelWidthMin = 4;
const columnsMin = 20;
const redrawIntervalMs = 100;
const plainIntervalMs = 5_000;
/** The rate is shown only after this many items and this much time. */
const paceFrom = 5;
const paceAfterMs = 500;

type Drawable = Pick<Terminal, "isInteractive" | "columns" | "write" | "line">;

export class StatusLine {
  readonly #terminal: Drawable;
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #unit: string;
  readonly #startMs: number;
  #label: string;
  #done = 0;
  #total: number | undefined;
  #note = "";
  #drawnMs: number;
  #isShown = false;

  /** @param words `label`: at the start of the line; `unit`: of the counts */
  constructor(terminal: Drawable, clock: Pick<Clock, "monotonicMs">, words: { label?: string; unit?: string } = {}) {
    const { label = "", unit = "" } = words;
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
    else this.#terminal.line(this.#text());
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

  /** @param width the maximum width, to which the label shrinks */
  #text(width = Infinity): string {
    const rest = [this.#counts(), ...this.#pace(), this.#note].filter((part) => part !== "").join("  ");
    const label = shortened(this.#label, Math.max(labelWidthMin, width - rest.length - 1));
    return [label, rest].filter((part) => part !== "").join(" ");
  }

  #counts(): string {
    const done = this.#done;
    if (done === 0) return "";
    if (this.#total === undefined) return `${inThousands(done)}${this.#unit}`;
    const total = Math.max(this.#total, done);
    return `${inThousands(done)}/${inThousands(total)}${this.#unit} ${Math.floor((done / total) * 100)} %`;
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
