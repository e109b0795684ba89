// Judges automatic blocks as the documentation describes them: a client is listed only for requests that it really sent, each counted
// once, within one window, and only for those after its former entry. Without code from src/blocks.
import type { DeclaredAutoBlock } from "../../../src/model/declared.ts";
import type { JudgedEntry } from "../../../src/blocks/judge.ts";

/** A request that a client really sent. */
export interface SentRequest {
  readonly client: string;
  readonly atMs: number;
  /** When the log began to show it. */
  readonly visibleAtMs: number;
  /** Whether `match` selects it. */
  readonly isMatching: boolean;
}

/** The facts about the log and the clock when a listing is recorded. */
interface Facts {
  readonly declared: DeclaredAutoBlock;
  readonly sent: readonly SentRequest[];
  readonly nowMs: number;
}

/** The entries of one WafAutoBlock. */
export class BlockOracle {
  readonly #known = new Map<string, JudgedEntry>();
  /** The latest time that a clock has shown since a client was listed. */
  readonly #latestMs = new Map<string, number>();
  /** The requests of a client that its former entries have counted. */
  readonly #spent = new Map<string, number>();

  /** When the last entry ends. */
  get endMs(): number {
    return Math.max(0, ...[...this.#known.values()].map(({ untilMs }) => untilMs));
  }

  /** The clock of a process shows this time, perhaps for the last time before it is set. */
  clockShows(wallMs: number): void {
    for (const [entry, latestMs] of this.#latestMs) this.#latestMs.set(entry, Math.max(latestMs, wallMs));
  }

  /** @returns the fault in a listing that wafsync has recorded, if any */
  listed(judged: JudgedEntry, { declared, sent, nowMs }: Facts): string | undefined {
    const { threshold, windowMs, ttlMs, repeatFactor, maxTtlMs } = declared;
    const { entry, sinceMs, untilMs, times, requests } = judged;
    const before = this.#known.get(entry);
    this.#known.set(entry, judged);
    const isNew = before?.sinceMs !== sinceMs;
    if (isNew) this.#spent.set(entry, (this.#spent.get(entry) ?? 0) + (before?.requests ?? 0));
    const own = sent.filter(
      ({ client, visibleAtMs, isMatching }) => client === entry && isMatching && visibleAtMs <= nowMs,
    );
    const counted = requests + (this.#spent.get(entry) ?? 0);
    if (counted > own.length) return `${entry} is listed for ${counted} requests: it sent ${own.length}`;
    if (!isNew) return untilMs === before.untilMs ? undefined : `the time of ${entry} changed`;
    // By the clock, the record may have forgotten the former entry.
    const isForgotten = before === undefined || (this.#latestMs.get(entry) ?? 0) >= before.untilMs + maxTtlMs;
    this.#latestMs.set(entry, sinceMs);
    const notBeforeMs = isForgotten ? 0 : before.untilMs;
    const fresh = own.map(({ atMs }) => atMs).filter((atMs) => atMs >= notBeforeMs);
    const most = Math.max(0, ...fresh.map((from) => fresh.filter((at) => at >= from && at - from <= windowMs).length));
    if (most < threshold) return `${entry} is listed: at most ${most} of its requests are within the window`;
    if (times > (before?.times ?? 0) + 1) return `${entry} is listed for the ${times}th time`;
    const lastsMs = Math.min(maxTtlMs, ttlMs * repeatFactor ** (times - 1));
    return untilMs - sinceMs === lastsMs ? undefined : `${entry} is listed for ${untilMs - sinceMs} ms, not ${lastsMs}`;
  }
}
