// Polls for referenced objects that no watch covers: for missing ones soon and with increasing delays, because they are often
// created right after the object that refers to them; for existing ones at a constant, jittered rate. The number of polls per
// second and of objects is limited to keep the load on the API server low.
import type { Clock } from "../../async/clock.ts";

/** Resolves with true to end the polling. */
export type Poll = () => Promise<boolean>;

export type PollPace = "Missing" | "Existing";

export interface Polled {
  /** Unique among all polled objects. */
  readonly key: string;
  /** Its namespace, so that no namespace uses all slots. */
  readonly group: string;
  readonly pace: PollPace;
  readonly poll: Poll;
}

const idleMs = 1_000;
const tickMs = 250;
/** Forty per second: a thousand objects within 25 seconds. */
const pollsPerTickMax = 10;
const missingDelayMsMin = 2_000;
/** The maximum delay of a poll, in addition to the tick. */
export const pollDelayMsMax = 30_000;
const existingDelayMsMin = 20_000;
/** Changes of further objects are detected only by the resync. */
export const polledMax = 1_000;
export const polledInGroupMax = 250;

interface Entry extends Polled {
  delayMs: number;
  dueMs: number;
}

export class ReferencePoller {
  readonly #clock: Pick<Clock, "monotonicMs" | "sleep">;
  readonly #random: () => number;
  readonly #polled = new Map<string, Entry>();
  readonly #groups = new Map<string, number>();

  /** @param random A number from 0 to below 1. */
  constructor(clock: Pick<Clock, "monotonicMs" | "sleep">, random: () => number) {
    this.#clock = clock;
    this.#random = random;
  }

  /** Starts to poll for the object if a slot is available. If it is already polled at this rate, its delay is kept. */
  add(polled: Polled): void {
    const { key, group, pace } = polled;
    const known = this.#polled.get(key);
    if (known?.pace === pace) return;
    const ofGroup = this.#groups.get(group) ?? 0;
    if (known === undefined) {
      if (this.#polled.size >= polledMax || ofGroup >= polledInGroupMax) return;
      this.#groups.set(group, ofGroup + 1);
    }
    const delayMs = pace === "Missing" ? missingDelayMsMin : this.#steadyDelayMs();
    this.#polled.set(key, { ...polled, delayMs, dueMs: this.#clock.monotonicMs() + delayMs });
  }

  has(key: string): boolean {
    return this.#polled.has(key);
  }

  delete(key: string): void {
    const known = this.#polled.get(key);
    if (known === undefined) return;
    this.#polled.delete(key);
    const left = (this.#groups.get(known.group) ?? 1) - 1;
    if (left === 0) this.#groups.delete(known.group);
    else this.#groups.set(known.group, left);
  }

  get size(): number {
    return this.#polled.size;
  }

  /** Runs until the signal aborts; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#clock.sleep(this.#polled.size === 0 ? idleMs : tickMs, signal);
      if (!signal.aborted && this.#polled.size > 0) await this.#pollDue();
    }
  }

  async #pollDue(): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    const due = [...this.#polled.values()]
      .filter(({ dueMs }) => dueMs <= nowMs)
      .toSorted((a, b) => a.dueMs - b.dueMs)
      .slice(0, pollsPerTickMax);
    await Promise.all(
      due.map(async (entry) => {
        entry.delayMs = entry.pace === "Missing" ? Math.min(entry.delayMs * 2, pollDelayMsMax) : this.#steadyDelayMs();
        entry.dueMs = nowMs + entry.delayMs;
        const isOver = await entry.poll().catch(() => false);
        if (isOver && this.#polled.get(entry.key) === entry) this.delete(entry.key);
      }),
    );
  }

  #steadyDelayMs(): number {
    return existingDelayMsMin + this.#random() * (pollDelayMsMax - existingDelayMsMin);
  }
}
