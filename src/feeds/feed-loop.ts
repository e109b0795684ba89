// Visits the feeds, either once or until the process stops. Notifies their users when the entries of rules may have changed.
import type { Clock } from "../async/clock.ts";
import { KeyedQueue } from "../async/keyed-queue.ts";
import type { DeclaredFeeds } from "../model/declared-feed.ts";
import type { FeedBook } from "./feed-book.ts";

const pauseMsMin = 1_000;
/** The key of the declarations, next to the names of feeds. */
const declarations = "";
const declared = { priority: "Change", reason: "declared" } as const;

export interface FeedLoopOptions {
  readonly book: FeedBook;
  /** The current declarations. */
  readonly feeds: () => DeclaredFeeds;
  readonly clock: Clock;
  /** A number of at least 0 and less than 1. */
  readonly random: () => number;
}

/** Called with the changed feeds, as `namespace/name`. */
export type OnFeedsChanged = (feeds: ReadonlySet<string>) => void;

export class FeedLoop {
  readonly #options: FeedLoopOptions;
  readonly #queue: KeyedQueue<string>;

  constructor(options: FeedLoopOptions) {
    this.#options = options;
    const { clock, random } = options;
    this.#queue = new KeyedQueue({ clock, random });
  }

  /** Call this when the declarations may have changed. */
  wake(): void {
    this.#queue.add(declarations, declared);
  }

  /** Loads the declarations and the stored content, and fetches nothing. Call this before anything uses the feeds. */
  async load(): Promise<void> {
    await this.#declare();
    this.#options.book.takeChanged();
  }

  /** Fetches the feeds that are due. Never rejects. */
  async once(signal: AbortSignal): Promise<void> {
    const { book } = this.#options;
    await this.#declare();
    await Promise.all(book.names().map(async (key) => await book.visit(key, signal)));
  }

  /** @param onChange called when the entries of rules may have changed */
  async run(signal: AbortSignal, onChange: OnFeedsChanged): Promise<void> {
    const { book, clock } = this.#options;
    const handle = async (key: string): Promise<{ readonly wakeAtMs?: number }> => {
      const nextMs = key === declarations ? await this.#declareAll() : await book.visit(key, signal);
      const changed = book.takeChanged();
      if (changed.size > 0) onChange(changed);
      return nextMs === undefined ? {} : { wakeAtMs: Math.max(nextMs, clock.nowMs() + pauseMsMin) };
    };
    this.wake();
    // Waiting for a server costs nothing, and delays nothing else. The book limits how many responses are read at the same time.
    await this.#queue.run({ workers: Number.POSITIVE_INFINITY, handle }, signal);
  }

  async #declareAll(): Promise<undefined> {
    await this.#declare();
    for (const key of this.#options.book.names()) this.#queue.add(key, declared);
  }

  async #declare(): Promise<void> {
    const { used, unused } = this.#options.feeds();
    await this.#options.book.declare(used, unused);
  }
}
