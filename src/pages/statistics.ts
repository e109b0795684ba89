// Summarizes blocked requests: over time, by reason, country, client, network, path, user agent, method and status. The memory does not
// grow with the number of rows, nor with their content, which attackers control.
import { clientNetworkOf } from "../address/entry.ts";
import type { Entry } from "../address/entry.ts";
import { readObservedEntry } from "../address/entry.ts";
import type { LogEntry } from "../model/log-entry.ts";
import { dayMs, hourMs, minuteMs } from "../model/time-text.ts";
import { labelOfReason } from "../logs/row-tests.ts";

/** How many strings of each kind are kept when there are too many. */
const keptMax = 10_000;
/** The same limit for methods and statuses, which have few values. */
const fewKeptMax = 100;
/** The maximum number of labels of reasons; further labels count as `Other`. */
const categoriesMax = 100;
const barsWanted = 72;
/** The first length with few enough bars is used. Lengths below an hour are only for periods below a day. */
const barLengths = [minuteMs, 5 * minuteMs, 15 * minuteMs, 30 * minuteMs, hourMs, 3 * hourMs, 6 * hourMs] as const;
export const otherCategory = "Other";
/** In characters: longer strings are truncated. */
export const textLengthMax = 300;

/** In milliseconds since 1970; the end is exclusive. */
export interface Period {
  readonly startMs: number;
  readonly endMs: number;
}

export interface Counted {
  readonly key: string;
  readonly count: number;
}

/** In milliseconds since 1970; undefined if no time could be read. */
export interface Seen {
  readonly firstMs: number | undefined;
  readonly lastMs: number | undefined;
}

/** The result of one counter. `shortMax` and `distinctMin` as in `FrequentCounter`. */
export interface Ranking<Item> {
  readonly items: readonly Item[];
  readonly shortMax: number;
  readonly distinctMin: number;
}

export type RequestSummary = ReturnType<RequestStatistics["summary"]>;

interface SeenNote {
  firstMs: number | undefined;
  lastMs: number | undefined;
  country: string | null;
}

export class RequestStatistics {
  readonly #period: Period;
  readonly #bars: TimeBars;
  readonly #overTime: Float64Array;
  readonly #categories = new Map<string, Float64Array>();
  readonly #counters = {
    reasons: new FrequentCounter<undefined>(keptMax),
    countries: new FrequentCounter<undefined>(keptMax),
    paths: new FrequentCounter<undefined>(keptMax),
    agents: new FrequentCounter<undefined>(keptMax),
    methods: new FrequentCounter<undefined>(fewKeptMax),
    statuses: new FrequentCounter<undefined>(fewKeptMax),
  } as const;
  readonly #clients = new FrequentCounter<SeenNote>(keptMax);
  readonly #networks = new FrequentCounter<SeenNote>(keptMax);
  /** The entries of the last spellings, because most rows repeat one. */
  #entries = new Map<string, Entry>();
  #total = 0;

  constructor(period: Period) {
    this.#period = period;
    this.#bars = new TimeBars(period);
    this.#overTime = new Float64Array(this.#bars.length);
  }

  get total(): number {
    return this.#total;
  }

  /**
   * @param dayStartMs The start of the day under which the API lists the row.
   * @param timeMs The time of the row. If it is NaN, because it is invalid, the row counts at the start of its day.
   */
  add(entry: LogEntry, dayStartMs: number, timeMs: number): void {
    this.#total += 1;
    const bar = this.#bars.barOf(timeMs, dayStartMs);
    const reason = keptText(entry.block_reason);
    const series = this.#seriesOf(labelOfReason(reason));
    this.#overTime[bar] = (this.#overTime[bar] ?? 0) + 1;
    series[bar] = (series[bar] ?? 0) + 1;
    const country = entry.country === null ? null : keptText(entry.country);
    const { reasons, countries, paths, agents, methods, statuses } = this.#counters;
    reasons.add(reason, noNote);
    countries.add(country ?? "", noNote);
    paths.add(keptPath(entry.request_path), noNote);
    agents.add(keptText(entry.user_agent ?? ""), noNote);
    methods.add(keptText(entry.http_method), noNote);
    statuses.add(String(entry.http_status), noNote);
    const client = this.#entryOf(keptText(entry.client_ip));
    const network = clientNetworkOf(client);
    see(this.#clients.add(client, newNote), timeMs, country);
    if (network !== undefined) see(this.#networks.add(network, newNote), timeMs, country);
  }

  /** @param topMax The maximum number of items of each kind. It does not limit the countries. */
  summary(topMax: number) {
    const counted = (counter: FrequentCounter<undefined>, most = topMax): Ranking<Counted> =>
      rankingOf(counter, most, ({ key, count }) => ({ key, count }));
    const { reasons, countries, paths, agents, methods, statuses } = this.#counters;
    const sizes = new Map<Entry, number>();
    for (const { key } of this.#clients.ranked()) {
      const network = clientNetworkOf(key as Entry);
      if (network !== undefined) sizes.set(network, (sizes.get(network) ?? 0) + 1);
    }
    return {
      period: this.#period,
      total: this.#total,
      barsStartMs: this.#bars.startMs,
      barMs: this.#bars.barMs,
      /** The number of requests in each bar. */
      overTime: [...this.#overTime],
      /** The labels of the reasons, the most frequent first. Always exact. */
      categories: [...this.#categories]
        .map(([key, series]) => ({ key, count: series.reduce((sum, one) => sum + one, 0), overTime: [...series] }))
        .sort(byCountThenKey),
      reasons: counted(reasons),
      countries: counted(countries, keptMax),
      /** With the country of the last request of each. */
      clients: rankingOf(this.#clients, topMax, ({ key, count, note }) => ({ ...note, entry: key as Entry, count })),
      /** With the number of the kept clients in each. */
      networks: rankingOf(this.#networks, topMax, ({ key, count, note: { firstMs, lastMs } }) => {
        const entry = key as Entry;
        return { entry, count, firstMs, lastMs, clients: sizes.get(entry) ?? 0 };
      }),
      paths: counted(paths),
      agents: counted(agents),
      methods: counted(methods),
      statuses: counted(statuses),
    };
  }

  #seriesOf(category: string): Float64Array {
    const isKnown = this.#categories.has(category) || this.#categories.size < categoriesMax;
    const key = isKnown ? category : otherCategory;
    const series = this.#categories.get(key) ?? new Float64Array(this.#overTime.length);
    this.#categories.set(key, series);
    return series;
  }

  /** Different spellings of one address are one client. */
  #entryOf(spelling: string): Entry {
    const known = this.#entries.get(spelling);
    if (known !== undefined) return known;
    if (this.#entries.size >= keptMax) this.#entries = new Map();
    const entry = readObservedEntry(spelling);
    this.#entries.set(spelling, entry);
    return entry;
  }
}

/** Divides a period into bars of equal length. */
export class TimeBars {
  /** The first bar starts at a multiple of its length, at or before the start of the period. */
  readonly startMs: number;
  readonly barMs: number;
  readonly length: number;

  constructor({ startMs, endMs }: Period) {
    const spanMs = endMs - startMs;
    const shortest = spanMs < dayMs ? 0 : hourMs;
    this.barMs = barLengths.find((barMs) => barMs >= shortest && spanMs / barMs <= barsWanted) ?? dayMs;
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

interface Ranked<Note> extends Counted {
  readonly note: Note;
}

/**
 * Counts how often each string occurs, with bounded memory. Counts are exact while there are few strings. After that, only the
 * frequent ones are kept, and the maximum error of a count is known (Misra-Gries summary).
 */
export class FrequentCounter<Note> {
  readonly #keptMax: number;
  readonly #counts = new Map<string, { count: number; readonly note: Note }>();
  #shortMax = 0;
  #distinctMin = 0;

  /** @param keptMax How many strings are kept when there are too many. At most twice as many are held. */
  constructor(keptMax: number) {
    this.#keptMax = keptMax;
  }

  /** Counts the string and returns its note, which the caller may change. @param firstNote creates the note of a new string */
  add(key: string, firstNote: () => Note): Note {
    const counted = this.#counts.get(key);
    if (counted !== undefined) {
      counted.count += 1;
      return counted.note;
    }
    const note = firstNote();
    this.#counts.set(key, { count: 1, note });
    this.#distinctMin = Math.max(this.#distinctMin, this.#counts.size);
    if (this.#counts.size > 2 * this.#keptMax) this.#shrink();
    return note;
  }

  /** The maximum by which any count is too low; 0 if all counts are exact. */
  get shortMax(): number {
    return this.#shortMax;
  }

  /** The number of different strings; if `shortMax` is not 0, there may have been more. */
  get distinctMin(): number {
    return this.#distinctMin;
  }

  /** All held strings, the most frequent first; equal counts are in alphabetical order. A count is never more than the true one. */
  ranked(): Ranked<Note>[] {
    return [...this.#counts].map(([key, { count, note }]) => ({ key, count, note })).sort(byCountThenKey);
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

function rankingOf<Note, Item>(
  counter: FrequentCounter<Note>,
  most: number,
  itemOf: (ranked: Ranked<Note>) => Item,
): Ranking<Item> {
  const { shortMax, distinctMin } = counter;
  return { items: counter.ranked().slice(0, most).map(itemOf), shortMax, distinctMin };
}

function byCountThenKey(a: Counted, b: Counted): number {
  if (a.count !== b.count) return b.count - a.count;
  return a.key < b.key ? -1 : 1;
}

function noNote(): undefined {
  return undefined;
}

function newNote(): SeenNote {
  return { firstMs: undefined, lastMs: undefined, country: null };
}

function see(note: SeenNote, timeMs: number, country: string | null): void {
  // Also without a valid time.
  if (!(timeMs < (note.lastMs ?? timeMs))) note.country = country;
  if (Number.isNaN(timeMs)) return;
  note.firstMs = Math.min(note.firstMs ?? timeMs, timeMs);
  note.lastMs = Math.max(note.lastMs ?? timeMs, timeMs);
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
