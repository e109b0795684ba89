// Whether the files have stopped changing. Files that are replaced one after another are missing for a moment, and that is no
// request to remove what they declared. Time is counted between the scans of this process, by its monotonic clock: the times
// of files come from other clocks, and the wall clock may be set.

export class QuietPeriod {
  readonly #quietMs: number;
  #stamp: string | undefined;
  #sinceMs = 0;
  #lastScanMs = 0;

  constructor(quietMs: number) {
    this.#quietMs = quietMs;
  }

  /** Takes in a scan that found the files with this stamp. Both times are monotonic. */
  scanned(stamp: string, startMs: number, endMs: number): void {
    if (stamp !== this.#stamp) this.#sinceMs = endMs;
    this.#stamp = stamp;
    this.#lastScanMs = Math.max(startMs, this.#sinceMs);
  }

  /** How long after the last scan another one has to find the same files; 0 if they have been unchanged for long enough. */
  get leftMs(): number {
    if (this.#stamp === undefined) return this.#quietMs;
    return Math.max(0, this.#quietMs - (this.#lastScanMs - this.#sinceMs));
  }
}
