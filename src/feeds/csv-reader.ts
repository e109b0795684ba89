// Reads one column of a table. csv-parse parses it; this file selects the column and detects invalid tables.
import { pipeline } from "node:stream/promises";
import { CsvError, type Options, parse } from "csv-parse";
import type { CsvFormat } from "../model/declared-feed.ts";
import type { EntryCollector, ReadFault } from "./entry-collector.ts";

/** The maximum length of a row: longer rows are caused by an unclosed quotation mark. */
const rowBytesMax = 65_536;
const columnsMax = 1000;

interface Row {
  readonly record: readonly string[];
  readonly info: { readonly lines: number };
}

/** Adds the entries of the column to the collector. Returns a fault if the content is not a valid table. */
export async function readCsv(
  chunks: AsyncIterable<Buffer>,
  format: CsvFormat,
  collector: EntryCollector,
): Promise<ReadFault | undefined> {
  const parser = parse(optionsOf(format));
  // An error of the chunks becomes one of the parser, which the reader sees.
  const feeding = pipeline(chunks, parser).catch(() => undefined);
  try {
    let column = format.header ? undefined : positionOf(format.column);
    for await (const { record, info } of parser as AsyncIterable<Row>) {
      if (column === undefined) {
        column = columnOf(format, record);
        if (column === undefined) return missingColumn(format, record);
        continue;
      }
      const cell = record[column]?.trim() ?? "";
      if (cell === "") collector.addInvalid("", `column ${format.column} of the row is empty`, info.lines);
      else collector.addText(cell, info.lines);
      if (collector.isFull) break;
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    return {
      code: "NotInFormat",
      message: `The response is not a CSV table: line ${String(error["lines"])} (${error.code}).`,
    };
  } finally {
    parser.destroy();
    await feeding;
  }
  return undefined;
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

function columnOf({ column }: CsvFormat, head: readonly string[]): number | undefined {
  const byName = head.findIndex((name) => name.trim().toLowerCase() === column.toLowerCase());
  if (byName >= 0) return byName;
  const byPosition = positionOf(column);
  return byPosition !== undefined && byPosition < Math.min(head.length, columnsMax) ? byPosition : undefined;
}

function missingColumn({ column }: CsvFormat, head: readonly string[]): ReadFault {
  const message = `The table has no column ${column}: its first row has ${head.length} columns.`;
  return { code: "NotInFormat", message };
}
