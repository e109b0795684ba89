// Updates the feeds, either once or until the process stops. Notifies their users when the entries of rules may have changed.
import { ChangeSignal } from "../async/change-signal.ts";
import type { Clock } from "../async/clock.ts";
import { withDeadline } from "../async/deadline.ts";
import type { DeclaredFeeds } from "../model/declared-feed.ts";
import type { FeedBook } from "./feed-book.ts";

/** Statuses also change with time: a feed can become stale. */
const idleMsMax = 60_000;
const pauseMsMin = 1_000;
/** How long a round waits for its fetches. */
const fetchWaitMs = 1_000;
/** How often content that another process has stored is loaded. */
const followMs = 15_000;

export interface FeedLoopOptions {
  readonly book: FeedBook;
  /** The current declarations. */
  readonly feeds: () => DeclaredFeeds;
  readonly clock: Clock;
  /** Whether other processes fetch some of the feeds. */
  readonly followsOthers?: boolean | undefined;
}

/** Called with the changed feeds, as `namespace/name`. */
export type OnFeedsChanged = (feeds: ReadonlySet<string>) => void;

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

  /** Loads the declarations and the stored content, and fetches nothing. Call this before anything uses the feeds. */
  async load(): Promise<void> {
    await this.#declare();
    this.#options.book.takeChanged();
  }

  /** Fetches the feeds that are due. Never rejects. */
  async once(signal: AbortSignal): Promise<void> {
    const { book } = this.#options;
    await this.#declare();
    await book.refresh(signal);
    if (!signal.aborted) await book.report();
  }

  /** @param onChange called when the entries of rules may have changed */
  async run(signal: AbortSignal, onChange: OnFeedsChanged): Promise<void> {
    const { book, clock, followsOthers } = this.#options;
    const waitMsMax = followsOthers === true ? followMs : idleMsMax;
    let fetching: Promise<void> = Promise.resolve();
    while (!signal.aborted) {
      const changedAt = this.#changed.version;
      await this.#declare();
      if (followsOthers === true) await book.follow(signal);
      let isWaiting = true;
      fetching = book.refresh(signal, () => {
        if (!isWaiting) this.#changed.notify();
      });
      // Servers that do not respond delay nothing else.
      await withDeadline({ clock, timeoutMs: fetchWaitMs, signal }, async () => await fetching);
      isWaiting = false;
      if (!signal.aborted) await book.report();
      this.#tell(onChange);
      const dueInMs = (book.nextMs() ?? Number.POSITIVE_INFINITY) - clock.nowMs();
      const timeoutMs = Math.min(Math.max(dueInMs, pauseMsMin), waitMsMax);
      await withDeadline({ clock, timeoutMs, signal }, async (over) => await this.#changed.wait(changedAt, over));
    }
    await fetching;
  }

  async #declare(): Promise<void> {
    const { used, unused } = this.#options.feeds();
    await this.#options.book.declare(used, unused);
  }

  #tell(onChange: OnFeedsChanged): void {
    const changed = this.#options.book.takeChanged();
    if (changed.size > 0) onChange(changed);
  }
}
