// Updates the feeds, either once or until the process stops. Notifies their users when the entries of rules may have changed.
import { ChangeSignal } from "../async/change-signal.ts";
import type { Clock } from "../async/clock.ts";
import type { DeclaredFeed } from "../model/declared-feed.ts";
import type { FeedBook } from "../reconcile/feeds/feed-book.ts";

/** Statuses also change with time: a feed can become stale. */
const idleMsMax = 60_000;
const pauseMsMin = 1_000;
/** How often content that another process has stored is loaded. */
const followMs = 15_000;

export interface FeedLoopOptions {
  readonly book: FeedBook;
  /** The current declarations. */
  readonly feeds: () => readonly DeclaredFeed[];
  readonly clock: Clock;
}

export class FeedLoop {
  readonly #options: FeedLoopOptions;
  readonly #changed = new ChangeSignal();

  constructor(options: FeedLoopOptions) {
    this.#options = options;
  }

  /** Call this when the declarations may have changed. */
  wake(): void {
    this.#changed.notify();
  }

  /** Loads the declarations and the stored content, and fetches nothing. */
  async load(): Promise<void> {
    const { book, feeds } = this.#options;
    await book.declare(feeds());
  }

  /** Fetches the feeds that are due. Never rejects. */
  async once(signal: AbortSignal): Promise<void> {
    const { book } = this.#options;
    await this.load();
    await book.refresh(signal);
    if (!signal.aborted) await book.report();
  }

  /** Loads the content that another process fetches and stores. Never rejects. */
  async follow(signal: AbortSignal, onChange: () => void): Promise<void> {
    const { book, feeds } = this.#options;
    let version = book.version();
    while (!signal.aborted) {
      const changedAt = this.#changed.version;
      await book.declare(feeds());
      await book.follow(signal);
      if (book.version() !== version) onChange();
      version = book.version();
      await this.#wait(changedAt, followMs, signal);
    }
  }

  /** @param onChange called when the entries of rules may have changed */
  async run(signal: AbortSignal, onChange: () => void): Promise<void> {
    const { book, clock } = this.#options;
    let version = book.version();
    while (!signal.aborted) {
      const changedAt = this.#changed.version;
      await this.once(signal);
      if (book.version() !== version) {
        version = book.version();
        onChange();
      }
      const dueInMs = (book.nextMs() ?? Number.POSITIVE_INFINITY) - clock.nowMs();
      await this.#wait(changedAt, Math.min(Math.max(dueInMs, pauseMsMin), idleMsMax), signal);
    }
  }

  async #wait(changedAt: number, timeoutMs: number, signal: AbortSignal): Promise<void> {
    const over = new AbortController();
    const either = AbortSignal.any([signal, over.signal]);
    await Promise.race([this.#changed.wait(changedAt, either), this.#options.clock.sleep(timeoutMs, either)]);
    over.abort();
  }
}
