// The declared feeds of a cluster or a folder: loads their stored state, fetches those that are due, stores the results, reports on them,
// and provides the content. Only one process at a time may fetch: the leader, or the holder of the state directory. Over a folder, this is
// loaded with the first declared feed.
import { type Clock, wallTimeOf } from "../async/clock.ts";
import { FairGate } from "../async/fair-gate.ts";
import { KeyedQueue } from "../async/keyed-queue.ts";
import { mapConcurrently } from "../async/map-concurrently.ts";
import { type DeclaredFeed, type DeclaredFeeds, feedSourceName } from "../model/declared.ts";
import { nameKey, type ObjectName } from "../model/resource.ts";
import type { RecordStore } from "../records/record-store.ts";
import type { StatusPort } from "../run/ports.ts";
import { writeStatus } from "../run/status/write-status.ts";
import {
  type FeedContent,
  adaptFeedState,
  afterFetch,
  type FeedState,
  fetchDueMs,
  firstEndMs,
  initialFeedState,
  withoutEnded,
} from "./feed-state.ts";
import { FeedFetcher, type FeedFetcherOptions, type FetchFeed } from "./feed-fetcher.ts";
import { FeedRecords } from "./feed-records.ts";
import type { FeedView } from "./feed-source.ts";
import { emitFeedEvents, type FetchedReason, judgeFeed, isStale, feedStatus } from "./feed-status.ts";

/** How many stored contents are read at the same time. */
const storeReadsMax = 4;
/** The delay before an unreadable store is read again. Until then, nothing is fetched, because the guards need the last good content. */
const storeRetryMs = 30_000;
/** Statuses also change with time: a feed can become stale. */
const statusMs = 60_000;
/** How often content that another process has stored is loaded. */
const followMs = 15_000;

/** Each response that is read can fill a lot of memory. Namespaces take turns, and one of them leaves room for the others. */
const readLimits = { atOnceMax: 6, ofGroupMax: 3 };

const pauseMsMin = 1_000;
/** The key of the declarations, next to the names of feeds. */
const declarations = "";
const declared = { priority: "Change", reason: "declared" } as const;

interface Known {
  feed: DeclaredFeed;
  /** Whether an attached rule uses it. Of others, nothing is fetched or kept. */
  readonly isUsed: boolean;
  state: FeedState;
  /** The content without expired entries. */
  content: FeedContent | undefined;
  /** Why the state could not be read or written, and until when, by the monotonic clock, that is not tried again. */
  storeFault: { readonly problem: string; readonly retryAtMs: number } | undefined;
}

/** Called with the changed feeds, as `namespace/name`. */
export type OnFeedsChanged = (feeds: ReadonlySet<string>) => void;

export class Feeds {
  readonly #ports: FeedPorts;
  readonly #known = new Map<string, Known>();
  readonly #reads = new FairGate(readLimits);
  readonly #queue: KeyedQueue<string>;
  #version = 0;
  #changed = new Set<string>();

  constructor(ports: FeedPorts) {
    this.#ports = ports;
    const { clock, random } = ports;
    this.#queue = new KeyedQueue({ clock, random });
  }

  /** Increases whenever the entries of rules may have changed. */
  version(): number {
    return this.#version;
  }

  /** The feeds (`namespace/name`) of which rules may have seen a change since the last call. */
  takeChanged(): ReadonlySet<string> {
    const changed = this.#changed;
    this.#changed = new Set();
    return changed;
  }

  view(name: ObjectName): FeedView | undefined {
    const known = this.#known.get(nameKey(name));
    return known && { feed: known.feed, content: known.content };
  }

  /** Call this when the declarations may have changed. */
  wake(): void {
    this.#queue.add(declarations, declared);
  }

  /** Loads the declarations and the stored content, and fetches nothing. Call this before anything uses the feeds. */
  async load(): Promise<void> {
    await this.#declare();
    this.takeChanged();
  }

  /** Fetches the feeds that are due. Never rejects. */
  async once(signal: AbortSignal): Promise<void> {
    await this.#declare();
    await Promise.all([...this.#known.keys()].map(async (key) => await this.visit(key, signal)));
  }

  /** Visits the feeds until the signal aborts. @param onChange called when the entries of rules may have changed */
  async run(signal: AbortSignal, onChange: OnFeedsChanged): Promise<void> {
    const handle = async (key: string): Promise<{ readonly wakeAtMs: number | undefined }> => {
      const nextMs = key === declarations ? await this.#declareAll() : await this.visit(key, signal);
      const changed = this.takeChanged();
      if (changed.size > 0) onChange(changed);
      return { wakeAtMs: nextMs && Math.max(nextMs, this.#ports.clock.nowMs() + pauseMsMin) };
    };
    this.wake();
    // Waiting for a server costs nothing, and delays nothing else. `readLimits` limits how many responses are read at the same time.
    await this.#queue.run({ workers: Number.POSITIVE_INFINITY, handle }, signal);
  }

  /**
   * Fetches the feed if it is due, or loads what another process has fetched, and reports on it. Declarations may change in the meantime.
   * Never rejects. A feed must not be visited twice at the same time.
   * @returns when the next visit is due, in wall time; undefined if only a new declaration requires one
   */
  async visit(key: string, signal: AbortSignal): Promise<number | undefined> {
    const { clock } = this.#ports;
    const before = this.#known.get(key);
    if (before === undefined) return undefined;
    const isOwn = this.#ports.isOwn?.(before.feed.meta) !== false;
    if (!before.isUsed) return isOwn ? await this.#report(before) : undefined;
    if (!isOwn) await this.#follow(before);
    else if (this.#dueMs(before) <= clock.nowMs()) await this.#refresh(before, signal);
    const known = this.#known.get(key);
    if (known === undefined || signal.aborted) return undefined;
    this.#dropEnded(known);
    const endMs = known.content === undefined ? Number.POSITIVE_INFINITY : firstEndMs(known.content);
    if (!isOwn) return Math.min(endMs, clock.nowMs() + followMs);
    await this.#report(known);
    return Math.min(endMs, this.#dueMs(known), clock.nowMs() + statusMs);
  }

  /** The problems of each feed, in one or more sentences. */
  problems(): string[] {
    return [...this.#known.values()].flatMap(({ feed, state, storeFault }) => {
      const { message, next } = judgeFeed(state, feed, this.#ports.clock.nowMs());
      if (storeFault !== undefined) return [`${feedSourceName(feed.meta)}: nothing is fetched: ${storeFault.problem}`];
      return next === "Retrying" || next === "Person" ? [`${feedSourceName(feed.meta)}: ${message}`] : [];
    });
  }

  async #follow({ feed }: Known): Promise<void> {
    const { store } = this.#ports;
    if ((await store.hasChanged?.(feed.meta)) !== true) return;
    const stored = await store.load(feed.meta);
    const known = this.#known.get(nameKey(feed.meta));
    if (!stored.ok || stored.state === undefined || known === undefined) return;
    known.state = adaptFeedState(stored.state, known.feed);
    known.storeFault = undefined;
    this.#use(known, stored.state.good?.content);
  }

  async #report({ feed, isUsed, state, content, storeFault }: Known): Promise<undefined> {
    const { status, clock, observer } = this.#ports;
    const nowMs = clock.nowMs();
    if (isUsed) {
      observer?.seen(feed.meta, {
        entries: content?.entries.length ?? 0,
        confirmedAtMs: state.good?.confirmedAtMs,
        isStale: isStale(state, feed, nowMs),
      });
    }
    const facts = { feed, state, content, storeProblem: storeFault?.problem, isUsed, nowMs };
    await writeStatus(status, feed.meta, (before) => feedStatus(before, facts));
  }

  /** Drops expired entries, which needs no response from the source. */
  #dropEnded(known: Known): void {
    const from = known.content ?? known.state.good?.content;
    this.#use(known, from && withoutEnded(from, this.#ports.clock.nowMs()));
  }

  /** If only the expiry times of entries change, rules are not affected. */
  #use(known: Known, content: FeedContent | undefined): void {
    if (content?.entries !== known.content?.entries) this.#changedFor(known.feed.meta);
    known.content = content;
  }

  #changedFor(feed: ObjectName): void {
    this.#version += 1;
    this.#changed.add(nameKey(feed));
  }

  #dueMs({ feed, state, storeFault }: Known): number {
    const { clock } = this.#ports;
    const dueMs = fetchDueMs(state, feed, clock.nowMs());
    return storeFault === undefined ? dueMs : Math.max(dueMs, wallTimeOf(clock, storeFault.retryAtMs));
  }

  #storeFault(problem: string): Known["storeFault"] {
    return { problem, retryAtMs: this.#ports.clock.monotonicMs() + storeRetryMs };
  }

  #forget(key: string, { feed, isUsed }: Known): void {
    this.#known.delete(key);
    if (!isUsed) return;
    this.#ports.forget?.(feed.meta);
    this.#ports.observer?.forgotten(feed.meta);
    this.#changedFor(feed.meta);
  }

  async #declareAll(): Promise<undefined> {
    await this.#declare();
    for (const key of this.#known.keys()) this.#queue.add(key, declared);
  }

  /** Applies the current declarations. Loads the stored state of new feeds, and drops feeds that are no longer declared or used. */
  async #declare(): Promise<void> {
    const { used, unused } = this.#ports.feeds();
    const names = new Set(used.map(({ meta }) => nameKey(meta)));
    for (const [key, known] of this.#known) if (!names.has(key)) this.#forget(key, known);
    for (const feed of unused) {
      const nothing = { state: initialFeedState(feed), content: undefined, storeFault: undefined };
      this.#known.set(nameKey(feed.meta), { feed, isUsed: false, ...nothing });
    }
    await mapConcurrently(used, storeReadsMax, async (feed) => await this.#declareOne(feed));
  }

  async #declareOne(feed: DeclaredFeed): Promise<void> {
    const { store, clock } = this.#ports;
    const key = nameKey(feed.meta);
    const former = this.#known.get(key);
    const before = former?.isUsed === true ? former : undefined;
    if (before !== undefined && clock.monotonicMs() < (before.storeFault?.retryAtMs ?? Number.POSITIVE_INFINITY)) {
      if (accessOf(before.feed) !== accessOf(feed)) this.#changedFor(feed.meta);
      before.feed = feed;
      before.state = adaptFeedState(before.state, feed);
      return this.#dropEnded(before);
    }
    const stored = await store.load(feed.meta);
    const state = stored.ok ? stored.state : undefined;
    const known: Known = {
      feed,
      isUsed: true,
      state: adaptFeedState(state ?? before?.state ?? initialFeedState(feed), feed),
      content: before?.content,
      storeFault: stored.ok ? undefined : this.#storeFault(stored.problem),
    };
    this.#known.set(key, known);
    this.#changedFor(feed.meta);
    this.#dropEnded(known);
  }

  async #refresh(known: Known, signal: AbortSignal): Promise<void> {
    const { clock, random, fetch, store, status, observer } = this.#ports;
    if (known.storeFault !== undefined) await this.#declareOne(known.feed);
    const current = this.#known.get(nameKey(known.feed.meta));
    if (current === undefined || current.storeFault !== undefined) return;
    const isForgotten = (): boolean => this.#known.get(nameKey(feed.meta)) !== current;
    const { feed, state: before } = current;
    const { namespace } = feed.meta;
    const outcome = await fetch(feed, before, signal, async (read) => await this.#reads.run(namespace, read));
    if (signal.aborted || isForgotten()) return;
    const state = afterFetch(before, feed, outcome, { nowMs: clock.nowMs(), random: random() });
    // The content is stored before it is used, so that it is available after a crash.
    const problem = await store.save(feed.meta, state);
    if (isForgotten()) return;
    if (problem !== undefined) {
      current.storeFault = this.#storeFault(problem);
      return;
    }
    // A new source, request or acceptance may have been declared during the fetch.
    current.state = adaptFeedState(state, current.feed);
    if (state.good?.content !== before.good?.content) this.#use(current, state.good?.content);
    emitFeedEvents(status, feed, before, state, clock.nowMs());
    observer?.fetched(feed.meta, judgeFeed(state, feed, clock.nowMs()).reason);
  }
}

/** The part of the declaration that rules see. */
function accessOf({ allowedNamespaces }: DeclaredFeed): string {
  return JSON.stringify(allowedNamespaces);
}

/** Observes feeds, for metrics. */
export interface FeedObserver {
  fetched(feed: ObjectName, reason: FetchedReason): void;
  /** The current state of a feed. */
  seen(feed: ObjectName, figures: FeedFigures): void;
  /** Called when the feed is no longer declared. */
  forgotten(feed: ObjectName): void;
}

export interface FeedFigures {
  /** The number of entries that rules currently use. */
  readonly entries: number;
  /** When the source last confirmed the content. */
  readonly confirmedAtMs: number | undefined;
  readonly isStale: boolean;
}

export interface FeedPorts {
  /** The current declarations. */
  readonly feeds: () => DeclaredFeeds;
  readonly store: Pick<FeedRecords, "load" | "save"> & Partial<Pick<FeedRecords, "hasChanged">>;
  readonly fetch: FetchFeed;
  /** Called when the feed is no longer declared, so that the fetcher forgets it. */
  readonly forget?: (feed: ObjectName) => void;
  readonly status: StatusPort;
  readonly clock: Clock;
  /** A number of at least 0 and less than 1. */
  readonly random: () => number;
  readonly observer?: FeedObserver | undefined;
  /** Whether this process fetches the feed and reports on it; others only load what it stores. All, if undefined. */
  readonly isOwn?: (feed: ObjectName) => boolean;
}

export interface FeedsOptions
  extends Omit<FeedPorts, "store" | "fetch" | "forget">, Omit<FeedFetcherOptions, "policy"> {
  readonly records: RecordStore;
  readonly feedPolicy: FeedFetcherOptions["policy"];
}

export function openFeeds({ records, feedPolicy: policy, ...options }: FeedsOptions): Feeds {
  const { fetch, forget } = new FeedFetcher({ ...options, policy });
  return new Feeds({ ...options, store: new FeedRecords(records), fetch, forget });
}
