// The logs of one simulated WAF. A query fixes the rows that its pages will show, and each scroll id can be used once. Rows that
// are late are missing. Rows are generated when their page is requested.
import { randomUUID } from "node:crypto";
import { dayMs, makeLogEntry, visibleAtMs } from "./log-entries.ts";
import type { LogDay, LogEntry } from "./log-entries.ts";

export const logRowsPerDayMax = 1_000_000;
const openScrollsMax = 100;

export interface LogPage {
  readonly _scroll_id: string | null;
  readonly hits: { readonly total: { readonly value: number }; readonly hits: readonly LogEntry[] };
}

export interface LogSettings {
  readonly seed: number;
  readonly rowsPerDay: number;
  readonly lateMsMax: number;
}

/** The rows of one day in a query: all rows of the day, or some of them by number, followed by the entries that were added. */
interface Segment {
  readonly logDay: LogDay;
  readonly rows: "All" | readonly number[];
  readonly added: readonly LogEntry[];
}

interface Scroll {
  readonly segments: readonly Segment[];
  readonly total: number;
  readonly perPage: number;
  readonly offset: number;
}

interface AddedEntry {
  readonly entry: LogEntry;
  readonly timestampMs: number;
  readonly visibleAtMs: number;
}

export class SimulatedLogs {
  readonly #settings: LogSettings;
  readonly #scrolls = new Map<string, Scroll>();
  /** The rows of the last two pages of a query. */
  #lastRows: readonly (readonly LogEntry[])[] = [];
  readonly #added: AddedEntry[] = [];

  constructor(settings: LogSettings) {
    this.#settings = settings;
  }

  /** The first page of the days from `firstDay` to `lastDay` (since 1970, both included). */
  query(firstDay: number, lastDay: number, perPage: number, nowMs: number): LogPage {
    const today = Math.floor(nowMs / dayMs);
    const segments: Segment[] = [];
    for (let day = firstDay; day <= Math.min(lastDay, today); day += 1) segments.push(this.#segmentOf(day, nowMs));
    const total = segments.reduce((sum, segment) => sum + sizeOf(segment), 0);
    this.#lastRows = [];
    return this.#page({ segments, total, perPage, offset: 0 });
  }

  /** The next page; undefined if the scroll id is invalid. */
  scroll(scrollId: string): LogPage | undefined {
    const scroll = this.#scrolls.get(scrollId);
    if (scroll === undefined) return undefined;
    this.#scrolls.delete(scrollId);
    return this.#page(scroll);
  }

  /** The rows of the page before the last one; undefined if that was the first page of a query. */
  get rowsBefore(): readonly LogEntry[] | undefined {
    return this.#lastRows[1];
  }

  /** Adds an entry that can be read from `visibleAtMs` on. */
  add(entry: LogEntry, visibleAtMs: number): void {
    this.#added.push({ entry, timestampMs: Date.parse(entry.timestamp), visibleAtMs });
  }

  #segmentOf(day: number, nowMs: number): Segment {
    const { seed, rowsPerDay, lateMsMax } = this.#settings;
    const logDay = { seed, day, rowCount: rowsPerDay, lateMsMax };
    const added = this.#added
      .filter((one) => Math.floor(one.timestampMs / dayMs) === day && one.visibleAtMs <= nowMs)
      .map(({ entry }) => entry);
    if ((day + 1) * dayMs + lateMsMax <= nowMs) return { logDay, rows: "All", added };
    const rows = Array.from({ length: rowsPerDay }, (_, row) => row).filter((row) => visibleAtMs(logDay, row) <= nowMs);
    return { logDay, rows, added };
  }

  #page(scroll: Scroll): LogPage {
    const hits = readRows(scroll.segments, scroll.offset, scroll.perPage);
    this.#lastRows = [hits, ...this.#lastRows.slice(0, 1)];
    const offset = scroll.offset + hits.length;
    const scrollId = offset >= scroll.total ? null : randomUUID();
    if (scrollId !== null) this.#open(scrollId, { ...scroll, offset });
    return { _scroll_id: scrollId, hits: { total: { value: scroll.total }, hits } };
  }

  #open(scrollId: string, scroll: Scroll): void {
    this.#scrolls.set(scrollId, scroll);
    const [oldest] = this.#scrolls.keys();
    if (this.#scrolls.size > openScrollsMax && oldest !== undefined) this.#scrolls.delete(oldest);
  }
}

function sizeOf(segment: Segment): number {
  return rowCountOf(segment) + segment.added.length;
}

function rowCountOf({ rows, logDay }: Segment): number {
  return rows === "All" ? logDay.rowCount : rows.length;
}

function readRows(segments: readonly Segment[], offset: number, count: number): LogEntry[] {
  const hits: LogEntry[] = [];
  let skip = offset;
  for (const segment of segments) {
    const size = sizeOf(segment);
    for (let index = skip; index < size && hits.length < count; index += 1) {
      const entry = rowAt(segment, index);
      if (entry !== undefined) hits.push(entry);
    }
    skip = Math.max(0, skip - size);
    if (hits.length >= count) break;
  }
  return hits;
}

function rowAt(segment: Segment, index: number): LogEntry | undefined {
  const rowCount = rowCountOf(segment);
  if (index >= rowCount) return segment.added[index - rowCount];
  const row = segment.rows === "All" ? index : segment.rows[index];
  return row === undefined ? undefined : makeLogEntry(segment.logDay, row);
}
