// Parses one line of a plain list, in the formats of public lists: a comment, or an entry in the first column. Handles every line
// that the fast scanner does not handle, and gives the same results for all others.
import type { Entry } from "../../address/entry.ts";
import { parseDeclaredEntry } from "../../address/entry.ts";
import { readAddress, readNetwork } from "../../address/network.ts";

export type PlainLine =
  | { readonly kind: "Blank" }
  | { readonly kind: "Entry"; readonly entry: Entry }
  | { readonly kind: "Invalid"; readonly text: string; readonly message: string };

const blank: PlainLine = { kind: "Blank" };

/** A comment starts at the beginning of the line or after whitespace, so that it can't split an entry. */
const comment = /(?:^|\s)[#;]/u;
const separators = /[\t ,]+/u;
/** `first - last`: its first column alone would block one address of the range. */
const rangeEnd = /^\S+\s+(?:[-–—]|to\s)\s*([^\s,]+)/iu;
const columnName = /^[a-z][a-z _-]*$/iu;

export function readPlainLine(line: string): PlainLine {
  const start = line.search(comment);
  const text = (start < 0 ? line : line.slice(0, start)).trim();
  if (text === "") return blank;
  const [first = "", second, third] = text.split(separators, 3);
  const end = rangeEnd.exec(text)?.[1];
  if (end !== undefined && readAddress(end) !== undefined) return twoAddresses(text);
  if (second !== undefined && readAddress(second) !== undefined) return readRange(first, second, third);
  return readEntry(first);
}

/** The header row of a table, as in DShield. */
export function isTableHead(line: string): boolean {
  const columns = line.trim().split(/[\t,]/u);
  return columns.length > 1 && columns.every((column) => columnName.test(column.trim()));
}

function readEntry(text: string): PlainLine {
  const parsed = parseDeclaredEntry(text);
  return parsed.ok ? { kind: "Entry", entry: parsed.entry } : { kind: "Invalid", text, message: parsed.fault.message };
}

/** `first last prefix`, the DShield format of networks: accepted only if all three are consistent. */
function readRange(first: string, last: string, prefix: string | undefined): PlainLine {
  const text = `${first}/${prefix ?? ""}`;
  const network = readNetwork(text, "strict");
  const end = readAddress(last);
  if (network !== undefined && network.last === end?.address) return readEntry(text);
  return twoAddresses(`${first} ${last}`);
}

function twoAddresses(text: string): PlainLine {
  const message =
    "the line has two addresses that are not the first and last address of one network: write one entry per line, or select a column with `format: Csv`";
  return { kind: "Invalid", text, message };
}
