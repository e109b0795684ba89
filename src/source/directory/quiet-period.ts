// Detects when the files have stopped changing. Files that are replaced one after another are temporarily missing, which is not a
// request to remove their entries. Time is measured between the scans of this process, with its monotonic clock, because the wall
// clock may be changed and the files may have another clock.

export class QuietPeriod {
  readonly #quietMs: number;
  #stamp: string | undefined;
  #sinceMs = 0;
  #lastScanMs = 0;

  constructor(quietMs: number) {
    this.#quietMs = quietMs;
  }

  /** Adds a scan with this stamp. Both times are monotonic. */
  scanned(stamp: string, startMs: number, endMs: number): void {
    if (stamp !== this.#stamp) this.#sinceMs = endMs;
    this.#stamp = stamp;
    this.#lastScanMs = Math.max(startMs, this.#sinceMs);
  }

  /** How long after the last scan the files must still be the same; 0 if they have been unchanged for long enough. */
  get leftMs(): number {
    if (this.#stamp === undefined) return this.#quietMs;
    return Math.max(0, this.#quietMs - (this.#lastScanMs - this.#sinceMs));
  }
}
