// Processes the pages of one day in order: decides which rows to forward, and whether the day is complete or has to be
// read again from its start. Rows that an earlier reading forwarded are left out, even if the order has changed meanwhile.
// In the first reading of a day that is not followed, all rows are new, and hardly any day has to be read again. So nothing is recorded
// of its last page, the first pages are only kept as text, and of those in between the identities are listed, because a Map takes longer
// than parsing the page.
import type { BrokenLogEntry, LogEntry, LogPage, LogRows } from "../model/log-entry.ts";
import { counted, inThousands, formatDay } from "../model/texts.ts";
import { type RowIdentity, type RowTally, tallyRowsMax } from "./row-tally.ts";

/** After this many consecutive readings with the same contradiction, the last one is accepted, and the defect is reported. */
export const defectsMax = 3;
export const brokenShownMax = 3;
/** The maximum number of pages per reading. */
export const pagesMax = 100_000;
/** The number of characters of pages that are kept as text for each day. */
const textKeptMax = 2 ** 24;
/** Two pages with the same number of rows, of which this many are equal, count as one. */
const rowsCompared = 16;
/** The maximum number of empty pages with a further scroll ID while rows are missing. */
const emptyPagesMax = 3;

/** Completes "The WAF sent …". */
const tooManyRows = "more log entries for one day than wafsync remembers, and the day had to be read again";

/**
 * - `RepeatedPage`: a page was sent twice. `TooManyRows`, `TooFewRows`: the number differs from `total.value`. `Endless`: more pages
 *   than `pagesMax`.
 */
export type ReadingDefect = "RepeatedPage" | "TooManyRows" | "TooFewRows" | "Endless";

export interface DaySummary {
  /** The number of rows in the last reading, including broken ones. */
  readonly came: number;
  /** The number of rows that the API reports. */
  readonly total: number;
  /** The first broken rows, by their position in the day, starting at 1. */
  readonly broken: readonly BrokenLogEntry[];
  readonly brokenCount: number;
  /** The number of rows that an earlier reading forwarded and the last one did not contain: some may have been forwarded twice. */
  readonly surplus: number;
}

/** How a day deviates from the documentation of the API: clauses without a period at the end. */
export function dayDefects(day: number, { came, total, broken, brokenCount, surplus }: DaySummary) {
  const defects: string[] = [];
  const date = formatDay(day);
  if (brokenCount > 0) {
    const left = counted(brokenCount, "malformed entry is", "malformed entries are");
    const examples = broken.map(({ position, problem }) => `entry ${position}: ${problem}`).join("; ");
    defects.push(`${date}: ${left} skipped (${examples}${brokenCount > broken.length ? "; …" : ""})`);
  }
  if (came !== total) {
    defects.push(`${date}: the WAF announced ${inThousands(total)} entries but sent ${inThousands(came)}`);
  }
  if (surplus > 0) {
    const rows = counted(surplus, "entry is", "entries are");
    defects.push(`${date}: ${rows} in an earlier response of the WAF but not in its last one, and may be duplicates`);
  }
  return defects;
}

export type PageVerdict = { readonly rows: readonly LogEntry[] } & (
  | { readonly next: "Page"; readonly scrollId: string }
  | { readonly next: "Again"; readonly defect: ReadingDefect }
  | { readonly next: "Nothing"; readonly summary: DaySummary }
  | { readonly next: "Failed"; readonly problem: string }
);

type Reading = ReturnType<typeof newReading>;

export class LogDayReading {
  readonly #identityOf: RowIdentity;
  readonly #rowsMax: number;
  #tally: RowTally | undefined;
  #reading: Reading = newReading(true, undefined);
  /** The pages of the first reading, or the identities of their rows. */
  #listed: (LogPage | Float64Array)[] = [];
  #rowsListed = 0;
  #textKept = 0;
  /** Repeated pages, by their number, and in how many consecutive readings they were repeated. */
  readonly #repeats = new Map<number, number>();
  #lastDefect: ReadingDefect | undefined;
  #defects = 0;

  /** @param tally The forwarded rows of this day; it is updated. Undefined if the day is read once. */
  constructor(identityOf: RowIdentity, tally: RowTally | undefined, rowsMax = tallyRowsMax) {
    this.#identityOf = identityOf;
    this.#tally = tally;
    this.#rowsMax = rowsMax;
    this.begin();
  }

  /** Whether a reading of this day contradicted itself or its total: then a row that occurs twice may be one request. */
  get isDoubtful(): boolean {
    return this.#lastDefect !== undefined;
  }

  /** Starts a reading: the next page is the first of the day. */
  begin(): void {
    if (this.#listed.length > 0) this.#tally = this.#tallyOfListed();
    const known = Math.max(this.#rowsListed, this.#tally?.size ?? 0);
    this.#listed = [];
    this.#reading = newReading(known < this.#rowsMax, known === 0 ? undefined : new Map());
  }

  page(page: LogPage, { entries, broken }: LogRows = page.rows()): PageVerdict {
    const reading = this.#reading;
    const { length } = page;
    reading.pages += 1;
    reading.totalMin = Math.min(reading.totalMin, page.total);
    reading.totalMax = Math.max(reading.totalMax, page.total);
    if (!reading.isRepeatable) return { next: "Failed", rows: [], problem: tooManyRows };
    const defect = this.#defectOf(length, entries);
    if (defect !== undefined) return this.#again(defect, []);
    this.#noteBroken(broken);
    reading.came += length;
    const rows = this.#select(page, entries);
    if (length === 0) reading.emptyPages += 1;
    if (page.scrollId !== null && !this.#isOver(length)) return { next: "Page", scrollId: page.scrollId, rows };
    return reading.came < reading.totalMin ? this.#again("TooFewRows", rows) : this.#done(rows);
  }

  #defectOf(length: number, entries: readonly LogEntry[]): ReadingDefect | undefined {
    const { pages, digests, came, totalMax } = this.#reading;
    if (pages > pagesMax) return "Endless";
    if (length > 1 && this.#isRepeated(pages, this.#digestOf(entries), digests)) return "RepeatedPage";
    return came + length > totalMax && !this.#isLenientOn("TooManyRows") ? "TooManyRows" : undefined;
  }

  /** Equal for pages with the same rows. */
  #digestOf(entries: readonly LogEntry[]): string {
    const count = Math.min(rowsCompared, entries.length);
    const compared = Array.from({ length: count }, (_, index) => entries[Math.floor((index * entries.length) / count)]);
    const identities = compared.map((entry) => entry && this.#identityOf(entry));
    return [entries.length, ...identities].join(" ");
  }

  /** A page that is repeated in every reading is part of the logs: many equal requests. */
  #isRepeated(page: number, digest: string, digests: Set<string>): boolean {
    if (!digests.has(digest)) {
      digests.add(digest);
      this.#repeats.delete(page);
      return false;
    }
    const repeats = (this.#repeats.get(page) ?? 0) + 1;
    this.#repeats.set(page, repeats);
    return repeats <= defectsMax;
  }

  #noteBroken(broken: readonly BrokenLogEntry[]): void {
    const reading = this.#reading;
    reading.brokenCount += broken.length;
    for (const { position, problem } of broken.slice(0, brokenShownMax - reading.broken.length)) {
      reading.broken.push({ position: reading.came + position + 1, problem });
    }
  }

  #select(page: LogPage, entries: readonly LogEntry[]): readonly LogEntry[] {
    const tally = this.#tally;
    if (tally !== undefined) return withoutKnown(entries, (entry) => this.#take(tally, this.#identityOf(entry)));
    const { came, totalMin } = this.#reading;
    // All forwarded rows that may be read again must be known.
    if (page.scrollId === null && came >= totalMin) return entries;
    if (this.#rowsListed < this.#rowsMax) this.#list(page, entries);
    this.#rowsListed += entries.length;
    return entries;
  }

  #list(page: LogPage, entries: readonly LogEntry[]): void {
    const isKept = this.#textKept + page.textLength <= textKeptMax;
    if (isKept) this.#textKept += page.textLength;
    this.#listed.push(isKept ? page : Float64Array.from(entries.map(this.#identityOf)));
  }

  #tallyOfListed(): RowTally {
    const tally: RowTally = new Map();
    for (const page of this.#listed) {
      const identities = page instanceof Float64Array ? page : page.rows().entries.map(this.#identityOf);
      for (const identity of identities) tally.set(identity, (tally.get(identity) ?? 0) + 1);
    }
    return tally;
  }

  /** Counts a row in the reading. @returns whether to forward it; it then counts as forwarded */
  #take(tally: RowTally, identity: number): boolean {
    const { seen } = this.#reading;
    const known = tally.get(identity) ?? 0;
    const count = seen === undefined ? known + 1 : (seen.get(identity) ?? 0) + 1;
    seen?.set(identity, count);
    if (count <= known) return false;
    if (known > 0 || tally.size < this.#rowsMax) tally.set(identity, count);
    return true;
  }

  /** How many forwarded rows the reading did not contain: the API no longer confirms them. */
  #surplus(): number {
    const { seen } = this.#reading;
    let surplus = 0;
    if (seen === undefined) return surplus;
    for (const [identity, count] of this.#tally ?? []) surplus += Math.max(0, count - (seen.get(identity) ?? 0));
    return surplus;
  }

  /** Some servers send a scroll ID with the last rows, followed by an empty page. */
  #isOver(length: number): boolean {
    const { came, totalMax, emptyPages } = this.#reading;
    return length === 0 && (came >= totalMax || emptyPages >= emptyPagesMax);
  }

  #again(defect: ReadingDefect, rows: readonly LogEntry[]): PageVerdict {
    this.#defects = defect === this.#lastDefect ? this.#defects + 1 : 1;
    this.#lastDefect = defect;
    // A day with too few rows may be accepted; after a repeated page, the end is unknown.
    if (defect === "TooFewRows" && this.#isLenientOn(defect)) return this.#done(rows);
    return { next: "Again", rows, defect };
  }

  #isLenientOn(defect: ReadingDefect): boolean {
    return this.#lastDefect === defect && this.#defects >= defectsMax;
  }

  #done(rows: readonly LogEntry[]): PageVerdict {
    const { came, totalMin, totalMax, broken, brokenCount } = this.#reading;
    // A total that grows during the reading is no contradiction: new rows may or may not be included.
    const total = came >= totalMin && came <= totalMax ? came : totalMax;
    return {
      next: "Nothing",
      rows,
      summary: { came, total, broken, brokenCount, surplus: this.#surplus() },
    };
  }
}

/** Copies the rows only if one must be left out. */
function withoutKnown(entries: readonly LogEntry[], take: (entry: LogEntry) => boolean): readonly LogEntry[] {
  let rows: LogEntry[] | undefined;
  for (const [index, entry] of entries.entries()) {
    if (!take(entry)) rows ??= entries.slice(0, index);
    else rows?.push(entry);
  }
  return rows ?? entries;
}

/**
 * @param isRepeatable whether all forwarded rows are known
 * @param seen how often each row occurred; undefined in the first reading of a day, where the tally is the same
 */
function newReading(isRepeatable: boolean, seen: RowTally | undefined) {
  return {
    isRepeatable,
    seen,
    pages: 0,
    emptyPages: 0,
    came: 0,
    totalMin: Number.POSITIVE_INFINITY,
    totalMax: 0,
    digests: new Set<string>(),
    broken: [] as BrokenLogEntry[],
    brokenCount: 0,
  };
}
