// Summarizes blocked requests for a report: over time, by reason, country, client, network, path, user agent, method and status.
// The memory does not grow with the number of rows, nor with their content, which attackers control.
import { readObservedEntry } from "../../model/entry.ts";
import type { Entry } from "../../model/entry.ts";
import { networkOf } from "../../model/client-network.ts";
import type { LogEntry } from "../../model/log-entry.ts";
import { dayMs, hourMs, minuteMs } from "../../model/time-text.ts";
import { FrequentCounter, byCountThenKey, keptPath, keptText } from "./report-counter.ts";
import { labelOfReason } from "../../plan/logs/row-tests.ts";

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

/** In milliseconds since 1970; the end is exclusive. */
export interface Period {
  readonly startMs: number;
  readonly endMs: number;
}

export interface Counted {
  readonly key: string;
  readonly count: number;
}

export interface CategoryCount extends Counted {
  /** One number for each bar. */
  readonly overTime: readonly number[];
}

/** In milliseconds since 1970; undefined if no time could be read. */
export interface Seen {
  readonly firstMs: number | undefined;
  readonly lastMs: number | undefined;
}

export interface ClientCount extends Seen {
  readonly entry: Entry;
  readonly count: number;
  /** The country of the client's last request. */
  readonly country: string | null;
}

export interface NetworkCount extends Seen {
  readonly entry: Entry;
  readonly count: number;
  /** How many of the kept clients are in the network. */
  readonly clients: number;
}

/** The result of one counter. `shortMax` and `distinctMin` as in `FrequentCounter`. */
export interface Ranking<Item> {
  readonly items: readonly Item[];
  readonly shortMax: number;
  readonly distinctMin: number;
}

export interface LogReportSummary {
  readonly period: Period;
  readonly total: number;
  readonly barsStartMs: number;
  readonly barMs: number;
  /** The number of requests in each bar. */
  readonly overTime: readonly number[];
  /** The labels of the reasons, the most frequent first. Always exact. */
  readonly categories: readonly CategoryCount[];
  readonly reasons: Ranking<Counted>;
  readonly countries: Ranking<Counted>;
  readonly clients: Ranking<ClientCount>;
  readonly networks: Ranking<NetworkCount>;
  /** Paths without their queries. */
  readonly paths: Ranking<Counted>;
  readonly agents: Ranking<Counted>;
  readonly methods: Ranking<Counted>;
  readonly statuses: Ranking<Counted>;
}

interface SeenNote {
  firstMs: number | undefined;
  lastMs: number | undefined;
}

interface ClientNote extends SeenNote {
  readonly entry: Entry;
  readonly network: Entry | undefined;
  country: string | null;
}

const plainCounts = ["reasons", "countries", "paths", "agents", "methods", "statuses"] as const;

export class LogReport {
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
  } as const satisfies Record<(typeof plainCounts)[number], unknown>;
  readonly #clients = new FrequentCounter<ClientNote>(keptMax);
  readonly #networks = new FrequentCounter<SeenNote>(keptMax);
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
    this.#addClient(entry, country, Number.isNaN(timeMs) ? undefined : timeMs);
  }

  /** @param topMax The maximum number of items of each kind. It does not limit the countries. */
  summary(topMax: number): LogReportSummary {
    const ranked = (name: (typeof plainCounts)[number], most: number): Ranking<Counted> => {
      const counter = this.#counters[name];
      return rankingOf(counter, counter.ranked().slice(0, most));
    };
    const clients = this.#rankedClients();
    const distinctMin = this.#clients.shortMax === 0 ? clients.length : this.#clients.distinctMin;
    return {
      period: this.#period,
      total: this.#total,
      barsStartMs: this.#bars.startMs,
      barMs: this.#bars.barMs,
      overTime: [...this.#overTime],
      categories: [...this.#categories]
        .map(([key, series]) => ({ key, count: series.reduce((sum, one) => sum + one, 0), overTime: [...series] }))
        .sort(byCountThenKey),
      reasons: ranked("reasons", topMax),
      countries: ranked("countries", keptMax),
      clients: { items: clients.slice(0, topMax), shortMax: this.#clients.shortMax, distinctMin },
      networks: this.#rankedNetworks(clients, topMax),
      paths: ranked("paths", topMax),
      agents: ranked("agents", topMax),
      methods: ranked("methods", topMax),
      statuses: ranked("statuses", topMax),
    };
  }

  #addClient(entry: LogEntry, country: string | null, timeMs: number | undefined): void {
    const text = keptText(entry.client_ip);
    const client = this.#clients.add(text, () => newClient(text));
    if (timeMs === undefined || timeMs >= (client.lastMs ?? 0)) client.country = country;
    see(client, timeMs);
    if (client.network !== undefined) see(this.#networks.add(client.network, newSeen), timeMs);
  }

  #seriesOf(category: string): Float64Array {
    const isKnown = this.#categories.has(category) || this.#categories.size < categoriesMax;
    const key = isKnown ? category : otherCategory;
    const series = this.#categories.get(key) ?? new Float64Array(this.#overTime.length);
    this.#categories.set(key, series);
    return series;
  }

  /** Merges clients that are different spellings of one address. */
  #rankedClients(): (ClientCount & { readonly network: Entry | undefined })[] {
    const clients = new Map<Entry, ClientCount & { readonly network: Entry | undefined }>();
    for (const { count, note } of this.#clients.ranked()) {
      const { entry, network } = note;
      const other = clients.get(entry);
      const newest = other === undefined || (note.lastMs ?? 0) >= (other.lastMs ?? 0) ? note : other;
      clients.set(entry, {
        entry,
        network,
        count: count + (other?.count ?? 0),
        country: newest.country,
        firstMs: earliest(note.firstMs, other?.firstMs),
        lastMs: newest.lastMs,
      });
    }
    return [...clients.values()].sort((a, b) =>
      byCountThenKey({ key: a.entry, count: a.count }, { key: b.entry, count: b.count }),
    );
  }

  #rankedNetworks(clients: readonly { readonly network: Entry | undefined }[], topMax: number): Ranking<NetworkCount> {
    const sizes = new Map<Entry, number>();
    for (const { network } of clients) {
      if (network !== undefined) sizes.set(network, (sizes.get(network) ?? 0) + 1);
    }
    const items = this.#networks
      .ranked()
      .slice(0, topMax)
      .map(({ key, count, note: { firstMs, lastMs } }) => {
        const entry = key as Entry;
        return { entry, count, firstMs, lastMs, clients: sizes.get(entry) ?? 0 };
      });
    return rankingOf(this.#networks, items);
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

function noNote(): undefined {
  return undefined;
}

function newSeen(): SeenNote {
  return { firstMs: undefined, lastMs: undefined };
}

function newClient(text: string): ClientNote {
  const entry = readObservedEntry(text);
  return { entry, network: networkOf(entry), country: null, ...newSeen() };
}

function see(note: SeenNote, timeMs: number | undefined): void {
  if (timeMs === undefined) return;
  note.firstMs = earliest(note.firstMs, timeMs);
  note.lastMs = Math.max(note.lastMs ?? timeMs, timeMs);
}

function earliest(one: number | undefined, other: number | undefined): number | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return Math.min(one, other);
}

function rankingOf<Item>(counter: FrequentCounter<unknown>, items: readonly Item[]): Ranking<Item> {
  return { items, shortMax: counter.shortMax, distinctMin: counter.distinctMin };
}
