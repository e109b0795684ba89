// The feeds of one namespace and those of others: which changes are told, what is fetched, and who waits for whom.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import type { FetchOutcome, InTurn } from "../../src/feeds/content.ts";
import { FeedBook } from "../../src/feeds/feed-book.ts";
import { FeedLoop } from "../../src/feeds/feed-loop.ts";
import type { FeedState } from "../../src/feeds/feed-state.ts";
import type { DeclaredFeed } from "../../src/model/declared-feed.ts";
import { nameKey, type ObjectName } from "../../src/model/resource.ts";
import { aFeed, aReading, someAddresses, textFacts } from "../support/builders/declare-feed.ts";
import { RecordedStatus } from "../support/fakes/recorded-status.ts";
import { createVirtualClock, type VirtualClock } from "../support/fakes/virtual-clock.ts";

const hourMs = 3_600_000;
const never = new AbortController().signal;
const some = someAddresses(20);

let clock: VirtualClock;
let status: RecordedStatus;
let stored: Map<string, FeedState>;
let fetched: string[];
let answer: (feed: DeclaredFeed, signal: AbortSignal, inTurn: InTurn) => Promise<FetchOutcome>;
let book: FeedBook;

function feed(name: string, change: Partial<DeclaredFeed> = {}, namespace = "shop"): DeclaredFeed {
  return aFeed({ ...change, meta: { ...aFeed().meta, namespace, name } });
}

function content(entries: readonly string[]): FetchOutcome {
  return { kind: "Read", reading: aReading(entries), facts: textFacts() };
}

beforeEach(() => {
  clock = createVirtualClock();
  status = new RecordedStatus();
  stored = new Map();
  fetched = [];
  answer = async () => content(some);
  book = aBook();
});

function aBook(): FeedBook {
  return new FeedBook({
    store: {
      load: async (name) => ({ ok: true, state: stored.get(nameKey(name)) }),
      save: async (name, state) => void stored.set(nameKey(name), state),
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

async function round(used: readonly DeclaredFeed[], unused: readonly DeclaredFeed[] = []): Promise<void> {
  await book.declare(used, unused);
  await visitAll(never);
  expect(status.faults).toStrictEqual([]);
}

async function visitAll(signal: AbortSignal): Promise<void> {
  await Promise.all(book.names().map(async (key) => await book.visit(key, signal)));
}

function entries(name: string): number | undefined {
  return book.view({ namespace: "shop", name })?.content?.entries.length;
}

function reasonsOf({ name, namespace }: ObjectName): Readonly<Record<string, string>> {
  const { conditions = [] } = (status.read({ ...aFeed().meta, namespace, name }) ?? {}) as {
    conditions?: { type: string; status: string; reason: string }[];
  };
  return Object.fromEntries(conditions.map((condition) => [condition.type, `${condition.status} ${condition.reason}`]));
}

describe("The changed feeds", () => {
  test("are those whose content or access has changed, each once", async () => {
    const [one, other] = [feed("one"), feed("other")];
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
    await round([], [one]);
    expect(fetched).toStrictEqual([]);
    expect(reasonsOf(one.meta)).toStrictEqual({
      Accepted: "True Accepted",
      Fetched: "Unknown Pending",
      Ready: "True Pending",
    });
    expect(book.view(one.meta)).toStrictEqual({ feed: one, content: undefined });
    await round([one]);
    expect([fetched, entries("one")]).toStrictEqual([["shop/one"], 20]);
    await round([], [one]);
    expect([reasonsOf(one.meta)["Fetched"], entries("one")]).toStrictEqual(["Unknown Pending", undefined]);
    await round([one]);
    expect([fetched, entries("one")]).toStrictEqual([["shop/one"], 20]);
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
    let declared: readonly DeclaredFeed[] = hanging;
    answer = async ({ meta }, signal) => {
      if (meta.namespace === "shop") return content(some);
      await clock.sleep(30_000, signal);
      return { kind: "Failed", fault: { code: "TimedOut", message: "The server did not respond." } };
    };
    const loop = new FeedLoop({ book, feeds: () => ({ used: declared, unused: [] }), clock, random: () => 0 });
    const told: string[] = [];
    running = loop.run(stop.signal, (changed) => void told.push(...changed));
    await clock.advance(1_000);
    told.length = 0;
    declared = [...hanging, feed("one")];
    loop.wake();
    await clock.advance(2_000);
    expect([entries("one"), [...new Set(told)]]).toStrictEqual([20, ["shop/one"]]);
    answer = (
      (former) => async (asked, signal, inTurn) =>
        asked.meta.namespace === "shop" ? content(some.slice(1)) : await former(asked, signal, inTurn)
    )(answer);
    await clock.advance(hourMs);
    expect(entries("one")).toBe(19);
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
    await book.declare(names.map((name) => feed(name)));
    running = visitAll(stop.signal);
    await clock.advance(1_000);
    expect(["one", "two", "three", "four"].map(entries)).toStrictEqual([20, 20, 20, 20]);
    expect(mostReading).toBe(3);
  });

  /** A fetch of the feed `one` that ends when the test responds. */
  async function heldFetch(): Promise<(outcome: FetchOutcome) => Promise<number | undefined>> {
    const { promise, resolve } = Promise.withResolvers<FetchOutcome>();
    answer = async () => await promise;
    await book.declare([feed("one")]);
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
    await book.declare([{ ...asked, meta: { ...asked.meta, annotations } }]);
    expect(await respond(content(some))).toBe(clock.nowMs());
    expect([entries("one"), fetched]).toStrictEqual([20, ["shop/one"]]);
  });
});
