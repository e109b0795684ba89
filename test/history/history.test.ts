import { describe, expect, test } from "@jest/globals";
import type { HistoryEvent } from "../../src/history/events.ts";
import {
  decodeEvent,
  encodeEvent,
  History,
  historyLimits,
  joinEvents,
  newestOf,
  readHistory,
  valuesOfEventMax,
} from "../../src/history/history.ts";
import { unknownOwners, writeOwners } from "../../src/model/rule-id.ts";
import { ClusterRecordStore } from "../../src/records/cluster-record-store.ts";
import type { RecordStore } from "../../src/records/record-store.ts";
import { MemoryRecords } from "../records/memory-records.ts";
import { addresses } from "../support/builders/declare.ts";
import { createVirtualClock } from "../support/fakes/virtual-clock.ts";

const nowMs = Date.UTC(2026, 10, 22, 9, 30);
const main = { namespace: "shop", name: "main" };
const former = { namespace: "shop", name: "former" };

function anEvent(overrides: Partial<HistoryEvent> = {}): HistoryEvent {
  const owners = writeOwners([{ kind: "WafIpRule", name: "shop/scanners", source: undefined }]);
  return { atMs: nowMs, kind: "Added", target: "blocklist", values: ["192.0.2.7"], owners, note: "", ...overrides };
}

describe("Events of the history", () => {
  test("of the same second and rules are merged", () => {
    const events = [anEvent(), anEvent({ atMs: nowMs + 999, values: ["192.0.2.8"] }), anEvent({ kind: "Removed" })];
    expect(joinEvents(events).map(({ kind, values }) => [kind, values])).toStrictEqual([
      ["Added", ["192.0.2.7", "192.0.2.8"]],
      ["Removed", ["192.0.2.7"]],
    ]);
    expect(joinEvents([anEvent(), anEvent({ atMs: nowMs + 1_000 })])).toHaveLength(2);
  });

  test("with many values are split", () => {
    const joined = joinEvents([anEvent({ values: addresses(valuesOfEventMax + 1) })]);
    expect(joined.map(({ values }) => values.length)).toStrictEqual([valuesOfEventMax, 1]);
  });

  test("are stored as one line each, whatever the API's message, and are read back unchanged", () => {
    const owners = writeOwners([
      { kind: "WafIpRule", name: "shop/a", source: "ConfigMap shop/list, key list" },
      { kind: "WafIpRule", name: "shop/b", source: undefined },
    ]);
    for (const event of [
      anEvent(),
      anEvent({ owners }),
      anEvent({ owners: unknownOwners, kind: "Refused", note: "no,\n 100 % \u2028 of - it" }),
      anEvent({ target: "origins", values: ["standby.example.com"] }),
      anEvent({ values: ["?no address, at all"] }),
    ]) {
      const line = encodeEvent(event);
      expect(line).not.toMatch(/[\r\n]/);
      expect(decodeEvent(line)).toStrictEqual(event);
    }
  });
});

describe("The history keeps the newest events", () => {
  const limits = { eventsMax: 100, ageMsMax: 3_600_000, bytesMax: 10_000 };
  const lines = Array.from({ length: 200 }, (_, index) =>
    encodeEvent(anEvent({ atMs: nowMs - (200 - index) * 60_000 })),
  );

  test.each([
    ["by number", { ...limits, ageMsMax: Number.POSITIVE_INFINITY, bytesMax: Number.POSITIVE_INFINITY }, 100],
    ["by age", { ...limits, bytesMax: Number.POSITIVE_INFINITY }, 60],
    ["by size", { ...limits, bytesMax: 10 * ((lines[0]?.length ?? 0) + 1) }, 10],
  ])("%s", (_, limit, count) => {
    expect(newestOf(lines, nowMs, limit)).toStrictEqual(lines.slice(-count));
  });
});

function aWorld() {
  const clock = createVirtualClock();
  const records = new MemoryRecords();
  const problems: string[] = [];
  const saves: string[] = [];
  let failure: string | undefined;
  const storeFor = (mayWrite = true): RecordStore => {
    const ownerOf = () => ({ uid: "u-1", retains: false });
    const store = new ClusterRecordStore({ api: records.open(), ownerOf, mayWrite: () => mayWrite });
    return {
      load: async (key) => await store.load(key),
      save: async (key, text, revision) => {
        if (failure !== undefined) return { state: "Failed", problem: failure };
        saves.push(text);
        return await store.save(key, text, revision);
      },
      remove: async (key) => await store.remove(key),
      placeOf: (key) => store.placeOf(key),
    };
  };
  const open = (store = storeFor()) => new History(store, clock, (problem) => void problems.push(problem));
  const eventsIn = async (instance = main) => {
    const read = await readHistory(storeFor(), instance, clock.nowMs());
    return read.ok ? read.events : [];
  };
  const valuesOf = async (instance = main) => (await eventsIn(instance)).flatMap(({ values }) => values);
  const at = (values: readonly string[], agoMs = 0) => anEvent({ values, atMs: clock.nowMs() - agoMs });
  const fail = (problem: string | undefined) => void (failure = problem);
  return { at, clock, eventsIn, fail, open, problems, records, saves, storeFor, valuesOf };
}

describe("The history of an instance", () => {
  test("stores the first event within a second, and a stream of events in one batch every ten seconds", async () => {
    const { at, clock, open, saves, valuesOf } = aWorld();
    const history = open();
    for (const value of addresses(300)) {
      history.add(main, [at([value])]);
      await clock.advance(100);
    }
    await history.flush();
    // At 1, 11 and 21 seconds, and at the end.
    expect(saves).toHaveLength(4);
    expect(await valuesOf()).toHaveLength(300);
  });

  test("keeps unstored events for the next batch, and reports the reason", async () => {
    const { at, clock, fail, open, problems, valuesOf } = aWorld();
    const history = open();
    fail("The disk is full.");
    history.add(main, [at(["192.0.2.1"])]);
    await clock.advance(1_000);
    expect([await valuesOf(), problems]).toStrictEqual([[], ["The disk is full."]]);
    fail(undefined);
    history.add(main, [at(["192.0.2.2"])]);
    await clock.advance(10_000);
    expect(await valuesOf()).toStrictEqual(["192.0.2.1", "192.0.2.2"]);
  });

  test("has the events of two writers", async () => {
    const { at, open, valuesOf } = aWorld();
    const [one, two] = [open(), open()];
    for (const [place, history] of [one, two, one, two].entries()) {
      history.add(main, [at([`192.0.2.${place}`])]);
      await history.flush();
    }
    for (const history of [one, two]) history.add(main, [at(["192.0.2.9"])]);
    await Promise.all([one.flush(), two.flush()]);
    const expected = ["192.0.2.0", "192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.9", "192.0.2.9"];
    expect(await valuesOf()).toStrictEqual(expected);
  });

  test("drops the oldest events if there is no more room, or if they are too old", async () => {
    const { at, open, records, valuesOf } = aWorld();
    const history = open();
    history.add(main, [at(["192.0.2.99"], historyLimits.ageMsMax + 1_000)]);
    await history.flush();
    expect(await valuesOf()).toStrictEqual([]);
    for (let batch = 0; batch < 50; batch += 1) {
      history.add(main, [at(addresses(500, batch * 500))]);
      await history.flush();
    }
    const kept = await valuesOf();
    expect(kept.at(-1)).toBe(addresses(1, 24_999)[0]);
    expect(kept.length).toBeGreaterThan(10_000);
    expect(records.objects.get("main-history")!.spec.text.length).toBeLessThanOrEqual(historyLimits.bytesMax);
  });

  test("begins with that of the instance that it continues, once, whose record is then removed", async () => {
    const { at, clock, fail, open, problems, storeFor, valuesOf } = aWorld();
    const history = open();
    history.add(main, [at(["192.0.2.3"])]);
    history.continues(main, former);
    await history.flush();
    history.add(former, [at(["192.0.2.1"], 2_000), at(["192.0.2.2"], 1_000)]);
    // A process that was killed has copied a part of it.
    history.add(main, [at(["192.0.2.2"], 1_000)]);
    await history.flush();
    const forbidden = open(storeFor(false));
    forbidden.continues(main, former);
    await forbidden.flush();
    expect(await valuesOf(former)).toHaveLength(2);
    // Immediately, after its buffered events; a failure is retried.
    fail("The disk is full.");
    history.add(former, [at(["192.0.2.4"])]);
    history.continues(main, former);
    await clock.advance(0);
    expect(problems).toContain("The disk is full.");
    fail(undefined);
    await history.flush();
    expect((await valuesOf()).toSorted()).toStrictEqual(["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"]);
    expect((await valuesOf())[0]).toBe("192.0.2.1");
    expect(await valuesOf(former)).toStrictEqual([]);
  });

  test("is not stored without permission, and replaced if it is damaged", async () => {
    const { at, open, problems, storeFor, valuesOf } = aWorld();
    const forbidden = open(storeFor(false));
    forbidden.add(main, [at(["192.0.2.1"])]);
    await forbidden.flush();
    expect(await valuesOf()).toStrictEqual([]);
    const problem = "WafRecord shop/main can't be used.";
    const store: RecordStore = {
      ...storeFor(),
      load: async () => ({ state: "Damaged", problem, revision: "" }),
    };
    expect(await readHistory(store, main, nowMs)).toStrictEqual({ ok: false, problem, isForbidden: false });
    const history = open(store);
    history.add(main, [at(["192.0.2.1"])]);
    await history.flush();
    expect([await valuesOf(), problems]).toStrictEqual([["192.0.2.1"], []]);
  });
});
