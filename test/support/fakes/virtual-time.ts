// A time that stands still until a test advances it. Any number of clocks can share it, each with its own rate and
// wall clock, and each can be paused like a process or a virtual machine.
import { sleepBy } from "../../../src/async/clock.ts";
import type { CancelTimer, Clock } from "../../../src/async/clock.ts";
import { IndexedHeap } from "../../../src/async/indexed-heap.ts";

interface Timer {
  readonly fire: () => void;
}

/** Lets all promises settle that can settle. */
export function settle(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

export class VirtualTime {
  #nowMs = 0;
  readonly #timers = new IndexedHeap<Timer>();

  get nowMs(): number {
    return this.#nowMs;
  }

  get pendingTimers(): number {
    return this.#timers.size;
  }

  at(timeMs: number, fire: () => void): CancelTimer {
    const timer: Timer = { fire };
    this.#timers.set(timer, Math.max(timeMs, this.#nowMs));
    return () => void this.#timers.delete(timer);
  }

  async sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    await sleepBy({ schedule: (ms, act) => this.at(this.#nowMs + ms, act) }, delayMs, signal);
  }

  /** Advances the time, fires one timer after another, and lets everything settle after each. */
  async advance(durationMs: number): Promise<void> {
    const endMs = this.#nowMs + durationMs;
    await settle();
    for (let head = this.#timers.peek(); head !== undefined && head.rank <= endMs; head = this.#timers.peek()) {
      this.#nowMs = head.rank;
      while (this.#timers.peek()?.rank === this.#nowMs) this.#timers.pop()?.fire();
      await settle();
    }
    this.#nowMs = endMs;
  }

  /** A clock that runs at the rate of this time; its wall clock was `wallMs` at time 0. */
  clock(wallMs = Date.UTC(2026, 10, 21)): SkewedClock {
    return new SkewedClock(this, { wallMs });
  }
}

export class SkewedClock implements Clock {
  readonly #time: VirtualTime;
  readonly #rate: number;
  #wallMs: number;
  #monotonicMs = 0;
  #sinceMs: number;
  #pausedUntilMs = 0;
  #monotonicStopped = false;

  constructor(time: VirtualTime, { wallMs = 0, rate = 1 }: { readonly wallMs?: number; readonly rate?: number } = {}) {
    this.#time = time;
    this.#rate = rate;
    this.#wallMs = wallMs;
    this.#sinceMs = time.nowMs;
  }

  nowMs(): number {
    this.#catchUp();
    return this.#wallMs;
  }

  monotonicMs(): number {
    this.#catchUp();
    return this.#monotonicMs;
  }

  async sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    const endMs = this.monotonicMs() + delayMs;
    for (;;) {
      const remainingMs = (endMs - this.monotonicMs()) / this.#rate;
      await this.#time.sleep(Math.max(remainingMs, 0), signal);
      await this.whenRunning();
      if (signal?.aborted === true || endMs - this.monotonicMs() < 1e-3) return;
    }
  }

  schedule(delayMs: number, act: () => void): CancelTimer {
    const cancelled = new AbortController();
    void this.sleep(delayMs, cancelled.signal).then(() => {
      if (!cancelled.signal.aborted) act();
    });
    return () => cancelled.abort();
  }

  /** Sets the wall clock, as a time server or a person does. */
  jump(byMs: number): void {
    this.#catchUp();
    this.#wallMs += byMs;
  }

  /** Pauses the process for this duration. In a suspended virtual machine, the monotonic clock also stops. */
  pause(durationMs: number, monotonicStops = false): void {
    this.#catchUp();
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, this.#time.nowMs + durationMs);
    this.#monotonicStopped = monotonicStops;
  }

  get paused(): boolean {
    return this.#time.nowMs < this.#pausedUntilMs;
  }

  /** Resolves when the process is running: await it before passing in anything from outside. */
  async whenRunning(): Promise<void> {
    while (this.paused) await this.#time.sleep(this.#pausedUntilMs - this.#time.nowMs);
  }

  #catchUp(): void {
    const nowMs = this.#time.nowMs;
    const passedMs = nowMs - this.#sinceMs;
    if (passedMs === 0) return;
    const stoppedMs = this.#monotonicStopped ? Math.max(Math.min(nowMs, this.#pausedUntilMs) - this.#sinceMs, 0) : 0;
    this.#wallMs += passedMs * this.#rate;
    this.#monotonicMs += (passedMs - stoppedMs) * this.#rate;
    this.#sinceMs = nowMs;
    if (nowMs >= this.#pausedUntilMs) this.#monotonicStopped = false;
  }
}
