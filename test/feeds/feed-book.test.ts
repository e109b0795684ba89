import { formatTime } from "../../src/model/time-text.ts";
import { beforeEach, describe, expect, test } from "@jest/globals";
import type { FetchOutcome } from "../../src/feeds/content.ts";
import { FeedBook } from "../../src/feeds/feed-book.ts";
import type { FeedState } from "../../src/feeds/feed-state.ts";
import type { DeclaredFeed } from "../../src/model/declared-feed.ts";
import { nameKey } from "../../src/model/resource.ts";
import { aFeed, aReading, someAddresses, textFacts } from "../support/builders/declare-feed.ts";
import { RecordedStatus } from "../support/fakes/recorded-status.ts";
import { createVirtualClock, type VirtualClock } from "../support/fakes/virtual-clock.ts";

const hourMs = 3_600_000;
const name = { namespace: "shop", name: "threats" };
const key = nameKey(name);
const never = new AbortController().signal;

let clock: VirtualClock;
let status: RecordedStatus;
let stored: Map<string, FeedState>;
/** The last state that this book has loaded or saved. */
let known: FeedState | undefined;
let storeProblem: string | undefined;
let outcomes: FetchOutcome[];
let fetches: number;
let observed: string[];
let book: FeedBook;

function read(count: number): FetchOutcome {
  return { kind: "Read", reading: aReading(someAddresses(count)), facts: textFacts() };
}

const failed: FetchOutcome = { kind: "Failed", fault: { code: "HttpStatus", message: "It answered 500." } };

function aBook(isOwn = true): FeedBook {
  return new FeedBook({
    isOwn: () => isOwn,
    store: {
      load: async () => {
        if (storeProblem !== undefined) return { ok: false, problem: storeProblem };
        known = stored.get("x");
        return { ok: true, state: known };
      },
      hasChanged: async () => stored.get("x") !== known,
      save: async (_, state) => {
        if (storeProblem === undefined) stored.set("x", state);
        if (storeProblem === undefined) known = state;
        return storeProblem;
      },
    },
    fetch: async () => {
      fetches += 1;
      return outcomes.shift() ?? failed;
    },
    status,
    clock,
    random: () => 0,
    observer: {
      fetched: (feed, reason) => void observed.push(`${feed.name} ${reason}`),
      seen: (feed, { entries, isStale }) => void observed.push(`${feed.name} ${entries}${isStale ? " stale" : ""}`),
      forgotten: (feed) => void observed.push(`${feed.name} forgotten`),
    },
  });
}

beforeEach(() => {
  clock = createVirtualClock();
  status = new RecordedStatus();
  stored = new Map();
  known = undefined;
  storeProblem = undefined;
  outcomes = [];
  fetches = 0;
  observed = [];
  book = aBook();
});

async function round(feed: DeclaredFeed = aFeed()): Promise<void> {
  await book.declare([feed]);
  await book.visit(key, never);
  expect(status.faults).toStrictEqual([]);
}

function used(): readonly string[] | undefined {
  return book.view(name)?.content?.entries;
}

function conditionsOf(): readonly string[] {
  const { conditions = [] } = (status.read(aFeed().meta) ?? {}) as {
    conditions?: { type: string; status: string; reason: string }[];
  };
  return conditions.map(({ type, status: is, reason }) => `${type} ${is} ${reason}`);
}

describe("The feed book", () => {
  test("uses what another process has fetched, and fetches nothing itself", async () => {
    const follower = aBook(false);
    await follower.declare([aFeed()]);
    outcomes = [read(20)];
    await round();
    known = undefined;
    const version = follower.version();
    await follower.visit(key, never);
    expect(follower.view(name)?.content?.entries).toStrictEqual(used());
    expect(follower.version()).toBeGreaterThan(version);
    expect(fetches).toBe(1);
    const current = follower.version();
    await follower.visit(key, never);
    expect(follower.version()).toBe(current);
  });

  test("fetches from a source when a fetch is due and not before, and reports the content", async () => {
    outcomes = [read(20), read(21)];
    await round();
    await round();
    expect(fetches).toBe(1);
    expect(used()).toHaveLength(20);
    expect(conditionsOf()).toStrictEqual(["Accepted True Accepted", "Fetched True Fetched", "Ready True Fetched"]);
    const version = book.version();
    expect(status.read(aFeed().meta)).toMatchObject({ nextFetchTime: formatTime(clock.nowMs() + hourMs) });
    await clock.advance(hourMs);
    await round();
    expect(used()).toHaveLength(21);
    expect(book.version()).toBeGreaterThan(version);
  });

  test("keeps the last good content across failures and restarts, and reports when it is stale", async () => {
    outcomes = [read(20)];
    await round();
    book = aBook();
    await clock.advance(25 * hourMs);
    await round();
    expect(used()).toHaveLength(20);
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
    expect(fetches).toBe(0);
    expect(conditionsOf()).toContain("Fetched False Unavailable");
    storeProblem = undefined;
    outcomes = [read(20)];
    await clock.advance(30_000);
    await round();
    expect(used()).toHaveLength(20);
  });

  test("uses no content that could not be stored", async () => {
    outcomes = [read(20), read(21), read(21)];
    await round();
    await clock.advance(hourMs);
    await book.declare([aFeed()]);
    storeProblem = "The disk is full.";
    await book.visit(key, never);
    expect(used()).toHaveLength(20);
    storeProblem = undefined;
    await clock.advance(30_000);
    await round();
    expect(used()).toHaveLength(21);
  });

  test("fetches nothing while a feed is suspended, and forgets a feed that is no longer declared", async () => {
    outcomes = [read(20)];
    await round(aFeed({ suspend: true }));
    expect(fetches).toBe(0);
    expect(conditionsOf()).toContain("Ready Unknown Suspended");
    await round();
    expect(used()).toHaveLength(20);
    await book.declare([]);
    expect(book.view(name)).toBeUndefined();
  });

  test("fetches on time, and not hours later, if the clock was set back since the last fetch", async () => {
    outcomes = [read(20), read(20)];
    await round();
    clock.jumpWallClock(-5 * hourMs);
    await round();
    expect(fetches).toBe(2);
  });
});
