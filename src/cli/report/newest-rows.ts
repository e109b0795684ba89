// Keeps a fixed number of the newest rows of a stream that is not ordered by time.
import type { LogEntry } from "../../model/log-entry.ts";
import { keptText } from "./row-texts.ts";

/** Strings are truncated, and other fields of the row are not kept. */
export interface NewestRow {
  readonly timeMs: number;
  readonly client: string;
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly status: number;
  readonly reason: string;
  readonly agent: string;
}

export class NewestRows {
  readonly #keptMax: number;
  #rows: NewestRow[] = [];
  /** Older rows are not among the newest. */
  #oldestMs = Number.NEGATIVE_INFINITY;

  constructor(keptMax: number) {
    this.#keptMax = keptMax;
  }

  add(entry: LogEntry, timeMs: number): void {
    if (Number.isNaN(timeMs) || timeMs < this.#oldestMs) return;
    this.#rows.push({
      timeMs,
      client: keptText(entry.client_ip),
      method: keptText(entry.http_method),
      path: keptText(entry.request_path),
      status: entry.http_status,
      reason: keptText(entry.block_reason),
      agent: keptText(entry.user_agent ?? ""),
    });
    if (this.#rows.length < 2 * this.#keptMax) return;
    this.#rows = this.ranked();
    this.#oldestMs = this.#rows.at(-1)?.timeMs ?? this.#oldestMs;
  }

  /** The newest first. */
  ranked(): NewestRow[] {
    return this.#rows.toSorted((a, b) => b.timeMs - a.timeMs).slice(0, this.#keptMax);
  }
}
