import { expect, test } from "@jest/globals";
import { autoBlocksMax, blockKey, clientsMax, judgedBlocks, Judges } from "../../src/blocks/judge.ts";
import { anAutoBlock, newRow } from "../support/builders/declare-auto-block.ts";
import { aGrant, anInstance } from "../support/builders/declare.ts";
import { gathered } from "../support/builders/gathered.ts";
import { anEntry } from "../support/builders/log-entry.ts";

const startMs = Date.UTC(2026, 2, 10, 12);

function rowOf(client: number, atMs: number) {
  const client_ip = `2001:db8:${client.toString(16)}::1`;
  return newRow(anEntry({ client_ip, timestamp: new Date(atMs).toISOString() }));
}

test("a busy hour of rows takes a bounded number of clients, and checks exemptions only at thresholds", () => {
  const one = anAutoBlock({ name: "one", threshold: 1_000 });
  const judges = new Judges({}, [one, anAutoBlock({ name: "two", threshold: 1_000 })], startMs);
  let asked = 0;
  let longest = 0;
  for (let page = 0; page < 60; page += 1) {
    // Many clients with a single request, and one with many.
    const rows = Array.from({ length: 500 }, (_, index) => {
      return rowOf(index % 10 === 0 ? 0xffff : page * 500 + index, startMs + page * 1_000 + index);
    });
    judges.take(rows, startMs + page * 1_000 + 500, () => {
      asked += 1;
      return () => false;
    });
    longest = Math.max(longest, JSON.stringify(judges.save()).length);
  }
  // Once for each of the two, when the client reached its threshold.
  expect(asked).toBe(2);
  const saved = judges.save();
  const listed = saved[blockKey(one.meta)]?.listed;
  expect(listed?.map(({ entry }) => entry)).toStrictEqual(["2001:db8:ffff::1"]);
  const clients = Object.values(saved).reduce((sum, { counts }) => sum + counts.length, 0);
  expect(clients).toBeLessThanOrEqual(clientsMax);
  expect(longest).toBeLessThan(2 * 1024 * 1024);
});

test("the oldest WafAutoBlocks of an instance are judged, the owner's first, and none without the grant", () => {
  const own = Array.from({ length: 5 }, (_, index) => anAutoBlock({ name: `own-${index}` }));
  const guests = Array.from({ length: 6 }, (_, index) => {
    return anAutoBlock({ name: `shop/guest-${index}`, meta: { createdAtMs: index } });
  });
  const access = [aGrant({ kinds: ["WafAutoBlock"], namespaces: { from: "Names", names: ["shop"] } })];
  const stranger = anAutoBlock({ name: "other/stranger" });
  const instance = anInstance({ access });
  const judged = judgedBlocks(gathered({ instance, autoBlocks: [stranger, ...guests, ...own] }));
  expect(judged).toHaveLength(autoBlocksMax);
  expect(judged.map(({ meta }) => meta.name)).toStrictEqual([
    ...own.map(({ meta }) => meta.name),
    "guest-0",
    "guest-1",
    "guest-2",
  ]);
});

test("a stale view that lacks a WafAutoBlock, or shows a former one with its name, loses no entry before its end", () => {
  const block = (uid: string) => anAutoBlock({ name: "one", threshold: 1, ttlMs: 3_600_000, meta: { uid } });
  const judges = new Judges({}, [block("new")], startMs);
  judges.take([rowOf(1, startMs)], startMs, () => () => false);
  let saved = judges.save();
  const listedAfter = (view: readonly ReturnType<typeof block>[], nowMs: number) => {
    saved = new Judges(saved, view, nowMs).save();
    return Object.entries(saved).flatMap(([key, { listed }]) => listed.map(({ entry }) => `${key}: ${entry}`));
  };
  for (const view of [[block("new")], [], [block("former")], [block("new")]]) {
    expect(listedAfter(view, startMs + 60_000)).toStrictEqual(["edge/one new: 2001:db8:1::1"]);
  }
  expect(listedAfter([], startMs + 3_600_000)).toStrictEqual([]);
  expect(saved).toStrictEqual({});
});
