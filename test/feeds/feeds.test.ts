// The feeds of one namespace and those of others: what is fetched, kept and reported, which changes are told, and who waits for whom.
import { formatTime } from "../../src/model/texts.ts";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import type { FetchOutcome, InTurn, FeedState } from "../../src/feeds/feed-state.ts";
import { Feeds } from "../../src/feeds/feeds.ts";
import type { DeclaredFeed, DeclaredFeeds } from "../../src/model/declared.ts";
import { nameKey, type ObjectName } from "../../src/model/resource.ts";
import { aFeed, aReading, someAddresses, textFacts } from "../support/builders/declare-feed.ts";
import { RecordedStatus } from "../support/fakes/recorded-status.ts";
import { createVirtualClock, type VirtualClock } from "../support/fakes/virtual-clock.ts";

const hourMs = 3_600_000;
const key = "shop/threats";
const never = new AbortController().signal;
const some = someAddresses(20);

let clock: VirtualClock;
let status: RecordedStatus;
let stored: Map<string, FeedState>;
/** The states that the books have loaded or saved last. */
let known: Map<string, FeedState | undefined>;
let storeProblem: string | undefined;
/** What the next fetches return, if the test does not set another answer. */
let outcomes: FetchOutcome[];
let answer: (feed: DeclaredFeed, signal: AbortSignal, inTurn: InTurn) => Promise<FetchOutcome>;
let fetched: string[];
let declared: DeclaredFeeds;
let book: Feeds;

function feed(name: string, change: Partial<DeclaredFeed> = {}, namespace = "shop"): DeclaredFeed {
  return aFeed({ ...change, meta: { ...aFeed().meta, namespace, name } });
}

function content(entries: readonly string[]): FetchOutcome {
  return { kind: "Read", reading: aReading(entries), facts: textFacts() };
}

function read(count: number): FetchOutcome {
  return content(someAddresses(count));
}

const failed: FetchOutcome = { kind: "Failed", fault: { message: "It answered 500." } };

function aBook(isOwn = true): Feeds {
  return new Feeds({
    feeds: () => declared,
    isOwn: () => isOwn,
    store: {
      load: async (name) => {
        if (storeProblem !== undefined) return { ok: false, problem: storeProblem };
        const state = stored.get(nameKey(name));
        known.set(nameKey(name), state);
        return { ok: true, state };
      },
      hasChanged: async (name) => stored.get(nameKey(name)) !== known.get(nameKey(name)),
      save: async (name, state) => {
        if (storeProblem !== undefined) return storeProblem;
        stored.set(nameKey(name), state);
        known.set(nameKey(name), state);
        return undefined;
      },
    },
    fetch: async (asked, _, signal, inTurn) => {
      fetched.push(nameKey(asked.meta));
      return await answer(asked, signal, inTurn);
    },
    status,
    clock,
    random: () => 0,
  });
}

beforeEach(() => {
  clock = createVirtualClock();
  status = new RecordedStatus();
  stored = new Map();
  known = new Map();
  storeProblem = undefined;
  outcomes = [];
  answer = async () => outcomes.shift() ?? failed;
  fetched = [];
  declared = { used: [], unused: [] };
  book = aBook();
});

async function round(used: readonly DeclaredFeed[] = [aFeed()], unused: readonly DeclaredFeed[] = []): Promise<void> {
  declared = { used, unused };
  await book.once(never);
  expect(status.faults).toStrictEqual([]);
}

async function declare(...used: readonly DeclaredFeed[]): Promise<void> {
  declared = { used, unused: [] };
  await book.load();
}

/** The number of entries that rules use of a feed. */
function used(name = "threats"): number | undefined {
  return book.view({ namespace: "shop", name })?.content?.entries.length;
}

function conditionsOf({ name, namespace }: ObjectName = aFeed().meta): readonly string[] {
  const { conditions = [] } = (status.read({ ...aFeed().meta, namespace, name }) ?? {}) as {
    conditions?: { type: string; status: string; reason: string }[];
  };
  return conditions.map(({ type, status: is, reason }) => `${type} ${is} ${reason}`);
}

describe("Feeds", () => {
  test("uses what another process has fetched, and fetches nothing itself", async () => {
    const follower = aBook(false);
    outcomes = [read(20)];
    declared = { used: [aFeed()], unused: [] };
    await follower.load();
    await round();
    known.clear();
    const version = follower.version();
    await follower.visit(key, never);
    expect(follower.view(aFeed().meta)).toStrictEqual(book.view(aFeed().meta));
    expect(follower.version()).toBeGreaterThan(version);
    expect(fetched).toHaveLength(1);
    const current = follower.version();
    await follower.visit(key, never);
    expect(follower.version()).toBe(current);
  });

  test("fetches from a source when a fetch is due and not before, and reports the content", async () => {
    outcomes = [read(20), read(21)];
    await round();
    await round();
    expect(fetched).toHaveLength(1);
    expect(used()).toBe(20);
    expect(conditionsOf()).toStrictEqual(["Accepted True Accepted", "Fetched True Fetched", "Ready True Fetched"]);
    const version = book.version();
    expect(status.read(aFeed().meta)).toMatchObject({ nextFetchTime: formatTime(clock.nowMs() + hourMs) });
    await clock.advance(hourMs);
    await round();
    expect(used()).toBe(21);
    expect(book.version()).toBeGreaterThan(version);
  });

  test("keeps the last good content across failures and restarts, and reports when it is stale", async () => {
    outcomes = [read(20)];
    await round();
    book = aBook();
    await clock.advance(25 * hourMs);
    await round();
    expect(used()).toBe(20);
    expect(conditionsOf()).toStrictEqual([
      "Accepted True Accepted",
      "Fetched False Unavailable",
      "Ready False Unavailable",
      "Reconciling True Unavailable",
      "Stale True NotConfirmed",
    ]);
    expect(book.problems()).toStrictEqual([
      "WafFeed shop/threats: It answered 500. Rules continue to use the last good content: 20 entries.",
    ]);
    outcomes = [read(20)];
    await clock.advance(60_000);
    await round();
    expect(conditionsOf()).toStrictEqual(["Accepted True Accepted", "Fetched True Fetched", "Ready True Fetched"]);
  });

  test("fetches nothing while the store cannot be read, because the guards have nothing to compare with", async () => {
    storeProblem = "The disk is gone.";
    await round();
    expect(fetched).toHaveLength(0);
    expect(conditionsOf()).toContain("Fetched False Unavailable");
    storeProblem = undefined;
    outcomes = [read(20)];
    await clock.advance(30_000);
    await round();
    expect(used()).toBe(20);
  });

  test("uses no content that could not be stored", async () => {
    outcomes = [read(20), read(21), read(21)];
    await round();
    await clock.advance(hourMs);
    await declare(aFeed());
    storeProblem = "The disk is full.";
    await book.visit(key, never);
    expect(used()).toBe(20);
    storeProblem = undefined;
    await clock.advance(30_000);
    await round();
    expect(used()).toBe(21);
  });

  test("fetches nothing while a feed is suspended, and forgets a feed that is no longer declared", async () => {
    outcomes = [read(20)];
    await round([aFeed({ suspend: true })]);
    expect(fetched).toHaveLength(0);
    expect(conditionsOf()).toContain("Ready Unknown Suspended");
    await round();
    expect(used()).toBe(20);
    await declare();
    expect(used()).toBeUndefined();
  });

  test("fetches on time, and not hours later, if the clock was set back since the last fetch", async () => {
    outcomes = [read(20), read(20)];
    await round();
    clock.jumpWallClock(-5 * hourMs);
    await round();
    expect(fetched).toHaveLength(2);
  });
});

describe("The changed feeds", () => {
  test("are those whose content or access has changed, each once", async () => {
    const [one, other] = [feed("one"), feed("other")];
    answer = async () => content(some);
    await round([one, other]);
    expect([...book.takeChanged()]).toStrictEqual(["shop/one", "shop/other"]);
    await round([feed("one", { intervalMs: 2 * hourMs }), other]);
    expect([...book.takeChanged()]).toStrictEqual([]);
    await round([feed("one", { allowedNamespaces: { from: "All", selector: undefined } }), other]);
    expect([...book.takeChanged()]).toStrictEqual(["shop/one"]);
    answer = async ({ meta }) => content(meta.name === "one" ? some : some.slice(1));
    await clock.advance(2 * hourMs);
    await round([one, other]);
    expect([...book.takeChanged()].sort()).toStrictEqual(["shop/one", "shop/other"]);
    await clock.advance(2 * hourMs);
    answer = async ({ meta }) => content(meta.name === "one" ? some : some.slice(2));
    await round([one, other]);
    expect([...book.takeChanged()]).toStrictEqual(["shop/other"]);
    await round([other]);
    expect([...book.takeChanged()]).toStrictEqual(["shop/one"]);
  });
});

describe("A feed that no rule uses", () => {
  test("is not fetched and keeps no content in memory, and reports this; its stored content returns with the first rule", async () => {
    const one = feed("one");
    const pending = ["Accepted True Accepted", "Fetched Unknown Pending", "Ready True Pending"];
    outcomes = [content(some)];
    await round([], [one]);
    expect(fetched).toStrictEqual([]);
    expect(conditionsOf(one.meta)).toStrictEqual(pending);
    expect(book.view(one.meta)).toStrictEqual({ feed: one, content: undefined });
    await round([one]);
    expect([fetched, used("one")]).toStrictEqual([["shop/one"], 20]);
    await round([], [one]);
    expect([conditionsOf(one.meta), used("one")]).toStrictEqual([pending, undefined]);
    await round([one]);
    expect([fetched, used("one")]).toStrictEqual([["shop/one"], 20]);
  });
});

describe("A feed whose server does not respond", () => {
  let stop = new AbortController();
  let running: Promise<void> = Promise.resolve();

  beforeEach(() => {
    stop = new AbortController();
  });

  afterEach(async () => {
    stop.abort();
    await clock.settle();
    await running;
  });

  test("delays neither the feeds of other namespaces nor the expiry of entries, even with 400 of its kind", async () => {
    const hanging = Array.from({ length: 400 }, (_, index) => feed(`hanging-${index}`, {}, "stranger"));
    declared = { used: hanging, unused: [] };
    answer = async ({ meta }, signal) => {
      if (meta.namespace === "shop") return content(some);
      await clock.sleep(30_000, signal);
      return { kind: "Failed", fault: { message: "The server did not respond." } };
    };
    const told: string[] = [];
    running = book.run(stop.signal, (changed) => void told.push(...changed));
    await clock.advance(1_000);
    told.length = 0;
    declared = { used: [...hanging, feed("one")], unused: [] };
    book.wake();
    await clock.advance(2_000);
    expect([used("one"), [...new Set(told)]]).toStrictEqual([20, ["shop/one"]]);
    answer = (
      (former) => async (asked, signal, inTurn) =>
        asked.meta.namespace === "shop" ? content(some.slice(1)) : await former(asked, signal, inTurn)
    )(answer);
    await clock.advance(hourMs);
    expect(used("one")).toBe(19);
  });

  test("delays no other feed of its namespace, while only a few responses are read at the same time", async () => {
    let [reading, mostReading] = [0, 0];
    answer = async ({ meta }, signal, inTurn) => {
      if (meta.name.startsWith("hanging")) await clock.sleep(30_000, signal);
      return await inTurn(async () => {
        reading += 1;
        mostReading = Math.max(mostReading, reading);
        await clock.sleep(100, signal);
        reading -= 1;
        return content(some);
      });
    };
    const names = [...Array.from({ length: 20 }, (_, index) => `hanging-${index}`), "one", "two", "three", "four"];
    declared = { used: names.map((name) => feed(name)), unused: [] };
    running = book.once(stop.signal);
    await clock.advance(1_000);
    expect(["one", "two", "three", "four"].map(used)).toStrictEqual([20, 20, 20, 20]);
    expect(mostReading).toBe(3);
  });

  /** A fetch of the feed `one` that ends when the test responds. */
  async function heldFetch(): Promise<(outcome: FetchOutcome) => Promise<number | undefined>> {
    const { promise, resolve } = Promise.withResolvers<FetchOutcome>();
    answer = async () => await promise;
    await declare(feed("one"));
    const visiting = book.visit("shop/one", never);
    await clock.settle();
    return async (outcome) => {
      resolve(outcome);
      return await visiting;
    };
  }

  test("is fetched again at once if its source or a request changes meanwhile", async () => {
    const respond = await heldFetch();
    const asked = feed("one");
    const annotations = { "wafsync.dev/requested-at": "now" };
    await declare({ ...asked, meta: { ...asked.meta, annotations } });
    expect(await respond(content(some))).toBe(clock.nowMs());
    expect([used("one"), fetched]).toStrictEqual([20, ["shop/one"]]);
  });
});
