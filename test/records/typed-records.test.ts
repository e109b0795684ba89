// What each kind of record makes of its store: absent, damaged, in conflict, or not allowed.
import { describe, expect, test } from "@jest/globals";
import type { Entry } from "../../src/address/entry.ts";
import { emptyInventory } from "../../src/model/inventory.ts";
import type { SeenLists } from "../../src/model/observed.ts";
import { afterFetch, type FeedState, initialFeedState } from "../../src/feeds/feed-state.ts";
import { LogCursor } from "../../src/logs/cursor.ts";
import { ClusterRecordStore } from "../../src/records/cluster-record-store.ts";
import { decodeFeed, encodeFeed, FeedRecords } from "../../src/feeds/feed-records.ts";
import { createInventoryRecords } from "../../src/records/inventory-records.ts";
import { LogRecords, logTextLengthMax } from "../../src/logs/log-records.ts";
import type { RecordStore } from "../../src/records/record-store.ts";
import { SeenKeeper } from "../../src/app/seen-keeper.ts";
import { aFeed, aReading, someAddresses, textFacts } from "../support/builders/declare-feed.ts";
import { MemoryRecords } from "./memory-records.ts";

const main = { namespace: "shop", name: "main" };

function openStore(
  records = new MemoryRecords(),
  overrides: Partial<ConstructorParameters<typeof ClusterRecordStore>[0]> = {},
): ClusterRecordStore {
  const ownerOf = () => ({ uid: "u-1", retains: false });
  return new ClusterRecordStore({ api: records.open(), ownerOf, mayWrite: () => true, ...overrides });
}

/** Changes the stored texts without their digests, or with the given text as a store returns it. */
function damagedStore(text: string | undefined): RecordStore {
  const store = openStore();
  return {
    load: async () =>
      text === undefined
        ? { state: "Damaged", problem: "WafRecord shop/main can't be used.", revision: "" }
        : { state: "Loaded", text, revision: "" },
    save: async (key, saved) => await store.save(key, saved, ""),
    remove: async (key) => await store.remove(key),
    placeOf: () => "WafRecord shop/main",
  };
}

describe("An inventory", () => {
  test("is empty if there is none, and the same object until it changes", async () => {
    const inventories = createInventoryRecords(openStore());
    expect(await inventories.load(main)).toStrictEqual({ state: "Loaded", inventory: emptyInventory, revision: "" });
    const inventory = { ...emptyInventory, version: 1 };
    expect(await inventories.save(main, inventory, "")).toMatchObject({ state: "Saved" });
    const loaded = await inventories.load(main);
    expect(loaded).toMatchObject({ inventory });
    expect(await inventories.load(main)).toBe(loaded);
    expect(await inventories.remove(main)).toBeUndefined();
    expect(await inventories.load(main)).toMatchObject({ inventory: emptyInventory });
  });

  test.each([undefined, "", "192.0.2.1\n"])(
    "that is damaged stops all writes and says how to continue: %j",
    async (text) => {
      expect(await createInventoryRecords(damagedStore(text)).load(main)).toMatchObject({
        state: "Unreadable",
        problem: expect.stringMatching(/^WafRecord shop\/main.* Restore it from a backup/u),
      });
    },
  );
});

describe("A feed", () => {
  const feed = aFeed();

  function fetched(count: number): FeedState {
    const outcome = { kind: "Read", reading: aReading(someAddresses(count)), facts: textFacts() } as const;
    return afterFetch(initialFeedState(feed), feed, outcome, { nowMs: 0, random: 0 });
  }

  function held(): FeedState {
    const reading = { ...aReading(someAddresses(20)), invalidLines: [{ line: 3, text: "x", message: "No." }] };
    const facts = textFacts({ etag: '"v1"', lastModified: "Sun, 01 Nov 2026 00:00:00 GMT", sha256: "ab" });
    const at = { nowMs: 1000, random: 0 };
    const good = afterFetch(initialFeedState(feed), feed, { kind: "Read", reading, facts }, at);
    const less = { kind: "Read", reading: aReading(someAddresses(1)), facts: textFacts() } as const;
    const fault = { message: "No.", retryAfterMs: 5 } as const;
    return afterFetch(afterFetch(good, feed, less, at), feed, { kind: "Failed", fault }, at);
  }

  test("is restored unchanged, with its content on hold and its failure", () => {
    for (const state of [held(), initialFeedState(feed)]) {
      const fields = Object.entries(state).filter(([, value]) => value !== undefined);
      expect(decodeFeed(encodeFeed(state))).toStrictEqual(Object.fromEntries(fields));
    }
  });

  test("has the expiries of its entries in seconds, rounded up", () => {
    const [entry, former] = ["192.0.2.1", "192.0.2.9"] as Entry[];
    const content = {
      entries: [entry!],
      expiresAtMs: new Map([[entry!, 1500]]),
      ended: new Map([[former!, 1000]]),
      notes: new Map([[entry!, "SBL 1 # x"]]),
    };
    const text = encodeFeed({ ...held(), good: { ...held().good!, content } });
    expect(JSON.parse(text)).toMatchObject({ good: { content: ["192.0.2.1 2 # SBL 1 # x", "-192.0.2.9 1"] } });
    expect(decodeFeed(text)?.good?.content).toStrictEqual({ ...content, expiresAtMs: new Map([[entry, 2000]]) });
  });

  test("is fetched again if its record is damaged, or of a newer version", async () => {
    const text = encodeFeed(held());
    const damaged = [
      undefined,
      "",
      "{\n",
      "[]\n",
      text.replace('"format": 1', '"format": 2'),
      text.replace('"failures": ', '"failures": -'),
      text.slice(0, -2),
      text.replace('"192.0.2.1"', '"192.0.2.1x"'),
    ];
    for (const content of damaged) {
      const records = new FeedRecords(damagedStore(content));
      expect([content, await records.load(feed.meta)]).toStrictEqual([content, { ok: true, state: undefined }]);
      expect(await records.save(feed.meta, held())).toBeUndefined();
    }
  });

  test("that is created again starts without content, and keeps its own when that of the former one is deleted", async () => {
    const records = new MemoryRecords();
    let uid = "former";
    const open = () =>
      new FeedRecords(openStore(records, { ownerOf: () => ({ uid, retains: false }), textLengthMax: 100 }));
    const entriesOf = async () => {
      const loaded = await open().load(feed.meta);
      return loaded.ok ? loaded.state?.good?.content.entries.length : loaded.problem;
    };
    const save = async (state: FeedState) => {
      const opened = open();
      await opened.load(feed.meta);
      return await opened.save(feed.meta, state);
    };
    expect(await save(fetched(200))).toBeUndefined();
    expect(await entriesOf()).toBe(200);
    uid = "created again";
    expect(await entriesOf()).toBeUndefined();
    expect(await save(fetched(200))).toBeUndefined();
    records.collectGarbage(uid);
    expect(await entriesOf()).toBe(200);
  });
});

describe("The record of forwarded logs", () => {
  const listedMs = { sinceMs: 1, untilMs: 2, firstMs: 0, lastMs: 1 };
  const reason: [string, number] = ["x", 1];
  const judge = {
    shape: "",
    listed: [{ entry: "192.0.2.1" as Entry, times: 1, requests: 1, ...listedMs, reasons: [reason] }],
    former: [["192.0.2.2", { untilMs: 1, times: 2 }] as [string, { untilMs: number; times: number }]],
    counts: [],
    rows: { matched: 1, late: 0, unreadable: 0 },
    leftOut: 0,
  };
  const cursor = new LogCursor(100, { low: 1, high: 2 });
  cursor.markOf(100).forwarded.set(7, 1);
  const record = { cursor: cursor.save(), forwarded: 1, judges: { "shop/attackers u-1": judge } };

  test("is restored, reports conflicts, and is null if it is damaged", async () => {
    const records = new MemoryRecords();
    const [one, two] = [new LogRecords(openStore(records)), new LogRecords(openStore(records))];
    expect(await one.load(main)).toStrictEqual({ state: "Loaded", record: undefined, revision: "" });
    expect(await one.save(main, record, "")).toMatchObject({ state: "Saved" });
    expect(await two.load(main)).toMatchObject({ record });
    expect(await two.save(main, record, "")).toMatchObject({ state: "Conflict" });
    const text = records.objects.get("main-logs")!.spec.text;
    for (const [from, to] of [
      ['"format": 1', '"format": 2'],
      ['"nextDay": 100', '"nextDay": -1'],
      ['"high": 2', '"high": null'],
      ['"forwarded": 1', '"forwarded": 0.5'],
      ['"times": 1', '"times": "1"'],
      [/^/u, "x"],
    ] as const) {
      const damaged = new LogRecords(damagedStore(text.replace(from, to)));
      expect([from, await damaged.load(main)]).toMatchObject([from, { state: "Loaded", record: null }]);
    }
    expect(await new LogRecords(damagedStore(undefined)).load(main)).toMatchObject({ state: "Loaded", record: null });
  });

  test("that is too large or must not be written is refused before anything is written", async () => {
    const records = new MemoryRecords();
    const days = [{ day: 1, forwarded: "x".repeat(logTextLengthMax), judged: "" }];
    const huge = { ...record, cursor: { ...record.cursor, days } };
    expect(await new LogRecords(openStore(records)).save(main, huge, "")).toStrictEqual({ state: "TooLarge" });
    const forbidden = new LogRecords(openStore(records, { mayWrite: () => false }));
    expect(await forbidden.save(main, record, "")).toMatchObject({ state: "Failed" });
    expect(records.writes).toStrictEqual([]);
  });
});

describe("The lists of the last run", () => {
  const seen: SeenLists = {
    domain: "shop.example",
    lists: { blocklist: new Set(["192.0.2.1", "192.0.2.2"] as Entry[]), allowlist: new Set() },
  };
  const unexpected = (problem: string): never => {
    throw new Error(problem);
  };
  /** What the next command finds. */
  const takenFrom = async (store: RecordStore) => {
    const keeper = new SeenKeeper(store, unexpected);
    await keeper.take([main]);
    return keeper.memoryOf(main).lastSeen;
  };

  test("are kept for the next command, and dropped before anything is written", async () => {
    const store = openStore();
    expect(await takenFrom(store)).toBeUndefined();
    const keeper = new SeenKeeper(store, unexpected);
    const memory = keeper.memoryOf(main);
    memory.lastSeen = seen;
    for (let run = 0; run < 2; run += 1) await keeper.putBack();
    expect(await takenFrom(store)).toMatchObject(seen);
    expect(await takenFrom(store)).toBeUndefined();
  });
});
