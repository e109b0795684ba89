// Caches the last summary. It is read again only while users look at the page, and dropped soon afterwards to free the memory.
import type { Clock } from "../async/clock.ts";
import type { Summary } from "../kinds/summary.ts";
import type { Seen } from "../cli/targets/target.ts";

/** A summary that is younger than this is served without a new read. */
const freshMs = 2_000;
/** How long a request waits for a newer summary than the one that exists. */
const patienceMs = 100;
/** The summary is dropped after this time without a request. */
const idleMs = 60_000;

export interface CachedSummary {
  readonly atMs: number;
  /** The objects that the summary is about. */
  readonly seen: Seen;
  readonly summary: Summary;
}

export interface SummaryReader {
  readonly see: () => Promise<Seen>;
  readonly summarize: (seen: Seen) => Summary;
  readonly clock: Clock;
}

export class SummaryCache {
  readonly #reader: SummaryReader;
  #cached: CachedSummary | undefined;
  #reading: Promise<CachedSummary> | undefined;
  #dropLater: () => void = () => undefined;

  constructor(reader: SummaryReader) {
    this.#reader = reader;
  }

  /** The summary, at most a few seconds old if reading is fast. Rejects only if there is no summary at all. */
  async get(): Promise<CachedSummary> {
    const { clock } = this.#reader;
    this.#dropLater();
    this.#dropLater = clock.schedule(idleMs, () => {
      this.#cached = undefined;
    });
    const cached = this.#cached;
    const ageMs = cached === undefined ? Number.POSITIVE_INFINITY : clock.nowMs() - cached.atMs;
    // If the clock was set back, the age is negative, and the summary counts as too old.
    if (cached !== undefined && ageMs >= 0 && ageMs < freshMs) return cached;
    const reading = (this.#reading ??= this.#read());
    if (cached === undefined) return await reading;
    const patience = new AbortController();
    const old = clock.sleep(patienceMs, patience.signal).then(() => cached);
    return await Promise.race([reading.catch(() => cached), old]).finally(() => patience.abort());
  }

  /** Cancels the timer, so that the process can exit. */
  close(): void {
    this.#dropLater();
    this.#cached = undefined;
  }

  async #read(): Promise<CachedSummary> {
    const { see, summarize, clock } = this.#reader;
    try {
      const seen = await see();
      this.#cached = { atMs: clock.nowMs(), seen, summary: summarize(seen) };
      return this.#cached;
    } finally {
      this.#reading = undefined;
    }
  }
}
