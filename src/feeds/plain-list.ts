// Reads a plain list, in the formats of public lists: each line is a comment, or has an entry in its first column.
import { isUtf8 } from "node:buffer";
import { type Entry, parseDeclaredEntry } from "../address/entry.ts";
import { readAddress, readNetwork } from "../address/network.ts";
import type { EntryCollector } from "./entry-collector.ts";

/** A longer line counts as one invalid entry. */
export const lineLengthMax = 4096;
/** Parsing them takes about a millisecond. */
const sliceLines = 1_000;

/** Adds the entries to the collector, in slices. */
export function* readPlain(body: Buffer, collector: EntryCollector): Generator<undefined, undefined> {
  const text = body.toString(isUtf8(body) ? "utf8" : "latin1");
  let number = 0;
  for (let start = 0; start < text.length;) {
    const end = text.indexOf("\n", start);
    number += 1;
    readLine(text.slice(start, end < 0 ? undefined : end), number, collector);
    start = end < 0 ? text.length : end + 1;
    if (number % sliceLines === 0) yield undefined;
  }
  return undefined;
}

function readLine(text: string, number: number, collector: EntryCollector): void {
  if (text.startsWith("#") || text.startsWith(";")) return;
  if (text.length > lineLengthMax) {
    const message = `the line has more than ${lineLengthMax} bytes: write one entry per line`;
    collector.addInvalid(collector.redacted(text.slice(0, lineLengthMax)), message, number);
    return;
  }
  const line = readPlainLine(text);
  if (line.kind === "Blank" || (collector.isEmpty && isTableHead(text))) return;
  if (line.kind === "Entry") return collector.addEntry(line.entry, line.comment);
  const safe = collector.redacted(text);
  const shown = safe === text ? line : readPlainLine(safe);
  // Without the secret, a line may be a comment.
  if (shown.kind === "Invalid") collector.addInvalid(shown.text, shown.message, number);
  else collector.addInvalid(safe, "the line contains a secret of the feed", number);
}

export type PlainLine =
  | { readonly kind: "Blank" }
  /** `comment` is empty if there is none. */
  | { readonly kind: "Entry"; readonly entry: Entry; readonly comment: string }
  | { readonly kind: "Invalid"; readonly text: string; readonly message: string };

const blank: PlainLine = { kind: "Blank" };

/** Nearly every line of public lists: an entry, and perhaps a number or a comment. The other steps take longer for the same result. */
const commonLine = /^([\d./]+)(?:[\t ](?:\d{0,9}|[#;](.*)))?\r?$/;

/** A comment starts at the beginning of the line or after whitespace, so that it can't split an entry. */
const comment = /(?:^|\s)[#;]/u;
const separators = /[\t ,]+/u;
/** `first - last`: its first column alone would block one address of the range. */
const rangeEnd = /^\S+\s+(?:[-–—]|to\s)\s*([^\s,]+)/iu;
const columnName = /^[a-z][a-z _-]*$/iu;

export function readPlainLine(line: string): PlainLine {
  const common = commonLine.exec(line);
  if (common !== null) return readEntry(common[1] ?? "", common[2]);
  const start = line.search(comment);
  const text = (start < 0 ? line : line.slice(0, start)).trim();
  if (text === "") return blank;
  const note = start < 0 ? "" : line.slice(start).replace(comment, "");
  const [first = "", second, third] = text.split(separators, 3);
  const end = rangeEnd.exec(text)?.[1];
  if (end !== undefined && readAddress(end) !== undefined) return twoAddresses(text);
  if (second !== undefined && readAddress(second) !== undefined) return readRange(first, second, third, note);
  return readEntry(first, note);
}

/** The header row of a table, as in DShield. */
export function isTableHead(line: string): boolean {
  const columns = line.trim().split(/[\t,]/u);
  return columns.length > 1 && columns.every((column) => columnName.test(column.trim()));
}

function readEntry(text: string, note = ""): PlainLine {
  const parsed = parseDeclaredEntry(text);
  if (parsed.ok) return { kind: "Entry", entry: parsed.entry, comment: note };
  return { kind: "Invalid", text, message: parsed.message };
}

/** `first last prefix`, the DShield format of networks: accepted only if all three are consistent. */
function readRange(first: string, last: string, prefix: string | undefined, note: string): PlainLine {
  const text = `${first}/${prefix ?? ""}`;
  const network = readNetwork(text, "strict");
  const end = readAddress(last);
  if (network !== undefined && network.last === end?.address) return readEntry(text, note);
  return twoAddresses(`${first} ${last}`);
}

function twoAddresses(text: string): PlainLine {
  const message =
    "the line has two addresses that are not the first and last address of one network: write one entry per line, or select a column with `format: Csv`";
  return { kind: "Invalid", text, message };
}
