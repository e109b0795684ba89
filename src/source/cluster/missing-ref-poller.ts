// Polls for referenced objects that are missing, with increasing delays. The API key or an unwatched ConfigMap is often
// created right after the object that refers to it; without polling, only the next resync would find it.
import type { Clock } from "../../async/clock.ts";

/** Resolves with true when polling can end, whether or not the object was found. */
export type Poll = () => Promise<boolean>;

const tickMs = 1_000;
const delayMsMin = 2_000;
const delayMsMax = 60_000;
/** Further missing objects are found only by the resync. */
const polledMax = 1_000;
const concurrencyMax = 8;

interface Polled {
  readonly poll: Poll;
  delayMs: number;
  dueMs: number;
}

export class MissingRefPoller {
  readonly #clock: Clock;
  readonly #polled = new Map<string, Polled>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Starts to poll for the object. If it is polled already, its delay is kept. */
  add(key: string, poll: Poll): void {
    if (this.#polled.has(key) || this.#polled.size >= polledMax) return;
    this.#polled.set(key, { poll, delayMs: delayMsMin, dueMs: this.#clock.monotonicMs() + delayMsMin });
  }

  delete(key: string): void {
    this.#polled.delete(key);
  }

  get size(): number {
    return this.#polled.size;
  }

  /** Runs until the signal aborts; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#clock.sleep(tickMs, signal);
      if (!signal.aborted && this.#polled.size > 0) await this.#pollDue();
    }
  }

  async #pollDue(): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    const due = [...this.#polled].filter(([, { dueMs }]) => dueMs <= nowMs).slice(0, concurrencyMax);
    await Promise.all(
      due.map(async ([key, polled]) => {
        polled.delayMs = Math.min(polled.delayMs * 2, delayMsMax);
        polled.dueMs = nowMs + polled.delayMs;
        const isOver = await polled.poll().catch(() => false);
        if (isOver && this.#polled.get(key) === polled) this.#polled.delete(key);
      }),
    );
  }
}
