// The managed entries as lines, and the table of their owners to which these lines refer: `203.0.113.7 1f0x3k9a2b` refers to the row
// `1f0x3k9a2b Added 2026-05-01T12:00:00.000Z WafIpRule:shop/scanners`.
//
// A row's ID is derived from its content, not numbered, so that it has the same meaning in mixed versions after a crash. An entry
// whose row is missing has unknown owners, which is safe: every hold applies to it.
import { createHash } from "node:crypto";
import { decodeWord, encodeWord } from "../model/encoded-word.ts";
import { parseOwners, unknownOwners } from "../model/entry-owners.ts";
import { type Entry, isOpaque } from "../model/entry.ts";
import type { OwnedEntry } from "../model/inventory.ts";
import { decodeTime, encodeTime } from "./inventory-lines.ts";

const idLength = 10;
const noTime = "-";
/** The number of entries that take a few milliseconds. */
const sliceEntries = 10_000;
/** The optional suffix of an entry's line. */
const suffixPattern =
  /^(?: (?<id>[0-9a-z]{10}))?(?: retained-by=(?<retainedBy>\S+))?(?: missing-since=(?<missing>\S+))?$/;

type Provenance = Pick<OwnedEntry, "owners" | "sinceMs" | "manner">;

const unknownProvenance: Provenance = { owners: unknownOwners, sinceMs: undefined, manner: "Added" };

/** Encodes entries as lines, and collects the rows to which they refer. */
export class EntryWriter {
  /** By ID. */
  readonly #rows = new Map<string, string>();
  /** The suffix of an entry's line. Entries share their records, so it is computed only a few times. */
  readonly #suffixes = new Map<OwnedEntry, string>();

  *lines(entries: ReadonlyMap<Entry, OwnedEntry>): Iterable<string> {
    for (const [entry, record] of entries) yield encodeWord(entry) + this.#suffixOf(record);
  }

  /** The same, sorted as text, and in slices. */
  *sortedLines(entries: ReadonlyMap<Entry, OwnedEntry>): Generator<undefined, string[]> {
    const lines: string[] = [];
    for (const line of this.lines(entries)) {
      lines.push(line);
      if (lines.length % sliceEntries === 0) yield undefined;
    }
    return lines.sort();
  }

  /** The rows of all lines so far. */
  *rows(): Iterable<string> {
    for (const [id, content] of this.#rows) yield `${id} ${content}`;
  }

  #suffixOf(record: OwnedEntry): string {
    const known = this.#suffixes.get(record);
    if (known !== undefined) return known;
    const id = this.#idOf(record);
    const retained = record.retainedBy === undefined ? "" : ` retained-by=${encodeWord(record.retainedBy)}`;
    const { missingSinceMs } = record;
    const missing = missingSinceMs === undefined ? "" : ` missing-since=${encodeTime(missingSinceMs)}`;
    const suffix = `${id === undefined ? "" : ` ${id}`}${retained}${missing}`;
    this.#suffixes.set(record, suffix);
    return suffix;
  }

  /** Undefined if nothing is known about the entry, or for the second of two rows with the same ID. */
  #idOf(record: OwnedEntry): string | undefined {
    const { owners, sinceMs, manner } = record;
    if (owners === unknownOwners && sinceMs === undefined && manner === "Added") return undefined;
    const { content, id } = rowOf(record);
    const known = this.#rows.get(id);
    if (known === undefined) this.#rows.set(id, content);
    return known === undefined || known === content ? id : undefined;
  }
}

/** Parses the rows first, and then the lines that refer to them. */
export class EntryReader {
  readonly #rows = new Map<string, Provenance>();
  /** By suffix; null for an invalid one. */
  readonly #records = new Map<string, OwnedEntry | null>();

  /** Adds one line of the table; false if it is invalid. */
  readRow(line: string): boolean {
    const [id = "", manner, time, ...words] = line.split(" ");
    const sinceMs = time === noTime ? undefined : decodeTime(time);
    const owners = parseOwners(words);
    if (!isId(id) || (manner !== "Added" && manner !== "Adopted") || sinceMs === null) return false;
    if (owners === undefined || this.#rows.has(id)) return false;
    this.#rows.set(id, { owners, sinceMs, manner });
    return true;
  }

  /** Adds the line of an entry; false if it is invalid. */
  readEntry(line: string, into: Map<Entry, OwnedEntry>): boolean {
    const space = line.indexOf(" ");
    const entry = decodeEntry(space === -1 ? line : line.slice(0, space));
    const record = this.#recordOf(space === -1 ? "" : line.slice(space));
    if (entry === undefined || record === null || into.has(entry)) return false;
    into.set(entry, record);
    return true;
  }

  #recordOf(suffix: string): OwnedEntry | null {
    const known = this.#records.get(suffix);
    if (known !== undefined) return known;
    const record = this.#readSuffix(suffix);
    this.#records.set(suffix, record);
    return record;
  }

  #readSuffix(suffix: string): OwnedEntry | null {
    const groups = suffixPattern.exec(suffix)?.groups;
    const retainedBy = decodeWord(groups?.["retainedBy"]);
    const missing = groups?.["missing"];
    const missingSinceMs = missing === undefined ? undefined : decodeTime(missing);
    if (groups === undefined || retainedBy === null || missingSinceMs === null) return null;
    const provenance = this.#rows.get(groups["id"] ?? "") ?? unknownProvenance;
    return { ...provenance, retainedBy, ...(missingSinceMs === undefined ? {} : { missingSinceMs }) };
  }
}

/** The ID on the line of an entry. */
export function rowIdOf(line: string): string | undefined {
  const space = line.indexOf(" ");
  const word = line.slice(space + 1, space + 1 + idLength);
  const isWhole = line.length === space + 1 + idLength || line[space + 1 + idLength] === " ";
  return space !== -1 && isWhole && isId(word) ? word : undefined;
}

/**
 * Merges two lines about one entry after a crash between two shards: keeps the retaining rule, and the row if only one line has a
 * row or both have the same.
 */
export function mergeEntryLines(a: string, b: string): string {
  if (a === b) return a;
  const [idA, idB] = [rowIdOf(a), rowIdOf(b)];
  const id = idA !== undefined && idB !== undefined && idA !== idB ? undefined : (idA ?? idB);
  const retained = [a, b].flatMap((line) => line.split(" ").filter((word) => word.startsWith("retained-by=")));
  return [a.split(" ", 1)[0], id, retained[0]].filter((word) => word !== undefined).join(" ");
}

/** Addresses, networks, and opaque entries of the WAF. */
export function decodeEntry(word: string | undefined): Entry | undefined {
  const text = decodeWord(word);
  if (typeof text !== "string") return undefined;
  const entry = text as Entry;
  return isOpaque(entry) || /^[0-9a-f.:/]+$/.test(text) ? entry : undefined;
}

function rowOf(record: OwnedEntry): { readonly content: string; readonly id: string } {
  const former = rows.get(record);
  if (former !== undefined) return former;
  const { owners, sinceMs, manner } = record;
  const time = sinceMs === undefined ? noTime : encodeTime(sinceMs);
  const content = owners === unknownOwners ? `${manner} ${time}` : `${manner} ${time} ${owners}`;
  const row = { content, id: idOf(content) };
  rows.set(record, row);
  return row;
}

// A record is saved repeatedly with the same owners, and guests can have thousands of them.
const rows = new WeakMap<OwnedEntry, { readonly content: string; readonly id: string }>();

/** Ten digits of base 36: two of 100,000 rows share one with a probability of one in a million. */
function idOf(content: string): string {
  const digest = createHash("sha256").update(content).digest().readBigUInt64BE();
  return (digest % 36n ** BigInt(idLength)).toString(36).padStart(idLength, "0");
}

function isId(word: string): boolean {
  return /^[0-9a-z]{10}$/.test(word);
}
