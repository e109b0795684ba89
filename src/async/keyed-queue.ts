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
  /** Set while the key is delayed. */
  delay: { readonly untilMs: number; readonly cancel: CancelTimer } | undefined;
  /** The number of calls of `retry` since the last successful run. */
  failures: number;
}

export class KeyedQueue<Key> {
  readonly #clock: QueueClock;
  readonly #random: () => number;
  readonly #observer: QueueObserver | undefined;
  readonly #entries = new Map<Key, Entry>();
  /** By rank. */
  readonly #ready = new Map<Key, number>();
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
    if (!this.#isShutDown) this.#wake(key, this.#join(key, wake));
  }

  /**
   * Makes the key ready after the delay, unless it is ready or will be ready earlier anyway. Then this wake is dropped, because
   * the worker sets the next wake of a key again after every run.
   */
  addAfter(key: Key, delayMs: number, wake: Wake): void {
    if (!(delayMs > 0)) return this.add(key, wake);
    if (this.#isShutDown) return;
    const untilMs = this.#clock.monotonicMs() + delayMs;
    const { again, delay } = this.#entryOf(key);
    if (this.#ready.has(key) || again || (delay?.untilMs ?? Infinity) <= untilMs) return;
    delay?.cancel();
    this.#delay(key, this.#join(key, wake), untilMs);
  }

  /**
   * Makes the key ready after a backoff that doubles with each call, until a run succeeds.
   * @returns the delay in milliseconds
   */
  retry(key: Key): number {
    const attempt = (this.#entryOf(key).failures += 1);
    const delayMs = backOffDelayMs({ ...retryBackOff, attempt, random: this.#random });
    this.#retryAfter(key, delayMs);
    return delayMs;
  }

  /** Whether ready keys are waiting for a worker. */
  get hasWaiting(): boolean {
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
    this.#startNext();
    await this.#ended.promise;
  }

  stats(): QueueStats {
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
    const isIdle = { runningSinceMs: undefined, again: false, delay: undefined };
    const entry: Entry = { reasons: new Set(), level: 0, readySinceMs: 0, ...isIdle, failures: 0 };
    this.#entries.set(key, entry);
    return entry;
  }

  #join(key: Key, { priority, reason }: Wake): Entry {
    const entry = this.#entryOf(key);
    entry.level = Math.max(entry.level, queuePriorities.length - 1 - queuePriorities.indexOf(priority));
    if (entry.reasons.size < reasonsMax) entry.reasons.add(reason);
    return entry;
  }

  /** A timer may fire a little early, and long before the end of a very long delay. */
  #delay(key: Key, entry: Entry, untilMs: number): void {
    const leftMs = untilMs - this.#clock.monotonicMs();
    if (leftMs <= 0) return this.#wake(key, entry);
    const cancel = this.#clock.schedule(leftMs, () => this.#delay(key, entry, untilMs));
    entry.delay = { untilMs, cancel };
  }

  #wake(key: Key, entry: Entry): void {
    entry.delay?.cancel();
    entry.delay = undefined;
    if (this.#ready.has(key)) this.#enqueue(key, entry, entry.readySinceMs);
    else if (!entry.again) {
      this.#observer?.added();
      if (entry.runningSinceMs === undefined) this.#enqueue(key, entry, this.#clock.monotonicMs());
      else entry.again = true;
    }
    this.#startNext();
  }

  #enqueue(key: Key, entry: Entry, readySinceMs: number): void {
    entry.readySinceMs = readySinceMs;
    this.#ready.set(key, readySinceMs - entry.level * ageingMs);
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
    this.#plan(key, next);
    const nowMs = this.#clock.monotonicMs();
    this.#observer?.worked(nowMs - startMs);
    entry.runningSinceMs = undefined;
    this.#running -= 1;
    if (entry.again) {
      entry.again = false;
      this.#enqueue(key, entry, nowMs);
    } else if (entry.delay === undefined) this.#entries.delete(key);
    this.#startNext();
    this.#endIfIdle();
  }

  #plan(key: Key, { wakeAtMs, priority = "Resync", hasFailed, mustRetry }: NextRun): void {
    if (mustRetry === true) this.retry(key);
    else this.#entryOf(key).failures = 0;
    if (wakeAtMs === undefined) return;
    const delayMs = wakeAtMs - this.#clock.nowMs();
    if (hasFailed === true) this.#retryAfter(key, delayMs);
    else this.addAfter(key, delayMs, { priority, reason: priority === "Retry" ? "retry" : "timer" });
  }

  #retryAfter(key: Key, delayMs: number): void {
    this.#observer?.retried();
    this.addAfter(key, delayMs, { priority: "Retry", reason: "retry" });
  }

  #shutDown(): void {
    this.#isShutDown = true;
    this.#ready.clear();
    for (const [key, entry] of this.#entries) {
      entry.again = false;
      entry.delay?.cancel();
      entry.delay = undefined;
      if (entry.runningSinceMs === undefined) this.#entries.delete(key);
    }
    this.#endIfIdle();
  }

  #endIfIdle(): void {
    if (this.#isShutDown && this.#running === 0) this.#ended.resolve();
  }
}
