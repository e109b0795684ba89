// Collects the results of a reader: distinct entries in order, the counts, and the first invalid lines. Fails beyond its limits.
import { type Entry, parseDeclaredEntry } from "../address/entry.ts";
import { inThousands, shortened } from "../model/sentence.ts";
import { noteText } from "../model/visible-text.ts";
import { emptyFeedContent, fail, type FeedReading, type InvalidLine } from "./content.ts";

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
