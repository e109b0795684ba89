// A time that stands still until a test advances it. Any number of clocks can share it, each with its own rate and
// wall clock, and each can be paused like a process or a virtual machine.
import { type CancelTimer, type Clock, sleepBy } from "../../../src/async/clock.ts";
import { lowestOf } from "../../../src/async/earliest.ts";

interface Timer {
  readonly fire: () => void;
  readonly isAlive: () => boolean;
}

/** A busy machine delays a turn of the event loop at most this long: what waits for one turn does not wait for a later timer. */
const busyMsMax = 500;

/** Lets all promises settle that can settle. */
export function settle(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

export class VirtualTime {
  #nowMs = 0;
  /** By the time at which they are due. */
  readonly #timers = new Map<Timer, number>();
  readonly #settle: () => Promise<void>;

  /** @param settleAll waits until all work has settled that does not depend on this time */
  constructor(settleAll = settle) {
    this.#settle = settleAll;
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  get pendingTimers(): number {
    return this.#timers.size;
  }

  /** @param isAlive whether the owner of the timer still exists: otherwise, it never fires */
  schedule(delayMs: number, fire: () => void, isAlive = (): boolean => true): CancelTimer {
    const timer: Timer = { fire, isAlive };
    this.#timers.set(timer, this.#nowMs + Math.max(delayMs, 0));
    return () => void this.#timers.delete(timer);
  }

  async sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    await sleepBy(this, delayMs, signal);
  }

  /** Advances the time, fires one timer after another, and lets everything settle after each, until `isOver` returns true. */
  async advance(durationMs: number, isOver = (): boolean => false): Promise<void> {
    const endMs = this.#nowMs + durationMs;
    await this.#settle();
    while (!isOver()) {
      if (await this.step(endMs)) continue;
      this.#nowMs = endMs;
      return;
    }
  }

  /** Advances the time to the next timer until then, if there is one, and lets everything settle. */
  async step(limitMs: number): Promise<boolean> {
    if ((this.#next(limitMs)?.rank ?? limitMs) - this.#nowMs > busyMsMax) await settle();
    const next = this.#next(limitMs);
    if (next === undefined) return false;
    this.#nowMs = Math.max(this.#nowMs, next.rank);
    this.#timers.delete(next.key);
    next.key.fire();
    await this.#settle();
    return true;
  }

  #next(limitMs: number): { readonly key: Timer; readonly rank: number } | undefined {
    let head = lowestOf(this.#timers);
    for (; head !== undefined && !head.key.isAlive(); head = lowestOf(this.#timers)) this.#timers.delete(head.key);
    return head === undefined || head.rank > limitMs ? undefined : head;
  }

  /** Advances the time without firing timers, as if the process were busy: they fire late. */
  hold(delayMs: number): void {
    this.#nowMs += delayMs;
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
