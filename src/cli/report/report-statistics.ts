// Sums up blocked requests for a report: over time, by reason, country, client and path. The memory does not grow with the number
// of rows, nor with what attackers write into them. Strings are kept unchanged: they are escaped when they are shown.
import { readObservedEntry } from "../../model/entry.ts";
import type { Entry } from "../../model/entry.ts";
import type { LogEntry } from "../../model/log-entry.ts";
import type { DayRange } from "../../plan/logs/cursor.ts";
import { FrequentCounter, byCountThenKey } from "./report-counter.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** The widths of a bar, in hours: the first that gives few enough bars. */
const barHours = [1, 3, 6] as const;
const barsWanted = 72;
/** Texts of each kind that survive when there are too many. */
const keptMax = 10_000;
/** Of the reasons' labels; those that come later count as others. */
const categoriesMax = 100;
/** In characters; what is beyond is cut off. */
export const reportTextLengthMax = 300;
export const otherCategory = "Other";

export interface Counted {
  readonly key: string;
  readonly count: number;
}

export interface CategoryCount extends Counted {
  /** One number for each bar. */
  readonly overTime: readonly number[];
}

export interface ClientCount {
  readonly entry: Entry;
  readonly count: number;
  /** Of its last request. */
  readonly country: string | null;
  /** In milliseconds since 1970; undefined if no time of it could be read. */
  readonly lastMs: number | undefined;
}

/** What comes of one counter. `shortMax` and `distinctMin` as of `FrequentCounter`. */
export interface Ranking<Item> {
  readonly items: readonly Item[];
  readonly shortMax: number;
  readonly distinctMin: number;
}

export interface LogReportSummary {
  readonly days: DayRange;
  readonly total: number;
  readonly barMs: number;
  /** Requests of each bar, from the start of the first day. */
  readonly overTime: readonly number[];
  /** The labels of the reasons, the most frequent first. Always exact. */
  readonly categories: readonly CategoryCount[];
  readonly reasons: Ranking<Counted>;
  readonly countries: Ranking<Counted>;
  readonly clients: Ranking<ClientCount>;
  /** Without what follows a question mark. */
  readonly paths: Ranking<Counted>;
}

interface ClientNote {
  readonly country: string | null;
  readonly lastMs: number | undefined;
}

export class LogReport {
  readonly #days: DayRange;
  readonly #startMs: number;
  readonly #barMs: number;
  readonly #overTime: Float64Array;
  readonly #categories = new Map<string, Float64Array>();
  readonly #reasons = new FrequentCounter<undefined>(keptMax);
  readonly #countries = new FrequentCounter<undefined>(keptMax);
  readonly #clients = new FrequentCounter<ClientNote>(keptMax);
  readonly #paths = new FrequentCounter<undefined>(keptMax);
  #total = 0;

  constructor(days: DayRange) {
    const dayCount = days.lastDay - days.firstDay + 1;
    const hours = barHours.find((hours) => (dayCount * 24) / hours <= barsWanted) ?? 24;
    this.#days = days;
    this.#startMs = days.firstDay * dayMs;
    this.#barMs = hours * hourMs;
    this.#overTime = new Float64Array((dayCount * 24) / hours);
  }

  get total(): number {
    return this.#total;
  }

  /**
   * @param day The day that the API has the row under, counted from 1970; it must be one of the report.
   * @param timeMs What the row itself says, NaN if that can't be read: then it counts for the start of its day.
   */
  add(entry: LogEntry, day: number, timeMs: number): void {
    this.#total += 1;
    const bar = this.#barOf(day, timeMs);
    const reason = textOf(entry.block_reason);
    const series = this.#seriesOf(categoryOf(reason));
    this.#overTime[bar] = (this.#overTime[bar] ?? 0) + 1;
    series[bar] = (series[bar] ?? 0) + 1;
    this.#reasons.add(reason, undefined);
    const country = entry.country === null ? null : textOf(entry.country);
    this.#countries.add(country ?? "", undefined);
    this.#clients.add(textOf(entry.client_ip), { country, lastMs: Number.isNaN(timeMs) ? undefined : timeMs });
    this.#paths.add(pathOf(entry.request_path), undefined);
  }

  /** @param topMax How many of each kind are wanted; of countries, all that were kept come. */
  summary(topMax: number): LogReportSummary {
    return {
      days: this.#days,
      total: this.#total,
      barMs: this.#barMs,
      overTime: [...this.#overTime],
      categories: [...this.#categories]
        .map(([key, series]) => ({ key, count: series.reduce((sum, one) => sum + one, 0), overTime: [...series] }))
        .sort(byCountThenKey),
      reasons: rankingOf(this.#reasons, this.#reasons.ranked().slice(0, topMax)),
      countries: rankingOf(this.#countries, this.#countries.ranked()),
      clients: { ...rankingOf(this.#clients, []), ...mergedClients(this.#clients, topMax) },
      paths: rankingOf(this.#paths, this.#paths.ranked().slice(0, topMax)),
    };
  }

  #barOf(day: number, timeMs: number): number {
    const bar = Math.floor((timeMs - this.#startMs) / this.#barMs);
    return bar >= 0 && bar < this.#overTime.length ? bar : Math.floor((day * dayMs - this.#startMs) / this.#barMs);
  }

  #seriesOf(category: string): Float64Array {
    const isKnown = this.#categories.has(category) || this.#categories.size < categoriesMax;
    const key = isKnown ? category : otherCategory;
    const series = this.#categories.get(key) ?? new Float64Array(this.#overTime.length);
    this.#categories.set(key, series);
    return series;
  }
}

/** The label of a reason, without the number of the rule: `SQL Injection` for `SQL Injection 942100`. */
export function categoryOf(reason: string): string {
  const text = reason.trim();
  let end = text.length;
  while (end > 0 && isDigit(text.charCodeAt(end - 1))) end -= 1;
  const label = text.slice(0, end).trimEnd();
  return label === "" ? text : label;
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

/** Without what follows a question mark. */
function pathOf(path: string): string {
  const mark = path.indexOf("?");
  return mark < 0 ? textOf(path) : copyOf(path.slice(0, Math.min(mark, reportTextLengthMax)));
}

function textOf(text: string): string {
  return text.length <= reportTextLengthMax ? text : copyOf(text.slice(0, reportTextLengthMax));
}

/** A part of a text keeps the whole of it in memory, which may be long; what is made of bytes stands for itself. */
function copyOf(part: string): string {
  return Buffer.from(part, "utf16le").toString("utf16le");
}

function rankingOf<Item>(counter: FrequentCounter<unknown>, items: readonly Item[]): Ranking<Item> {
  return { items, shortMax: counter.shortMax, distinctMin: counter.distinctMin };
}

/** Two spellings of one address are one client. */
function mergedClients(
  counter: FrequentCounter<ClientNote>,
  topMax: number,
): Pick<Ranking<ClientCount>, "items"> & { readonly distinctMin: number } {
  const clients = new Map<Entry, ClientCount>();
  for (const { key, count, note } of counter.ranked()) {
    const entry = readObservedEntry(key);
    const other = clients.get(entry);
    const newest = other === undefined || (note.lastMs ?? 0) >= (other.lastMs ?? 0) ? note : other;
    const { country, lastMs } = newest;
    clients.set(entry, { entry, count: count + (other?.count ?? 0), country, lastMs });
  }
  const items = [...clients.values()].sort((a, b) =>
    byCountThenKey({ key: a.entry, count: a.count }, { key: b.entry, count: b.count }),
  );
  const distinctMin = counter.shortMax === 0 ? items.length : counter.distinctMin;
  return { items: items.slice(0, topMax), distinctMin };
}
