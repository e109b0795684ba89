// A work queue over keys, like client-go's. A key has one entry, however often it is added; the earliest wake-up wins; and only
// one worker processes it at a time: a key that is added while it is processed runs again afterwards. The key that is
// ready for the longest time is next, and each priority level counts as a minute of waiting. Delays are in monotonic time. Reasons are for
// logs and not part of a key's identity.
import { type BackOff, backOffDelayMs } from "./back-off.ts";
import type { CancelTimer, Clock } from "./clock.ts";
import { lowestOf } from "./earliest.ts";

/** Most urgent first. */
export const queuePriorities = ["Change", "Retry", "Resync"] as const;
export type QueuePriority = (typeof queuePriorities)[number];

/** After waiting this long, a key gains one priority level. */
export const ageingMs = 60_000;

export function levelOf(priority: QueuePriority): number {
  return queuePriorities.length - 1 - queuePriorities.indexOf(priority);
}

export function rankOf({ readySinceMs, level }: { readySinceMs: number; level: number }): number {
  return readySinceMs - level * ageingMs;
}

/** Further reasons are dropped. */
export const reasonsMax = 8;
const retryBackOff: BackOff = { baseMs: 1_000, maxMs: 300_000 };

export interface Wake {
  readonly priority: QueuePriority;
  readonly reason: string;
}

export interface QueueItem<Key> {
  readonly key: Key;
  /** Why the key was woken, in order of arrival, without duplicates. */
  readonly reasons: readonly string[];
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

export interface KeyedQueueOptions {
  readonly clock: Pick<Clock, "monotonicMs" | "schedule">;
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

const silentObserver: QueueObserver = { added() {}, retried() {}, waited() {}, worked() {} };

export class KeyedQueue<Key> {
  readonly #clock: Pick<Clock, "monotonicMs" | "schedule">;
  readonly #random: () => number;
  readonly #observer: QueueObserver;
  readonly #entries = new Map<Key, Entry>();
  /** By rank. */
  readonly #ready = new Map<Key, number>();
  /** By the time at which the key becomes ready. */
  readonly #delayed = new Map<Key, number>();
  readonly #failures = new Map<Key, number>();
  readonly #takers = new Set<(item: QueueItem<Key> | undefined) => void>();
  #timer: { readonly atMs: number; readonly cancel: CancelTimer } | undefined;
  #running = 0;
  #shutDown: PromiseWithResolvers<void> | undefined;

  constructor(options: KeyedQueueOptions) {
    this.#clock = options.clock;
    this.#random = options.random;
    this.#observer = options.observer ?? silentObserver;
  }

  /** Makes the key ready now. A key that waits already keeps its age and takes the higher priority. */
  add(key: Key, wake: Wake): void {
    this.#promoteDue();
    if (this.#shutDown !== undefined) return;
    const entry = this.#entryOf(key);
    this.#join(entry, wake);
    this.#delayed.delete(key);
    this.#wake(key, entry, this.#clock.monotonicMs());
    this.#handOut();
  }

  /**
   * Makes the key ready after the delay, unless it is ready or will be ready earlier anyway. Then this wake is dropped, because
   * the worker sets the next wake of a key again after every run.
   */
  addAfter(key: Key, delayMs: number, wake: Wake): void {
    if (!(delayMs > 0)) return this.add(key, wake);
    this.#promoteDue();
    if (this.#shutDown !== undefined || this.#ready.has(key)) return;
    const entry = this.#entryOf(key);
    if (entry.again) return;
    const wakeAtMs = this.#clock.monotonicMs() + delayMs;
    if ((this.#delayed.get(key) ?? Infinity) <= wakeAtMs) return;
    this.#join(entry, wake);
    this.#delayed.set(key, wakeAtMs);
    this.#armTimer(wakeAtMs);
  }

  /**
   * Makes the key ready after a backoff that doubles with each call since `forget`.
   * @returns the delay in milliseconds
   */
  retry(key: Key, reason: string): number {
    const attempt = this.failures(key) + 1;
    this.#failures.set(key, attempt);
    const delayMs = backOffDelayMs({ ...retryBackOff, attempt, random: this.#random });
    this.retryAfter(key, delayMs, reason);
    return delayMs;
  }

  /** Like `retry`, but with the caller's backoff: counts the retry and makes the key ready after the delay. */
  retryAfter(key: Key, delayMs: number, reason: string): void {
    this.#observer.retried();
    this.addAfter(key, delayMs, { priority: "Retry", reason });
  }

  /** The key has succeeded or no longer exists: resets its backoff. Keeps wakes that are due. */
  forget(key: Key): void {
    this.#failures.delete(key);
  }

  /** Whether ready keys are waiting for a worker. */
  get hasWaiting(): boolean {
    this.#promoteDue();
    return this.#ready.size > 0;
  }

  /** How often the key has been retried since `forget`. */
  failures(key: Key): number {
    return this.#failures.get(key) ?? 0;
  }

  /**
   * The next key to process, now or as soon as there is one. The caller must call `done` with it in any case.
   * @returns `undefined` once the signal aborts or the queue is shut down.
   */
  async get(signal?: AbortSignal): Promise<QueueItem<Key> | undefined> {
    this.#promoteDue();
    if (signal?.aborted === true) return undefined;
    const item = this.#take();
    if (item !== undefined || this.#shutDown !== undefined) return item;
    return new Promise((resolve) => {
      const give = (given: QueueItem<Key> | undefined): void => {
        this.#takers.delete(give);
        signal?.removeEventListener("abort", stop);
        resolve(given);
      };
      const stop = (): void => give(undefined);
      this.#takers.add(give);
      signal?.addEventListener("abort", stop, { once: true });
    });
  }

  /** Call this when the processing of a key from `get` has ended, with or without success. */
  done(key: Key): void {
    const entry = this.#entries.get(key);
    if (entry?.runningSinceMs === undefined) throw new Error("done was called for a key that is not in progress");
    this.#promoteDue();
    const nowMs = this.#clock.monotonicMs();
    this.#observer.worked(nowMs - entry.runningSinceMs);
    entry.runningSinceMs = undefined;
    this.#running -= 1;
    if (entry.again) {
      entry.again = false;
      this.#enqueue(key, entry, nowMs);
    } else if (!this.#delayed.has(key)) this.#entries.delete(key);
    this.#handOut();
    this.#endIfIdle();
  }

  /**
   * Accepts no more keys, and drops all waiting ones.
   * @returns when no key is in progress any longer
   */
  async shutDown(): Promise<void> {
    this.#shutDown ??= Promise.withResolvers();
    this.#delayed.clear();
    this.#ready.clear();
    for (const [key, entry] of this.#entries) {
      entry.again = false;
      if (entry.runningSinceMs === undefined) this.#entries.delete(key);
    }
    this.#timer?.cancel();
    this.#timer = undefined;
    for (const give of this.#takers) give(undefined);
    this.#endIfIdle();
    await this.#shutDown.promise;
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
    entry.level = Math.max(entry.level, levelOf(priority));
    if (entry.reasons.size < reasonsMax) entry.reasons.add(reason);
  }

  /** Handles a wake that became due at `atMs`. */
  #wake(key: Key, entry: Entry, atMs: number): void {
    if (this.#ready.has(key)) return this.#enqueue(key, entry, entry.readySinceMs);
    if (entry.again) return;
    this.#observer.added();
    if (entry.runningSinceMs === undefined) this.#enqueue(key, entry, atMs);
    else entry.again = true;
  }

  #enqueue(key: Key, entry: Entry, readySinceMs: number): void {
    entry.readySinceMs = readySinceMs;
    this.#ready.set(key, rankOf(entry));
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

  #take(): QueueItem<Key> | undefined {
    const head = lowestOf(this.#ready);
    if (head === undefined) return undefined;
    const { key } = head;
    this.#ready.delete(key);
    const entry = this.#entryOf(key);
    const nowMs = this.#clock.monotonicMs();
    const reasons = [...entry.reasons];
    this.#observer.waited(nowMs - entry.readySinceMs);
    entry.reasons = new Set();
    entry.level = 0;
    entry.runningSinceMs = nowMs;
    this.#running += 1;
    return { key, reasons };
  }

  #handOut(): void {
    for (const give of this.#takers) {
      const item = this.#take();
      if (item === undefined) return;
      give(item);
    }
  }

  /** One timer, for the wake that is due first. */
  #armTimer(atMs: number): void {
    if ((this.#timer?.atMs ?? Infinity) <= atMs) return;
    this.#timer?.cancel();
    const cancel = this.#clock.schedule(atMs - this.#clock.monotonicMs(), () => {
      this.#timer = undefined;
      this.#promoteDue();
      this.#handOut();
      const next = lowestOf(this.#delayed);
      if (next !== undefined) this.#armTimer(next.rank);
    });
    this.#timer = { atMs, cancel };
  }

  #endIfIdle(): void {
    if (this.#running === 0) this.#shutDown?.resolve();
  }
}
