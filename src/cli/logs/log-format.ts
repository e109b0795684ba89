// Log rows as text. Whatever attackers put into them stays data: a spreadsheet takes no cell for a formula, and a terminal no
// character for a command.
import { stringify } from "csv-stringify/sync";
import { jsonLineOf } from "../../model/json-line.ts";
import { logEntryFields } from "../../model/log-entry.ts";
import type { LogEntry } from "../../model/log-entry.ts";
import { shortened } from "../../model/sentence.ts";

export const logFormats = ["ndjson", "csv", "table", "json"] as const;
export type LogFormatName = (typeof logFormats)[number];

export interface LogFormat {
  /** What stands before the first row. */
  readonly start: string;
  /** @param isFirst whether no row was written before */
  rows(entries: readonly LogEntry[], isFirst: boolean): string;
  /** What stands after the last row. */
  end(isEmpty: boolean): string;
}

/** @param isTerminal whether a terminal will show it */
export function createLogFormat(name: LogFormatName, isTerminal: boolean): LogFormat {
  switch (name) {
    case "ndjson":
      return { start: "", rows: (entries) => entries.map((entry) => `${jsonLineOf(entry)}\n`).join(""), end: () => "" };
    case "json":
      return {
        start: "[",
        rows: (entries, isFirst) =>
          entries.map((entry, index) => `${isFirst && index === 0 ? "" : ","}\n${jsonLineOf(entry)}`).join(""),
        end: (isEmpty) => (isEmpty ? "]\n" : "\n]\n"),
      };
    case "csv":
      return {
        start: `${logEntryFields.join(",")}\n`,
        rows: (entries) => csvOf(isTerminal ? entries.map(withoutControls) : entries),
        end: () => "",
      };
    case "table":
      return createTable();
  }
}

function csvOf(entries: readonly LogEntry[]): string {
  return stringify(entries.map(withoutFormulas), {
    columns: [...logEntryFields],
    // A cell that begins as a formula gets an apostrophe in front.
    escape_formulas: true,
    // An empty text is `""`, and what is missing is nothing.
    quoted_match: /^$/,
    cast: { boolean: String },
  });
}

/** Line breaks and spaces in front of a formula hide it from the check of the library, and from no spreadsheet. */
const hiddenFormula = /^[\s\p{C}]+[=+\-@＝＋－＠]/u;

function withoutFormulas(entry: LogEntry): LogEntry {
  const texts = Object.entries(entry);
  if (!texts.some(([, value]) => isHiddenFormula(value))) return entry;
  return Object.fromEntries(
    texts.map(([name, value]) => [name, isHiddenFormula(value) ? `'${String(value)}` : value]),
  ) as LogEntry;
}

/** A tab or a carriage return at the start gets its apostrophe by the library. */
function isHiddenFormula(value: unknown): boolean {
  return typeof value === "string" && !/^[\t\r]/.test(value) && hiddenFormula.test(value);
}

const controls = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/gu;

function withoutControls(entry: LogEntry): LogEntry {
  const cells = Object.entries(entry).map(([name, value]) => [
    name,
    typeof value === "string" ? value.replaceAll(controls, "�") : value,
  ]);
  return Object.fromEntries(cells) as LogEntry;
}

interface Column {
  readonly title: string;
  readonly width: number;
  readonly cell: (entry: LogEntry) => string;
}

const columns: readonly Column[] = [
  { title: "TIME", width: 20, cell: ({ timestamp }) => timestamp.replace(/\.\d+(?=Z$)/, "") },
  { title: "CLIENT", width: 15, cell: ({ client_ip }) => client_ip },
  { title: "COUNTRY", width: 7, cell: ({ country }) => country ?? "-" },
  { title: "METHOD", width: 6, cell: ({ http_method }) => http_method },
  { title: "STATUS", width: 6, cell: ({ http_status }) => String(http_status) },
  { title: "REASON", width: 26, cell: ({ block_reason }) => block_reason },
  { title: "PATH", width: 0, cell: ({ request_path }) => request_path },
];
const cellLengthMax = 120;

/** The widths are fixed, since rows are printed before the last of them is known. */
function createTable(): LogFormat {
  const line = (cells: readonly string[]): string =>
    `${cells
      .map((cell, index) => cell.padEnd(columns[index]?.width ?? 0))
      .join("   ")
      .trimEnd()}\n`;
  return {
    start: line(columns.map(({ title }) => title)),
    rows: (entries) => entries.map((entry) => line(columns.map(({ cell }) => printableCell(cell(entry))))).join(""),
    end: (isEmpty) => (isEmpty ? "No blocked requests.\n" : ""),
  };
}

function printableCell(text: string): string {
  return shortened(text, cellLengthMax).replaceAll(controls, "�");
}
