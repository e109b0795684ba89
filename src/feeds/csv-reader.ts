// Reads one column of a table. csv-parse parses it; this file selects the column and detects invalid tables.
import { Readable } from "node:stream";
import { CsvError, type Options, parse } from "csv-parse";
import { TimeSlices } from "../async/time-slices.ts";
import type { CsvFormat } from "../model/declared.ts";
import { fail } from "./feed-state.ts";
import type { EntryCollector } from "./read-feed.ts";

/** The maximum length of a row: longer rows are caused by an unclosed quotation mark. */
const rowBytesMax = 65_536;
const pieceBytes = 65_536;

interface Row {
  readonly record: readonly string[];
  readonly info: { readonly lines: number };
}

/** Adds the entries of the column to the collector. Fails if the content is not a valid table. */
export async function readCsv(
  body: Buffer,
  format: CsvFormat,
  collector: EntryCollector,
  clock: ConstructorParameters<typeof TimeSlices>[0],
): Promise<void> {
  const slices = new TimeSlices(clock);
  const parser = Readable.from(piecesOf(body)).pipe(parse(optionsOf(format)));
  try {
    let column = format.header ? undefined : positionOf(format.column);
    for await (const { record, info } of parser as AsyncIterable<Row>) {
      if (column === undefined) {
        column = columnOf(format, record);
        continue;
      }
      const cell = record[column]?.trim() ?? "";
      if (cell === "") collector.addInvalid("", `column ${format.column} of the row is empty`, info.lines);
      else collector.addText(cell, info.lines);
      if (slices.isOver) await slices.pause();
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    fail(`The response is not a CSV table: line ${String(error["lines"])} (${error.code}).`);
  } finally {
    parser.destroy();
  }
}

/** The parser works on one of them without a pause. */
function* piecesOf(body: Buffer): Generator<Buffer> {
  for (let start = 0; start < body.length; start += pieceBytes) yield body.subarray(start, start + pieceBytes);
}

function optionsOf({ delimiter }: CsvFormat): Options {
  return {
    bom: true,
    delimiter,
    comment: "#",
    comment_no_infix: true,
    info: true,
    max_record_size: rowBytesMax,
    relax_column_count: true,
    skip_empty_lines: true,
    trim: delimiter !== "\t" && delimiter !== " ",
  };
}

/** Columns are counted from 1. */
function positionOf(column: string): number | undefined {
  return /^[1-9]\d{0,2}$/u.test(column) ? Number(column) - 1 : undefined;
}

function columnOf({ column }: CsvFormat, head: readonly string[]): number {
  const byName = head.findIndex((name) => name.trim().toLowerCase() === column.toLowerCase());
  if (byName >= 0) return byName;
  const byPosition = positionOf(column);
  if (byPosition !== undefined && byPosition < head.length) return byPosition;
  return fail(`The table has no column ${column}: its first row has ${head.length} columns.`);
}
