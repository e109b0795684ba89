// What commands print: lines on a terminal, with colours only if it is interactive; questions; tables as kubectl prints them; and
// strings of others in Markdown, where they must not become links, images, tables, HTML or mentions of users.
import { createInterface } from "node:readline/promises";
import { stripVTControlCharacters, styleText } from "node:util";
import { markedText, visibleLines, visibleText } from "../model/texts.ts";

export type Style = "red" | "green" | "yellow" | "cyan" | "bold" | "dim";
export type Paint = (style: Style, text: string) => string;

export interface Terminal {
  /** Whether it is a terminal, so that progress may be redrawn in place. */
  readonly isInteractive: boolean;
  /** Its current width, which may change. */
  readonly columns: number;
  /** Unfiltered: for callers that move the cursor. */
  readonly write: (text: string) => void;
  /** One or more lines without control characters except for colors. */
  readonly line: (text?: string) => void;
  /** The value as JSON. */
  readonly json: (value: object) => void;
  /** What a command says about its work, as one line with the kind in front. The text may contain strings of others. */
  readonly remark: (kind: RemarkKind, text: string) => void;
  /** Colours the text if the terminal has colours and NO_COLOR is not set. */
  readonly paint: Paint;
}

const columnsDefault = 100;

const remarkStyles = { error: "red", warning: "yellow", note: "dim" } as const;
export type RemarkKind = keyof typeof remarkStyles;

/** @param edit every string passes through it */
export function terminalOn(stream: NodeJS.WriteStream, edit = (text: string): string => text): Terminal {
  const paint: Paint = (style, text) => styleText(style, text, { stream });
  const line = (text = ""): void => void stream.write(`${visibleLines(edit(text))}\n`);
  return {
    isInteractive: stream.isTTY,
    get columns() {
      return stream.columns || columnsDefault;
    },
    write: (text) => void stream.write(edit(text)),
    line,
    json: (value) => line(JSON.stringify(value, undefined, 2)),
    remark: (kind, text) => line(`${paint(remarkStyles[kind], `${kind}:`)} ${visibleText(text)}`),
    paint,
  };
}

/** Markdown and HTML treat numeric references as text, whatever character they represent. */
export function markdownText(text: string): string {
  return markedText(text).replaceAll(/[&<>"'`|*_~[\]{}\\@#$^]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

export type Answer = "Yes" | "No" | "Stopped";

/** Whether a person can answer. */
export function canAsk(): boolean {
  return process.stdin.isTTY && process.stdout.isTTY;
}

/** Ctrl-D, which ends the input, counts as no. */
export async function ask(question: string): Promise<Answer> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const stopping = new AbortController();
  terminal.once("SIGINT", () => stopping.abort());
  try {
    const answer = await terminal.question(`${question} [y/N] `, { signal: stopping.signal });
    return /^y(?:es)?$/i.test(answer.trim()) ? "Yes" : "No";
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ABORT_ERR") throw error;
    process.stdout.write("\n");
    return stopping.signal.aborted ? "Stopped" : "No";
  } finally {
    terminal.close();
  }
}

/** A column of a table: its title, and its cell in each row. */
export interface TextColumn<Row> {
  readonly title: string;
  readonly cell: (row: Row, paint: Paint) => string;
}

const gap = 3;

/** The lines of a table, without colors by default. Color codes do not count as width. */
export function tableOf<Row>(
  columns: readonly TextColumn<Row>[],
  rows: readonly Row[],
  paint: Paint = (_style, text) => text,
): string[] {
  const header = columns.map(({ title }) => title.toUpperCase());
  const lines = [header, ...rows.map((row) => columns.map(({ cell }) => cell(row, paint)))];
  const widths = header.map((_, place) => Math.max(...lines.map((cells) => widthOf(cells[place] ?? ""))));
  return lines.map((cells) =>
    cells
      .map((cell, place) => cell + " ".repeat((widths[place] ?? 0) - widthOf(cell) + gap))
      .join("")
      .trimEnd(),
  );
}

export const readyStyles = { True: "green", False: "red", Unknown: "yellow" } as const;

export function widthOf(cell: string): number {
  return stripVTControlCharacters(cell).length;
}
