// A work queue over keys, like client-go's, and its workers. A key has one entry, however often it is added; the earliest wake-up wins;
// and it runs once at a time: a key that is added while it runs does so again afterwards. The key that is ready for the longest time is
// next, and each priority level counts as a minute of waiting. Delays are in monotonic time. Reasons are for logs and not part of a
// key's identity. If a handler throws, its key is retried with backoff and nothing else is affected: only the handler can report the
// error, with the context of the run.
import { type BackOff, backOffDelayMs } from "./back-off.ts";
import type { CancelTimer, Clock } from "./clock.ts";
import { lowestOf } from "./earliest.ts";

/** Most urgent first. */
export const queuePriorities = ["Change", "Retry", "Resync"] as const;
export type QueuePriority = (typeof queuePriorities)[number];

/** After waiting this long, a key gains one priority level. */
export const ageingMs = 60_000;

/** Further reasons are dropped. */
export const reasonsMax = 8;
const retryBackOff: BackOff = { baseMs: 1_000, maxMs: 300_000 };

export interface Wake {
  readonly priority: QueuePriority;
  readonly reason: string;
}

/** When a key runs again without an external change. */
export interface NextRun {
  /**
   * Wall time; undefined if only a change requires another run. A time in the past means "continue at the tail of the queue", by
   * which long work lets other keys run.
   */
  readonly wakeAtMs?: number | undefined;
  /** `Resync` by default. */
  readonly priority?: QueuePriority;
  /** The work failed, and the handler's own backoff ends at `wakeAtMs`. */
  readonly hasFailed?: boolean;
  /** The key also runs again after the queue's backoff. */
  readonly mustRetry?: boolean;
}

/** @param reasons why the key was woken, in order of arrival, without duplicates */
export type WorkHandler<Key> = (key: Key, reasons: readonly string[]) => Promise<NextRun>;

export interface Working<Key> {
  /** The maximum number of concurrent runs. */
  readonly workers: number;
  readonly handle: WorkHandler<Key>;
}

/** Observes the queue, for metrics. Durations are in milliseconds. */
export interface QueueObserver {
  added(): void;
  retried(): void;
  waited(durationMs: number): void;
  worked(durationMs: number): void;
}

export interface QueueStats {
  /** Keys that are ready and wait for a worker. */
  readonly depth: number;
  readonly longestRunningMs: number;
  /** The sum over all keys in progress. */
  readonly unfinishedMs: number;
}

type QueueClock = Pick<Clock, "nowMs" | "monotonicMs" | "schedule">;

export interface KeyedQueueOptions {
  readonly clock: QueueClock;
  /** At least 0, less than 1. */
  readonly random: () => number;
  readonly observer?: QueueObserver | undefined;
}

interface Entry {
  reasons: Set<string>;
  level: number;
  /** Meaningful while the key is ready. */
  readySinceMs: number;
  runningSinceMs: number | undefined;
  /** Whether it was added while it was processed. */
  again: boolean;
}

export class KeyedQueue<Key> {
  readonly #clock: QueueClock;
  readonly #random: () => number;
  readonly #observer: QueueObserver | undefined;
  readonly #entries = new Map<Key, Entry>();
  /** By rank. */
  readonly #ready = new Map<Key, number>();
  /** By the time at which the key becomes ready. */
  readonly #delayed = new Map<Key, number>();
  readonly #failures = new Map<Key, number>();
  #timer: { readonly atMs: number; readonly cancel: CancelTimer } | undefined;
  #running = 0;
  #working: Working<Key> | undefined;
  #isShutDown = false;
  readonly #ended = Promise.withResolvers<void>();

  constructor(options: KeyedQueueOptions) {
    this.#clock = options.clock;
    this.#random = options.random;
    this.#observer = options.observer;
  }

  /** Makes the key ready now. A key that waits already keeps its age and takes the higher priority. */
  add(key: Key, wake: Wake): void {
    this.#promoteDue();
    if (this.#isShutDown) return;
    const entry = this.#entryOf(key);
    this.#join(entry, wake);
    this.#delayed.delete(key);
    this.#wake(key, entry, this.#clock.monotonicMs());
    this.#startNext();
  }

  /**
   * Makes the key ready after the delay, unless it is ready or will be ready earlier anyway. Then this wake is dropped, because
   * the worker sets the next wake of a key again after every run.
   */
  addAfter(key: Key, delayMs: number, wake: Wake): void {
    if (!(delayMs > 0)) return this.add(key, wake);
    this.#promoteDue();
    if (this.#isShutDown || this.#ready.has(key)) return;
    const entry = this.#entryOf(key);
    if (entry.again) return;
    const wakeAtMs = this.#clock.monotonicMs() + delayMs;
    if ((this.#delayed.get(key) ?? Infinity) <= wakeAtMs) return;
    this.#join(entry, wake);
    this.#delayed.set(key, wakeAtMs);
    this.#armTimer(wakeAtMs);
  }

  /**
   * Makes the key ready after a backoff that doubles with each call, until a run succeeds.
   * @returns the delay in milliseconds
   */
  retry(key: Key, reason: string): number {
    const attempt = (this.#failures.get(key) ?? 0) + 1;
    this.#failures.set(key, attempt);
    const delayMs = backOffDelayMs({ ...retryBackOff, attempt, random: this.#random });
    this.#retryAfter(key, delayMs, reason);
    return delayMs;
  }

  /** Whether ready keys are waiting for a worker. */
  get hasWaiting(): boolean {
    this.#promoteDue();
    return this.#ready.size > 0;
  }

  /**
   * Starts the handler for the keys that are ready. When the signal aborts, the queue drops all waiting keys and accepts no more.
   * @returns when the signal has aborted and no key runs any longer
   */
  async run(working: Working<Key>, signal: AbortSignal): Promise<void> {
    this.#working = working;
    if (signal.aborted) this.#shutDown();
    else signal.addEventListener("abort", () => this.#shutDown(), { once: true });
    this.#promoteDue();
    this.#startNext();
    await this.#ended.promise;
  }

  stats(): QueueStats {
    this.#promoteDue();
    const nowMs = this.#clock.monotonicMs();
    let longestRunningMs = 0;
    let unfinishedMs = 0;
    for (const { runningSinceMs } of this.#entries.values()) {
      if (runningSinceMs === undefined) continue;
      longestRunningMs = Math.max(longestRunningMs, nowMs - runningSinceMs);
      unfinishedMs += nowMs - runningSinceMs;
    }
    return { depth: this.#ready.size, longestRunningMs, unfinishedMs };
  }

  #entryOf(key: Key): Entry {
    const known = this.#entries.get(key);
    if (known !== undefined) return known;
    const entry: Entry = { reasons: new Set(), level: 0, readySinceMs: 0, runningSinceMs: undefined, again: false };
    this.#entries.set(key, entry);
    return entry;
  }

  #join(entry: Entry, { priority, reason }: Wake): void {
    entry.level = Math.max(entry.level, queuePriorities.length - 1 - queuePriorities.indexOf(priority));
    if (entry.reasons.size < reasonsMax) entry.reasons.add(reason);
  }

  /** Handles a wake that became due at `atMs`. */
  #wake(key: Key, entry: Entry, atMs: number): void {
    if (this.#ready.has(key)) return this.#enqueue(key, entry, entry.readySinceMs);
    if (entry.again) return;
    this.#observer?.added();
    if (entry.runningSinceMs === undefined) this.#enqueue(key, entry, atMs);
    else entry.again = true;
  }

  #enqueue(key: Key, entry: Entry, readySinceMs: number): void {
    entry.readySinceMs = readySinceMs;
    this.#ready.set(key, readySinceMs - entry.level * ageingMs);
  }

  #promoteDue(): void {
    const nowMs = this.#clock.monotonicMs();
    // Cheap, because this runs often: the timer is never later than the first wake.
    if (this.#timer !== undefined && nowMs < this.#timer.atMs) return;
    for (let head = lowestOf(this.#delayed); head !== undefined && head.rank <= nowMs; head = lowestOf(this.#delayed)) {
      const { key, rank } = head;
      this.#delayed.delete(key);
      this.#wake(key, this.#entryOf(key), rank);
    }
  }

  #startNext(): void {
    while (this.#working !== undefined && this.#running < this.#working.workers) {
      const head = lowestOf(this.#ready);
      if (head === undefined) return;
      this.#ready.delete(head.key);
      void this.#process(head.key, this.#working.handle);
    }
  }

  async #process(key: Key, handle: WorkHandler<Key>): Promise<void> {
    const entry = this.#entryOf(key);
    const startMs = this.#clock.monotonicMs();
    const reasons = [...entry.reasons];
    this.#observer?.waited(startMs - entry.readySinceMs);
    Object.assign(entry, { reasons: new Set(), level: 0, runningSinceMs: startMs });
    this.#running += 1;
    // Never within the caller of `add`.
    const next = await Promise.resolve()
      .then(async () => await handle(key, reasons))
      .catch((): NextRun => ({ mustRetry: true }));
    this.#promoteDue();
    this.#plan(key, next);
    const nowMs = this.#clock.monotonicMs();
    this.#observer?.worked(nowMs - startMs);
    entry.runningSinceMs = undefined;
    this.#running -= 1;
    if (entry.again) {
      entry.again = false;
      this.#enqueue(key, entry, nowMs);
    } else if (!this.#delayed.has(key)) this.#entries.delete(key);
    this.#startNext();
    this.#endIfIdle();
  }

  #plan(key: Key, { wakeAtMs, priority = "Resync", hasFailed, mustRetry }: NextRun): void {
    if (mustRetry === true) this.retry(key, "retry");
    else this.#failures.delete(key);
    if (wakeAtMs === undefined) return;
    const delayMs = wakeAtMs - this.#clock.nowMs();
    if (hasFailed === true) this.#retryAfter(key, delayMs, "retry");
    else this.addAfter(key, delayMs, { priority, reason: priority === "Retry" ? "retry" : "timer" });
  }

  #retryAfter(key: Key, delayMs: number, reason: string): void {
    this.#observer?.retried();
    this.addAfter(key, delayMs, { priority: "Retry", reason });
  }

  #shutDown(): void {
    this.#isShutDown = true;
    this.#delayed.clear();
    this.#ready.clear();
    for (const [key, entry] of this.#entries) {
      entry.again = false;
      if (entry.runningSinceMs === undefined) this.#entries.delete(key);
    }
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#endIfIdle();
  }

  /** One timer, for the wake that is due first. */
  #armTimer(atMs: number): void {
    if ((this.#timer?.atMs ?? Infinity) <= atMs) return;
    this.#timer?.cancel();
    const cancel = this.#clock.schedule(atMs - this.#clock.monotonicMs(), () => {
      this.#timer = undefined;
      this.#promoteDue();
      this.#startNext();
      const next = lowestOf(this.#delayed);
      if (next !== undefined) this.#armTimer(next.rank);
    });
    this.#timer = { atMs, cancel };
  }

  #endIfIdle(): void {
    if (this.#isShutDown && this.#running === 0) this.#ended.resolve();
  }
}
