// Summarizes blocked requests by client, reason, country and path. The memory does not grow with the number of rows, nor with their
// content, which attackers control.
import { readObservedEntry } from "../address/entry.ts";
import type { LogEntry } from "../model/log-entry.ts";

/** How many strings of each kind are kept when there are too many. */
const keptMax = 10_000;
/** In characters: longer strings are truncated. */
export const textLengthMax = 300;

/** A string and how often it occurs. */
export interface Counted {
  readonly key: string;
  readonly count: number;
}

/** The most frequent strings, and how exact their counts are. */
export interface Ranking {
  readonly items: readonly Counted[];
  /** The maximum by which any count is too low; 0 if all counts are exact. */
  readonly shortMax: number;
  /** The number of different strings; if `shortMax` is not 0, there may have been more. */
  readonly distinctMin: number;
}

export type RequestSummary = ReturnType<RequestStatistics["summary"]>;

export class RequestStatistics {
  readonly #clients = new FrequentCounter(keptMax);
  readonly #reasons = new FrequentCounter(keptMax);
  readonly #countries = new FrequentCounter(keptMax);
  readonly #paths = new FrequentCounter(keptMax);
  #total = 0;

  add(entry: LogEntry): void {
    this.#total += 1;
    this.#reasons.add(keptText(entry.block_reason));
    this.#countries.add(keptText(entry.country ?? ""));
    this.#paths.add(keptPath(entry.request_path));
    // Different spellings of one address are one client.
    this.#clients.add(readObservedEntry(keptText(entry.client_ip)));
  }

  /** @param topMax The maximum number of items of each ranking. */
  summary(topMax: number) {
    return {
      total: this.#total,
      clients: this.#clients.ranking(topMax),
      reasons: this.#reasons.ranking(topMax),
      countries: this.#countries.ranking(topMax),
      paths: this.#paths.ranking(topMax),
    };
  }
}

/**
 * Counts how often each string occurs, with bounded memory. Counts are exact while there are few strings. After that, only the
 * frequent ones are kept, and the maximum error of a count is known (Misra-Gries summary).
 */
export class FrequentCounter {
  readonly #keptMax: number;
  readonly #counts = new Map<string, number>();
  #shortMax = 0;
  #distinctMin = 0;

  /** @param keptMax How many strings are kept when there are too many. At most twice as many are held. */
  constructor(keptMax: number) {
    this.#keptMax = keptMax;
  }

  add(key: string): void {
    const known = this.#counts.get(key);
    this.#counts.set(key, (known ?? 0) + 1);
    if (known !== undefined) return;
    this.#distinctMin = Math.max(this.#distinctMin, this.#counts.size);
    if (this.#counts.size > 2 * this.#keptMax) this.#shrink();
  }

  /** The most frequent strings; equal counts are in alphabetical order. A count is never more than the true one. */
  ranking(most: number): Ranking {
    const all = [...this.#counts].map(([key, count]) => ({ key, count }));
    return { items: all.sort(byCountThenKey).slice(0, most), shortMax: this.#shortMax, distinctMin: this.#distinctMin };
  }

  /** Subtracts the same number from every count, so that at most `keptMax` counts remain above zero. */
  #shrink(): void {
    const counts = [...this.#counts.values()].sort((a, b) => b - a);
    const taken = counts[this.#keptMax] ?? 0;
    for (const [key, count] of this.#counts) {
      if (count <= taken) this.#counts.delete(key);
      else this.#counts.set(key, count - taken);
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
