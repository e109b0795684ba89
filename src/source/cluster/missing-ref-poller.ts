// Looks again for what was missing, more and more seldom: an API key or a ConfigMap that is not watched is often created
// right after the object that names it, and nobody should wait for the next resync then.
import type { Clock } from "../../async/clock.ts";

/** True if there is no reason to look any more, found or not. */
export type Look = () => Promise<boolean>;

const tickMs = 1_000;
const delayMsMin = 2_000;
const delayMsMax = 60_000;
/** Beyond it the resync has to do. */
const wantedMax = 1_000;
const looksAtOnceMax = 8;

interface Wanted {
  readonly look: Look;
  delayMs: number;
  dueMs: number;
}

export class LookAgain {
  readonly #clock: Clock;
  readonly #wanted = new Map<string, Wanted>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Something is missing. What is looked for already keeps its pace. */
  add(key: string, look: Look): void {
    if (this.#wanted.has(key) || this.#wanted.size >= wantedMax) return;
    this.#wanted.set(key, { look, delayMs: delayMsMin, dueMs: this.#clock.monotonicMs() + delayMsMin });
  }

  delete(key: string): void {
    this.#wanted.delete(key);
  }

  get size(): number {
    return this.#wanted.size;
  }

  /** Runs until the signal aborts; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#clock.sleep(tickMs, signal);
      if (!signal.aborted && this.#wanted.size > 0) await this.#lookAtDue();
    }
  }

  async #lookAtDue(): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    const due = [...this.#wanted].filter(([, { dueMs }]) => dueMs <= nowMs).slice(0, looksAtOnceMax);
    await Promise.all(
      due.map(async ([key, wanted]) => {
        wanted.delayMs = Math.min(wanted.delayMs * 2, delayMsMax);
        wanted.dueMs = nowMs + wanted.delayMs;
        const isOver = await wanted.look().catch(() => false);
        if (isOver && this.#wanted.get(key) === wanted) this.#wanted.delete(key);
      }),
    );
  }
}
