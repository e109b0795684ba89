// Reads a plain list chunk by chunk. Nearly every line is an IPv4 address or network, possibly followed by a number or a comment:
// these are read without a string for each line. All others go to readPlainLine. A test ensures that both have the same results.
import { isUtf8 } from "node:buffer";
import type { Entry } from "../../address/entry.ts";
import { Ipv4Reader } from "../../address/ipv4-reader.ts";
import type { EntryCollector } from "./entry-collector.ts";
import { isTableHead, readPlainLine } from "./plain-line.ts";

/** A longer line counts as one invalid entry, and its rest is skipped. */
export const lineBytesMax = 4096;

const tab = 9;
const lineFeed = 10;
const carriageReturn = 13;
const space = 32;
const hash = 35;
const zero = 48;
const nine = 57;
const semicolon = 59;

const empty = Buffer.alloc(0);

export class PlainReader {
  readonly #collector: EntryCollector;
  readonly #reader = new Ipv4Reader();
  #rest: Buffer = empty;
  /** True within a line that is too long. */
  #isSkipping = false;
  #line = 1;

  constructor(collector: EntryCollector) {
    this.#collector = collector;
  }

  write(chunk: Buffer): void {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const end = bytes.lastIndexOf(lineFeed) + 1;
    if (end > 0) this.#readLines(bytes.subarray(0, end));
    this.#rest = bytes.subarray(end);
    if (this.#rest.length <= lineBytesMax) return;
    if (!this.#isSkipping && !isCommentMark(this.#rest[0])) this.#refuseLongLine(this.#rest);
    this.#isSkipping = true;
    this.#rest = empty;
  }

  /** The last line needs no line break. */
  end(): void {
    if (this.#rest.length > 0) this.write(Buffer.of(lineFeed));
  }

  /** `block` ends with a line break. */
  #readLines(block: Buffer): void {
    let start = 0;
    if (this.#isSkipping) {
      this.#isSkipping = false;
      this.#line += 1;
      start = block.indexOf(lineFeed) + 1;
    }
    // Slices of one string are cheaper than decoding the bytes of each line.
    const text = block.toString("latin1");
    while (start < block.length && !this.#collector.isFull) {
      const isEmpty = block[start] === lineFeed;
      start = isEmpty ? start + 1 : (this.#readCommonLine(text, start) ?? this.#readAnyLine(block, start));
      this.#line += 1;
    }
  }

  /** The start of the next line; undefined if this line is not a common one. */
  #readCommonLine(text: string, start: number): number | undefined {
    const reader = this.#reader;
    if (!reader.readNetwork(text, start)) return undefined;
    const next = endOfCommonLine(text, reader.end);
    if (next === undefined || next - 1 - start > lineBytesMax) return undefined;
    if (reader.prefixLength < 32) this.#collector.addEntry(text.slice(start, reader.end) as Entry);
    else if (this.#collector.isNewAddress(reader.address)) {
      this.#collector.addNew(text.slice(start, reader.addressEnd) as Entry);
    }
    return next;
  }

  #readAnyLine(block: Buffer, start: number): number {
    const next = block.indexOf(lineFeed, start) + 1;
    if (isCommentMark(block[start])) return next;
    const bytes = block.subarray(start, next - 1);
    if (bytes.length > lineBytesMax) this.#refuseLongLine(bytes);
    else this.#readText(isUtf8(bytes) ? bytes.toString("utf8") : bytes.toString("latin1"));
    return next;
  }

  #readText(text: string): void {
    const line = readPlainLine(text);
    if (line.kind === "Blank" || (this.#collector.isEmpty && isTableHead(text))) return;
    if (line.kind === "Entry") return this.#collector.addEntry(line.entry);
    const safe = this.#collector.redacted(text);
    const shown = safe === text ? line : readPlainLine(safe);
    // Without the secret, a line may be a comment.
    if (shown.kind === "Invalid") this.#collector.addInvalid(shown.text, shown.message, this.#line);
    else this.#collector.addInvalid(safe, "the line contains a secret of the feed", this.#line);
  }

  #refuseLongLine(bytes: Buffer): void {
    const message = `the line has more than ${lineBytesMax} bytes: write one entry per line`;
    this.#collector.addInvalid(
      this.#collector.redacted(bytes.toString("latin1", 0, lineBytesMax)),
      message,
      this.#line,
    );
  }
}

/**
 * Checks the rest of the line after a common entry: its end, whitespace and a comment, or a tab and a number. Returns the start of the
 * next line.
 */
function endOfCommonLine(text: string, end: number): number | undefined {
  const code = text.charCodeAt(end);
  if (code === lineFeed) return end + 1;
  if (code === carriageReturn) return text.charCodeAt(end + 1) === lineFeed ? end + 2 : undefined;
  if (code !== tab && code !== space) return undefined;
  const mark = text.charCodeAt(end + 1);
  if (isCommentMark(mark)) return text.indexOf("\n", end) + 1;
  let index = end + 1;
  while (isDigit(text.charCodeAt(index))) index += 1;
  if (text.charCodeAt(index) === carriageReturn) index += 1;
  return text.charCodeAt(index) === lineFeed ? index + 1 : undefined;
}

function isCommentMark(code: number | undefined): boolean {
  return code === hash || code === semicolon;
}

function isDigit(code: number): boolean {
  return code >= zero && code <= nine;
}
