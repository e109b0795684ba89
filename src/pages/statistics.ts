// Summarizes blocked requests: over time by type of reason, and by client, reason, country and path. The memory does not grow with the
// number of rows, nor with their content, which attackers control.
import { readObservedEntry } from "../address/entry.ts";
import type { LogEntry } from "../model/log-entry.ts";
import { dayMs, hourMs, minuteMs } from "../model/time-text.ts";
import { labelOfReason } from "../logs/row-tests.ts";

/** How many strings of each kind are kept when there are too many. */
const keptMax = 10_000;
/** The maximum number of labels of reasons; further labels count as `Other`. */
const labelsMax = 100;
/** How many labels have a series of their own. Pages define one more color for all others. */
const seriesMax = 6;
const barsWanted = 72;
/** The first length with few enough bars is used. */
const barLengths = [5 * minuteMs, 30 * minuteMs, hourMs, 6 * hourMs] as const;
export const otherReasons = "Other";
/** In characters: longer strings are truncated. */
export const textLengthMax = 300;

/** In milliseconds since 1970; the end is exclusive. */
export interface Period {
  readonly startMs: number;
  readonly endMs: number;
}

/** A string and how often it occurs. */
export interface Counted {
  readonly key: string;
  readonly count: number;
}

/** With the first and last valid time, and the country of the last row, if these were given. */
export interface Ranked extends Counted {
  readonly firstMs: number | undefined;
  readonly lastMs: number | undefined;
  readonly country: string;
}

/** The most frequent strings, and how exact their counts are. */
export interface Ranking {
  readonly items: readonly Ranked[];
  /** The maximum by which any count is too low; 0 if all counts are exact. */
  readonly shortMax: number;
  /** The number of different strings; if `shortMax` is not 0, there may have been more. */
  readonly distinctMin: number;
}

export type RequestSummary = ReturnType<RequestStatistics["summary"]>;

export class RequestStatistics {
  readonly #period: Period;
  readonly #bars: TimeBars;
  /** The requests in each bar, by the label of their reason. */
  readonly #labels = new Map<string, Float64Array>();
  readonly #clients = new FrequentCounter(keptMax);
  readonly #reasons = new FrequentCounter(keptMax);
  readonly #countries = new FrequentCounter(keptMax);
  readonly #paths = new FrequentCounter(keptMax);
  #total = 0;

  constructor(period: Period) {
    this.#period = period;
    this.#bars = new TimeBars(period);
  }

  /**
   * @param dayStartMs The start of the day under which the API lists the row.
   * @param timeMs The time of the row. If it is NaN, because it is invalid, the row counts at the start of its day.
   */
  add(entry: LogEntry, dayStartMs: number, timeMs: number): void {
    this.#total += 1;
    const reason = keptText(entry.block_reason);
    const series = this.#seriesOf(labelOfReason(reason));
    const bar = this.#bars.barOf(timeMs, dayStartMs);
    series[bar] = (series[bar] ?? 0) + 1;
    const country = keptText(entry.country ?? "");
    this.#reasons.add(reason);
    this.#countries.add(country);
    this.#paths.add(keptPath(entry.request_path));
    // Different spellings of one address are one client.
    this.#clients.add(readObservedEntry(keptText(entry.client_ip)), timeMs, country);
  }

  /** @param topMax The maximum number of items of each ranking. */
  summary(topMax: number) {
    return {
      period: this.#period,
      total: this.#total,
      barsStartMs: this.#bars.startMs,
      barMs: this.#bars.barMs,
      series: this.#series(),
      clients: this.#clients.ranking(topMax),
      reasons: this.#reasons.ranking(topMax),
      countries: this.#countries.ranking(topMax),
      paths: this.#paths.ranking(topMax),
    };
  }

  /** The requests in each bar, by type of reason: the most frequent first, and all others last. Always exact. */
  #series(): (Counted & { readonly counts: readonly number[] })[] {
    const counted = [...this.#labels]
      .map(([key, counts]) => ({ key, count: counts.reduce((sum, one) => sum + one, 0), counts: [...counts] }))
      .sort(byCountThenKey);
    const shown = counted.filter(({ key }) => key !== otherReasons).slice(0, seriesMax);
    const others = counted.filter((one) => !shown.includes(one));
    if (others.length === 0) return shown;
    const count = others.reduce((sum, one) => sum + one.count, 0);
    const counts = Array.from({ length: this.#bars.length }, (_, bar) =>
      others.reduce((sum, one) => sum + (one.counts[bar] ?? 0), 0),
    );
    return [...shown, { key: otherReasons, count, counts }];
  }

  #seriesOf(label: string): Float64Array {
    const key = this.#labels.has(label) || this.#labels.size < labelsMax ? label : otherReasons;
    const series = this.#labels.get(key) ?? new Float64Array(this.#bars.length);
    this.#labels.set(key, series);
    return series;
  }
}

/** Divides a period into bars of equal length. */
export class TimeBars {
  /** The first bar starts at a multiple of its length, at or before the start of the period. */
  readonly startMs: number;
  readonly barMs: number;
  readonly length: number;

  constructor({ startMs, endMs }: Period) {
    this.barMs = barLengths.find((barMs) => (endMs - startMs) / barMs <= barsWanted) ?? dayMs;
    this.startMs = Math.floor(startMs / this.barMs) * this.barMs;
    this.length = Math.max(1, Math.ceil((endMs - this.startMs) / this.barMs));
  }

  /** @param otherwiseMs the time to use if the first one is invalid or outside the period; it may be too early */
  barOf(timeMs: number, otherwiseMs: number): number {
    const bar = Math.floor((timeMs - this.startMs) / this.barMs);
    if (bar >= 0 && bar < this.length) return bar;
    return Math.max(0, Math.min(this.length - 1, Math.floor((otherwiseMs - this.startMs) / this.barMs)));
  }
}

/**
 * Counts how often each string occurs, with bounded memory. Counts are exact while there are few strings. After that, only the
 * frequent ones are kept, and the maximum error of a count is known (Misra-Gries summary).
 */
export class FrequentCounter {
  readonly #keptMax: number;
  readonly #counts = new Map<string, { -readonly [Field in keyof Ranked]: Ranked[Field] }>();
  #shortMax = 0;
  #distinctMin = 0;

  /** @param keptMax How many strings are kept when there are too many. At most twice as many are held. */
  constructor(keptMax: number) {
    this.#keptMax = keptMax;
  }

  add(key: string, timeMs = Number.NaN, country = ""): void {
    const known = this.#counts.get(key);
    const counted = known ?? { key, count: 0, firstMs: undefined, lastMs: undefined, country };
    counted.count += 1;
    // Also without a valid time.
    if (!(timeMs < (counted.lastMs ?? timeMs))) counted.country = country;
    if (!Number.isNaN(timeMs)) {
      counted.firstMs = Math.min(counted.firstMs ?? timeMs, timeMs);
      counted.lastMs = Math.max(counted.lastMs ?? timeMs, timeMs);
    }
    if (known !== undefined) return;
    this.#counts.set(key, counted);
    this.#distinctMin = Math.max(this.#distinctMin, this.#counts.size);
    if (this.#counts.size > 2 * this.#keptMax) this.#shrink();
  }

  /** The most frequent strings; equal counts are in alphabetical order. A count is never more than the true one. */
  ranking(most: number): Ranking {
    const items = [...this.#counts.values()].sort(byCountThenKey).slice(0, most);
    return { items, shortMax: this.#shortMax, distinctMin: this.#distinctMin };
  }

  /** Subtracts the same number from every count, so that at most `keptMax` counts remain above zero. */
  #shrink(): void {
    const counts = [...this.#counts.values()].map(({ count }) => count).sort((a, b) => b - a);
    const taken = counts[this.#keptMax] ?? 0;
    for (const [key, counted] of this.#counts) {
      counted.count -= taken;
      if (counted.count <= 0) this.#counts.delete(key);
    }
    this.#shortMax += taken;
  }
}

function byCountThenKey(a: Counted, b: Counted): number {
  if (a.count !== b.count) return b.count - a.count;
  return a.key < b.key ? -1 : 1;
}

function keptText(text: string): string {
  return text.length <= textLengthMax ? text : copyOf(text.slice(0, textLengthMax));
}

/** The path without its query. */
function keptPath(path: string): string {
  const mark = path.indexOf("?");
  return mark < 0 ? keptText(path) : copyOf(path.slice(0, Math.min(mark, textLengthMax)));
}

/** A part of a string keeps the whole string in memory, so it is copied. */
function copyOf(part: string): string {
  return Buffer.from(part, "utf16le").toString("utf16le");
}
