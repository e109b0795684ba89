// Formats log rows as text. Values that attackers control stay data: a spreadsheet never interprets a cell as a formula, and a
// terminal never interprets a character as a command.
import { jsonLineOf, markedText, shortened } from "../../model/texts.ts";
import { logEntryFields, type LogEntry } from "../../model/log-entry.ts";

export interface LogFormat {
  /** Written before the first row. */
  readonly start: string;
  /** @param isFirst whether no row was written before */
  rows(entries: readonly LogEntry[], isFirst: boolean): string;
  /** Written after the last row. */
  end(isEmpty: boolean): string;
}

/** Each format, for a terminal of this width, which may change; undefined for a pipe or a file. */
export const logFormats = {
  ndjson: () => ({
    start: "",
    rows: (entries) => entries.map((entry) => `${jsonLineOf(entry)}\n`).join(""),
    end: () => "",
  }),
  csv: (widthOfLine) => ({
    start: `${logEntryFields.join(",")}\n`,
    rows: (entries) =>
      entries.map((entry) => csvLine(widthOfLine === undefined ? entry : withoutControls(entry))).join(""),
    end: () => "",
  }),
  table: createTable,
  json: () => ({
    start: "[",
    rows: (entries, isFirst) =>
      entries.map((entry, index) => `${isFirst && index === 0 ? "" : ","}\n${jsonLineOf(entry)}`).join(""),
    end: (isEmpty) => (isEmpty ? "]\n" : "\n]\n"),
  }),
} satisfies Readonly<Record<string, (widthOfLine: (() => number) | undefined) => LogFormat>>;

export type LogFormatName = keyof typeof logFormats;
export const logFormatNames = Object.keys(logFormats) as readonly LogFormatName[];

/** Invisible characters and spaces hide the start of a formula from readers, but not from spreadsheets. */
const formula = /^[\s\p{C}]*[=+\-@＝＋－＠\t\r]/u;

/** A cell that starts like a formula gets an apostrophe in front. An empty string is `""`, and a missing value an empty cell. */
function csvLine(entry: LogEntry): string {
  const cells = logEntryFields.map((field) => {
    const value = entry[field];
    if (typeof value !== "string") return String(value ?? "");
    const text = formula.test(value) ? `'${value}` : value;
    return text === "" || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  });
  return `${cells.join(",")}\n`;
}

function withoutControls(entry: LogEntry): LogEntry {
  const cells = Object.entries(entry).map(([name, value]) => [
    name,
    typeof value === "string" ? markedText(value) : value,
  ]);
  return Object.fromEntries(cells) as LogEntry;
}

interface Column {
  readonly title: string;
  readonly width: number;
  /** Columns that are omitted on a narrow terminal. */
  readonly isOptional?: boolean;
  readonly cell: (entry: LogEntry) => string;
}

const columns: readonly Column[] = [
  { title: "TIME", width: 20, cell: ({ timestamp }) => timestamp.replace(/\.\d+(?=Z$)/, "") },
  { title: "CLIENT", width: 15, cell: ({ client_ip }) => client_ip },
  { title: "COUNTRY", width: 7, isOptional: true, cell: ({ country }) => country ?? "-" },
  { title: "METHOD", width: 7, isOptional: true, cell: ({ http_method }) => http_method },
  { title: "STATUS", width: 6, cell: ({ http_status }) => String(http_status) },
  { title: "REASON", width: 32, cell: ({ block_reason }) => block_reason },
  { title: "PATH", width: 0, cell: ({ request_path }) => request_path },
];
const cellLengthMax = 120;
const clientWidthMax = 39;
const gap = "   ";
/** On a narrower terminal, the optional columns are omitted. */
const wideFrom = 100;
/** The reason column can shrink to this width in favor of the path. */
const reasonWidthMin = 16;
const pathWidthWanted = 40;

/**
 * Column widths are fixed before the first row, because rows are printed as they arrive; only on a terminal, the client column
 * grows with the first IPv6 address. There a terminal, longer cells are truncated, so that the columns stay aligned. @param widthOfLine returns the
 * current width of the terminal; undefined to disable truncation
 */
function createTable(widthOfLine: (() => number) | undefined): LogFormat {
  const layout = layoutFor(widthOfLine?.());
  const widths = layout.map(({ width }) => width);
  const line = (cells: readonly string[]): string => {
    const padded = cells.map((cell, index) => paddedCell(cell, widths[index] ?? 0, widthOfLine !== undefined));
    const text = padded.join(gap).trimEnd();
    return `${widthOfLine === undefined ? text : fitted(text, widthOfLine())}\n`;
  };
  const clientColumn = layout.findIndex(({ title }) => title === "CLIENT");
  return {
    start: line(layout.map(({ title }) => title)),
    rows: (entries) => {
      const clients = entries.map(({ client_ip }) => Math.min(clientWidthMax, client_ip.length));
      widths[clientColumn] = clients.reduce((a, b) => Math.max(a, b), widths[clientColumn] ?? 0);
      return entries
        .map((entry) => line(layout.map(({ cell }) => markedText(shortened(cell(entry), cellLengthMax)))))
        .join("");
    },
    end: (isEmpty) => (isEmpty ? "No blocked requests.\n" : ""),
  };
}

function layoutFor(lineWidth: number | undefined): readonly Column[] {
  // Rows that are read later must not move the columns of a file.
  if (lineWidth === undefined) {
    return columns.map((column) => (column.title === "CLIENT" ? { ...column, width: clientWidthMax } : column));
  }
  const shown = columns.filter(({ isOptional }) => isOptional !== true || lineWidth >= wideFrom);
  const taken = shown.reduce((sum, { width }) => sum + width + gap.length, 0) - gap.length;
  const missing = Math.max(0, taken + pathWidthWanted - lineWidth);
  return shown.map((column) =>
    column.title === "REASON" ? { ...column, width: Math.max(reasonWidthMin, column.width - missing) } : column,
  );
}

function paddedCell(cell: string, width: number, isCut: boolean): string {
  const text = isCut && width > 0 ? fitted(cell, width) : cell;
  return text + " ".repeat(Math.max(0, width - cellsOf(text)));
}

/** The string, truncated with an ellipsis to at most this number of terminal cells. */
function fitted(text: string, width: number): string {
  if (cellsOf(text) <= width) return text;
  let kept = "";
  let cells = 1;
  for (const character of text) {
    cells += cellsOf(character);
    if (cells > width) break;
    kept += character;
  }
  return `${kept}…`;
}

const wide =
  /[\u1100-\u115F\u2E80-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6]|\p{Emoji_Presentation}/u;

/** The number of terminal cells of the string. */
function cellsOf(text: string): number {
  let cells = 0;
  for (const character of text) cells += /\p{M}/u.test(character) ? 0 : wide.test(character) ? 2 : 1;
  return cells;
}
