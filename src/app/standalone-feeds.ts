// The feeds of a directory. The modules are loaded with the first declared feed, because most directories have none.
import { ChangeSignal } from "../async/change-signal.ts";
import type { ObjectName } from "../model/resource.ts";
import type { FeedView } from "../plan/feeds/feed-access.ts";
import type { StatusPort } from "../reconcile/ports.ts";
import type { DirectorySource } from "../source/directory/directory-source.ts";
import type { StandaloneFeedWork, StandaloneFeedsOptions } from "./standalone-feed-work.ts";
import type { OpenedStore } from "./standalone-store.ts";

export class StandaloneFeeds {
  readonly #options: StandaloneFeedsOptions;
  readonly #source: DirectorySource;
  readonly #store: OpenedStore;
  readonly #status: StatusPort;
  readonly #changed = new ChangeSignal();
  #work: StandaloneFeedWork | undefined;

  constructor(options: StandaloneFeedsOptions, source: DirectorySource, store: OpenedStore, status: StatusPort) {
    this.#options = options;
    this.#source = source;
    this.#store = store;
    this.#status = status;
  }

  view(name: ObjectName): FeedView | undefined {
    return this.#work?.book.view(name);
  }

  version(): number {
    return this.#work?.book.version() ?? 0;
  }

  /** The problems of each feed, in one or more sentences. */
  problems(): readonly string[] {
    return this.#work?.book.problems() ?? [];
  }

  /** Call this when the files have changed. */
  wake(): void {
    this.#changed.notify();
    this.#work?.loop.wake();
  }

  /** Loads the declarations and the stored content, and fetches nothing. */
  async load(): Promise<void> {
    await (await this.#open())?.loop.load();
  }

  /** Fetches the feeds that are due. */
  async once(signal: AbortSignal): Promise<void> {
    await (await this.#open())?.loop.once(signal);
  }

  /** @param onChange called when the entries of rules may have changed */
  async run(signal: AbortSignal, onChange: () => void): Promise<void> {
    while (!signal.aborted) {
      const { version } = this.#changed;
      const work = await this.#open();
      if (work !== undefined) return await work.loop.run(signal, onChange);
      await this.#changed.wait(version, signal);
    }
  }

  async #open(): Promise<StandaloneFeedWork | undefined> {
    if (this.#work !== undefined || this.#source.snapshot().feeds.length === 0) return this.#work;
    const { openStandaloneFeeds } = await import("./standalone-feed-work.ts");
    this.#work ??= openStandaloneFeeds(this.#options, this.#source, this.#store, this.#status);
    return this.#work;
  }
}
