// The state of all declared feeds: loads it, fetches the feeds that are due, stores the results, and provides the content. Only
// one process at a time may fetch: the leader, or the holder of the state directory.
import { wallTimeOf } from "../../async/clock.ts";
import { mapConcurrently } from "../../async/map-concurrently.ts";
import { requestedAtAnnotation } from "../../api/kinds.ts";
import type { DeclaredFeed } from "../../model/declared-feed.ts";
import type { FeedContent } from "../../model/feed.ts";
import { nameKey, type ObjectName } from "../../model/resource.ts";
import { feedSourceName } from "../../model/feed.ts";
import type { FeedView } from "../../plan/feeds/feed-access.ts";
import { judgeFeed, staleSinceMs } from "../../plan/feeds/feed-verdict.ts";
import {
  adaptFeedState,
  afterFetch,
  fetchDueMs,
  type FeedState,
  firstEndMs,
  initialFeedState,
  validatorsOf,
  withoutEnded,
} from "../../plan/feeds/feed-state.ts";
import { emitFeedEvents } from "./feed-events.ts";
import type { FeedPorts } from "./feed-ports.ts";
import { writeFeedStatus } from "./feed-status.ts";

/** Limits concurrent fetches, because many feeds may use one host. */
const fetchesMax = 4;
/** The delay before an unreadable store is read again. Until then, nothing is fetched, because the guards need the last good content. */
const storeRetryMs = 30_000;

interface Known {
  feed: DeclaredFeed;
  state: FeedState;
  /** The content without expired entries. */
  content: FeedContent | undefined;
  /** Why the state could not be read or written. */
  storeProblem: string | undefined;
  /** By the monotonic clock. */
  storeRetryAtMs: number;
}

export class FeedBook {
  readonly #ports: FeedPorts;
  readonly #known = new Map<string, Known>();
  #version = 0;

  constructor(ports: FeedPorts) {
    this.#ports = ports;
  }

  /** Increases whenever the entries of rules may have changed. */
  version(): number {
    return this.#version;
  }

  view(name: ObjectName): FeedView | undefined {
    const known = this.#known.get(nameKey(name));
    return known === undefined ? undefined : { feed: known.feed, content: known.content };
  }

  state(name: ObjectName): FeedState | undefined {
    return this.#known.get(nameKey(name))?.state;
  }

  /** Applies the current declarations. Loads the stored state of new feeds, and drops feeds that are no longer declared. */
  async declare(feeds: readonly DeclaredFeed[]): Promise<void> {
    const names = new Set(feeds.map(({ meta }) => nameKey(meta)));
    for (const [key, { feed }] of this.#known) if (!names.has(key)) this.#forget(key, feed);
    await mapConcurrently(feeds, fetchesMax, async (feed) => await this.#declareOne(feed));
    this.dropEnded();
  }

  /** Loads what another process has stored in the meantime. */
  async follow(signal: AbortSignal): Promise<void> {
    const { store } = this.#ports;
    await mapConcurrently([...this.#known.values()], fetchesMax, async ({ feed }) => {
      if (signal.aborted || (await store.hasChanged?.(feed.meta)) !== true) return;
      const stored = await store.load(feed.meta);
      const known = this.#known.get(nameKey(feed.meta));
      if (!stored.ok || stored.state === undefined || known === undefined) return;
      known.state = adapted(stored.state, known.feed);
      known.storeProblem = undefined;
      if (stored.state.good?.content.entries !== known.content?.entries) this.#use(known, stored.state.good?.content);
    });
    this.dropEnded();
  }

  /** Fetches all feeds that are due. Afterwards, the status of each feed is current. */
  async refresh(signal: AbortSignal): Promise<void> {
    const { clock } = this.#ports;
    const due = [...this.#known.values()].filter((known) => (this.#dueMs(known) ?? Infinity) <= clock.nowMs());
    await mapConcurrently(due, fetchesMax, async (known) => {
      if (!signal.aborted) await this.#refreshOne(known, signal);
    });
  }

  /** Writes the status of every feed, which also changes with time. */
  async report(): Promise<void> {
    const { status, clock, observer } = this.#ports;
    for (const { feed, state, content, storeProblem } of this.#known.values()) {
      const nowMs = clock.nowMs();
      observer?.seen(feed.meta, {
        entries: content?.entries.length ?? 0,
        confirmedAtMs: state.good?.confirmedAtMs,
        isStale: staleSinceMs(state, feed, nowMs) !== undefined,
      });
      await writeFeedStatus(status, { feed, state, content, storeProblem, nowMs });
    }
  }

  /** The problems of each feed, in one or more sentences. */
  problems(): string[] {
    return [...this.#known.values()].flatMap(({ feed, state, storeProblem }) => {
      const { message, next } = judgeFeed(state, feed);
      if (storeProblem !== undefined) return [`${feedSourceName(feed.meta)}: nothing is fetched: ${storeProblem}`];
      return next === "Retrying" || next === "Person" ? [`${feedSourceName(feed.meta)}: ${message}`] : [];
    });
  }

  /** When something is due next: a fetch, or the expiry of an entry. */
  nextMs(): number | undefined {
    let nextMs = Number.POSITIVE_INFINITY;
    for (const known of this.#known.values()) {
      const endMs = known.content === undefined ? Number.POSITIVE_INFINITY : firstEndMs(known.content);
      nextMs = Math.min(nextMs, endMs, this.#dueMs(known) ?? Number.POSITIVE_INFINITY);
    }
    return nextMs === Number.POSITIVE_INFINITY ? undefined : nextMs;
  }

  /** Drops expired entries, which needs no response from the source. */
  dropEnded(): void {
    const nowMs = this.#ports.clock.nowMs();
    for (const known of this.#known.values()) {
      const { good } = known.state;
      const from = known.content ?? good?.content;
      const content = from === undefined ? undefined : withoutEnded(from, nowMs);
      this.#use(known, content);
    }
  }

  /** If only the expiry times of entries change, rules are not affected. */
  #use(known: Known, content: FeedContent | undefined): void {
    if (content?.entries !== known.content?.entries) this.#version += 1;
    known.content = content;
  }

  #dueMs({ feed, state, storeProblem, storeRetryAtMs }: Known): number | undefined {
    const dueMs = fetchDueMs(state, feed, this.#ports.clock.nowMs());
    return dueMs === undefined || storeProblem === undefined
      ? dueMs
      : Math.max(dueMs, wallTimeOf(this.#ports.clock, storeRetryAtMs));
  }

  #forget(key: string, feed: DeclaredFeed): void {
    this.#known.delete(key);
    this.#ports.forget?.(feed.meta);
    this.#ports.observer?.forgotten(feed.meta);
    this.#version += 1;
  }

  async #declareOne(feed: DeclaredFeed): Promise<void> {
    const { store, clock } = this.#ports;
    const key = nameKey(feed.meta);
    const before = this.#known.get(key);
    if (before !== undefined && !(before.storeProblem !== undefined && clock.monotonicMs() >= before.storeRetryAtMs)) {
      if (before.feed !== feed) this.#version += 1;
      before.feed = feed;
      before.state = adapted(before.state, feed);
      return;
    }
    const stored = await store.load(feed.meta);
    const state = stored.ok ? stored.state : undefined;
    this.#known.set(key, {
      feed,
      state: adapted(state ?? before?.state ?? initialFeedState(feed), feed),
      content: before?.content,
      storeProblem: stored.ok ? undefined : stored.problem,
      storeRetryAtMs: clock.monotonicMs() + storeRetryMs,
    });
    this.#version += 1;
  }

  async #refreshOne(known: Known, signal: AbortSignal): Promise<void> {
    const { clock, random, fetch, store, status, observer } = this.#ports;
    if (known.storeProblem !== undefined) await this.#declareOne(known.feed);
    const current = this.#known.get(nameKey(known.feed.meta));
    if (current === undefined || current.storeProblem !== undefined) return;
    const { feed, state: before } = current;
    const outcome = await fetch(feed, { validators: validatorsOf(before), state: before }, signal);
    if (signal.aborted) return;
    const state = afterFetch(before, feed, outcome, { nowMs: clock.nowMs(), random: random() });
    // The content is stored before it is used, so that it is available after a crash.
    const problem = await store.save(feed.meta, state);
    if (problem !== undefined) {
      current.storeProblem = problem;
      current.storeRetryAtMs = clock.monotonicMs() + storeRetryMs;
      return;
    }
    current.state = state;
    if (state.good?.content !== before.good?.content) this.#use(current, state.good?.content);
    this.dropEnded();
    emitFeedEvents(status, feed, before, state);
    observer?.fetched(feed.meta, judgeFeed(state, feed).reason);
  }
}

function adapted(state: FeedState, feed: DeclaredFeed): FeedState {
  return adaptFeedState(state, feed, feed.meta.annotations[requestedAtAnnotation]);
}
