// What a person is told while logs are read: progress, waiting that takes long, and what is wrong with the rows.
import type { WafFault } from "../../model/waf-result.ts";
import type { DaySummary } from "../../plan/logs/day-reading.ts";
import { formatDay } from "../../reconcile/logs/log-days.ts";
import type { LogWait } from "../../reconcile/logs/log-ports.ts";
import { defectWords } from "../../reconcile/logs/read-logs.ts";
import { countWords } from "../count-words.ts";
import type { StatusLine } from "../status-line.ts";
import type { Terminal } from "../terminal.ts";

/** A shorter wait is over before it is read. */
const waitShownMsMin = 1_000;
const brokenShownMax = 3;
/** Of a year, each day may have two. */
const warningsKeptMax = 730;

export class LogWatch {
  readonly #notes: Terminal;
  readonly #progress: StatusLine | undefined;
  readonly #warnings: string[] = [];
  #isWhole = true;

  /** @param progress undefined where the rows themselves are on the screen */
  constructor(notes: Terminal, progress: StatusLine | undefined) {
    this.#notes = notes;
    this.#progress = progress;
  }

  /** Whether every row came that the API says it has, and none was broken. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  /** What is missing or broken, a sentence each. */
  get warnings(): readonly string[] {
    return this.#warnings;
  }

  expect(total: number): void {
    this.#progress?.expect(total);
  }

  rowsRead(rows: number, day: number): void {
    this.#progress?.advance(rows, { label: formatDay(day) });
  }

  readonly waiting = ({ why, delayMs }: LogWait): void => {
    if (delayMs < waitShownMsMin) return;
    const reason = typeof why === "string" ? `The WAF sent ${defectWords[why]}.` : why.message;
    const text = `${reason} Trying again in ${Math.ceil(delayMs / 1000)} s.`;
    if (this.#progress === undefined) this.#notes.line(text);
    else this.#progress.wait(text);
  };

  dayDone(day: number, { came, total, broken, brokenCount }: DaySummary): void {
    const date = formatDay(day);
    if (brokenCount > 0) {
      const examples = broken.slice(0, brokenShownMax).map(({ position, problem }) => `entry ${position}: ${problem}`);
      const left =
        brokenCount === 1
          ? "1 entry is broken and left out"
          : `${countWords(brokenCount)} entries are broken and left out`;
      this.#warn(`${date}: ${left} (${examples.join("; ")}${brokenCount > brokenShownMax ? "; …" : ""})`);
    }
    if (came !== total)
      this.#warn(`${date}: the WAF says that there are ${countWords(total)} entries, and sends ${countWords(came)}`);
  }

  failed(fault: WafFault): void {
    this.line(`warning: ${fault.message} The next look will try again.`);
  }

  line(text: string): void {
    this.#progress?.clear();
    this.#notes.line(text);
  }

  #warn(text: string): void {
    this.#isWhole = false;
    if (this.#warnings.length < warningsKeptMax) this.#warnings.push(text);
    this.line(`warning: ${text}`);
  }
}
