// Parses the content of a feed, in its declared format, into entries.
import { isUtf8 } from "node:buffer";
import type { Clock } from "../async/clock.ts";
import { inSlices } from "../async/time-slices.ts";
import type { FeedFormat, JsonFormat } from "../model/declared.ts";
import { parseJson } from "../model/record.ts";
import { inThousands, shortened, noteText } from "../model/texts.ts";
import { fail, type FeedReading, emptyFeedContent, type InvalidLine } from "./feed-state.ts";
import { type Entry, parseDeclaredEntry } from "../address/entry.ts";
import { readAddress, readNetwork } from "../address/network.ts";

export interface ReadOptions {
  readonly entriesMax?: number;
  /** Makes the strings of invalid lines safe to show. */
  readonly redact?: (text: string) => string;
  /** Lets other work run in between. */
  readonly clock: Pick<Clock, "monotonicMs" | "sleep">;
}

/** Fails if the content is not in this format. The parser of tables is loaded on demand. */
export async function readFeed(
  body: Buffer,
  format: FeedFormat,
  { entriesMax = Number.POSITIVE_INFINITY, redact, clock }: ReadOptions,
): Promise<FeedReading> {
  const collector = new EntryCollector(entriesMax, redact);
  if (format.type === "Plain") await inSlices(clock, readPlain(body, collector));
  else if (format.type === "Json") readJson(body, format, collector);
  else await (await import("./csv-reader.ts")).readCsv(body, format, collector, clock);
  return collector.reading();
}

/** A document with more values would fill the memory. Counts objects, lists and their values. */
export const valuesMax = 500_000;

/** Adds the selected values to the collector. Fails if the document is not JSON. */
function readJson(body: Buffer, { path }: JsonFormat, collector: EntryCollector): void {
  if (countValues(body) > valuesMax) fail(`The response has more than ${inThousands(valuesMax)} values.`);
  const value = isUtf8(body) ? parseJson(body.toString("utf8").replace(/^\uFEFF/u, "")) : undefined;
  if (value === undefined) fail("The response is not JSON.");
  collect(selected(value, path.replace(/^\$/u, "").match(/\[\*\]|[^.[]+/gu) ?? []), collector);
}

const [quote, comma, backslash, openBracket, openBrace] = Buffer.from('",\\[{');

function countValues(body: Buffer): number {
  let values = 0;
  let isInString = false;
  for (let place = 0; place < body.length; place += 1) {
    const code = body[place];
    if (isInString && code === backslash) place += 1;
    else if (code === quote) isInString = !isInString;
    else if (!isInString && (code === comma || code === openBracket || code === openBrace)) values += 1;
  }
  return values;
}

function collect(values: Iterable<unknown>, collector: EntryCollector): void {
  let place = 0;
  for (const value of values) {
    place += 1;
    if (typeof value === "string") collector.addText(value, place);
    else if (Array.isArray(value)) collector.addInvalid("[…]", "the path selects a list: append [*] to it", place);
    else collector.addInvalid(nameOf(value), "the path selects a value that is not a string", place);
  }
}

/** The values at the end of the path, in their order. Values without a member of the name are skipped. */
function* selected(value: unknown, [step, ...rest]: readonly string[]): Generator {
  if (step === undefined) yield value;
  else if (typeof value !== "object" || value === null) return;
  else if (step === "[*]") for (const each of Object.values(value)) yield* selected(each, rest);
  else if (!Array.isArray(value) && Object.hasOwn(value, step)) {
    yield* selected((value as Record<string, unknown>)[step], rest);
  }
}

function nameOf(value: unknown): string {
  return typeof value === "object" && value !== null ? "{…}" : JSON.stringify(value);
}

// Reads a plain list, in the formats of public lists: each line is a comment, or has an entry in its first column.

/** A longer line counts as one invalid entry. */
export const lineLengthMax = 4096;
/** Parsing them takes about a millisecond. */
const sliceLines = 1_000;

/** Adds the entries to the collector, in slices. */
function* readPlain(body: Buffer, collector: EntryCollector): Generator<undefined, undefined> {
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

// Collects the results of a reader: distinct entries in order, the counts, and the first invalid lines. Fails beyond its limits.

export const invalidLinesMax = 10;
/** Content with more invalid lines is not a list, and explaining each of them takes time. */
const invalidMax = 100_000;
const textLengthMax = 80;
/** Servers must not fill the memory with comments: a megabyte at most. */
const notesMax = 10_000;
const unprintable = /[\p{C}\p{Z}\s]+/gu;

export class EntryCollector {
  readonly #entries = new Set<Entry>();
  readonly #notes = new Map<Entry, string>();
  readonly #invalidLines: InvalidLine[] = [];
  readonly #entriesMax: number;
  readonly #redact: (text: string) => string;
  #size = 0;
  #invalid = 0;
  #duplicates = 0;

  /** @param redact makes a string safe to show */
  constructor(entriesMax: number, redact: (text: string) => string = (text) => text) {
    this.#entriesMax = entriesMax;
    this.#redact = redact;
  }

  get isEmpty(): boolean {
    return this.#entries.size + this.#invalid === 0;
  }

  /** Parses a string as strictly as an entry that a user declares. */
  addText(text: string, line: number): void {
    const parsed = parseDeclaredEntry(text);
    if (parsed.ok) return this.addEntry(parsed.entry);
    const safe = this.redacted(text);
    const shown = safe === text ? parsed : parseDeclaredEntry(safe);
    this.addInvalid(safe, shown.ok ? "" : shown.message, line);
  }

  /** An invalid string in a form that may be shown; unchanged if no more are shown. Call this before extracting a part of it. */
  redacted(text: string): string {
    return this.#invalidLines.length < invalidLinesMax ? this.#redact(text) : text;
  }

  /** @param comment behind the entry; empty if there is none */
  addEntry(entry: Entry, comment = ""): void {
    if (comment !== "" && this.#notes.size < notesMax && !this.#entries.has(entry))
      this.#notes.set(entry, noteText(this.#redact(comment)));
    const { size } = this.#entries.add(entry);
    // Asking first would take as long again.
    if (size === this.#size) this.#duplicates += 1;
    this.#size = size;
    if (size > this.#entriesMax) fail(`The feed has more than ${inThousands(this.#entriesMax)} entries.`);
  }

  /** `text` and `message` must be derived from a string that `redacted` returned. */
  addInvalid(text: string, message: string, line: number): void {
    this.#invalid += 1;
    if (this.#invalid > invalidMax) {
      fail(`The feed has more than ${inThousands(invalidMax)} lines that are not valid entries.`);
    }
    if (this.#invalidLines.length >= invalidLinesMax) return;
    const shown = shortened(
      text
        .slice(0, 4 * textLengthMax)
        .replaceAll(unprintable, " ")
        .trim(),
      textLengthMax,
    );
    this.#invalidLines.push({ line, text: shown, message });
  }

  reading(): FeedReading {
    const valid = this.#entries.size;
    const total = valid + this.#invalid + this.#duplicates;
    return {
      content: {
        ...emptyFeedContent,
        entries: [...this.#entries],
        ...(this.#notes.size > 0 && { notes: this.#notes }),
      },
      counts: { total, valid, invalid: this.#invalid, duplicates: this.#duplicates },
      invalidLines: this.#invalidLines,
    };
  }
}
