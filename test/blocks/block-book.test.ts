import { expect, test } from "@jest/globals";
import { readObservedEntry } from "../../src/address/entry.ts";
import { BlockBook } from "../../src/blocks/block-book.ts";
import { LogCursor } from "../../src/logs/cursor.ts";
import type { LoadedLogRecord } from "../../src/logs/log-records.ts";
import type { PublishedJudgements } from "../../src/blocks/judge.ts";

const instance = { namespace: "edge", name: "shop" };
const listed = {
  entry: readObservedEntry("203.0.113.7"),
  sinceMs: 1_000,
  untilMs: 9_000,
  times: 1,
  requests: 60,
  firstMs: 500,
  lastMs: 900,
};
const counts = { rows: { matched: 60, late: 0, unreadable: 0 }, leftOut: 0 };

function published(requests: number): PublishedJudgements {
  return { "edge/attackers u": { ...counts, listed: [{ ...listed, requests, reasons: [] }], lastRowMs: 900 } };
}

function recorded(): LoadedLogRecord {
  const judge = {
    shape: "",
    listed: [{ ...listed, reasons: [["SQL", 60] as [string, number]] }],
    former: [],
    counts: [],
    ...counts,
  };
  return {
    state: "Loaded",
    record: {
      cursor: new LogCursor(1, { low: 1, high: 2 }).save(),
      forwarded: 0,
      judges: { "edge/attackers u": judge },
    },
    revision: "",
  };
}

class Bench {
  nowMs = 0;
  loads = 0;
  changes = 0;
  answer: LoadedLogRecord = recorded();
  readonly book = new BlockBook({
    records: {
      load: async () => {
        this.loads += 1;
        return this.answer;
      },
    },
    clock: { monotonicMs: () => this.nowMs },
    onChange: () => void (this.changes += 1),
  });

  async entries(): Promise<readonly string[]> {
    const view = await this.book.view(instance);
    if (view.state === "Unreachable") throw new Error(view.problem);
    return Object.values(view.judgements).flatMap((one) => one.listed.map(({ entry }) => entry));
  }
}

test("a new process uses the record, and reads it once", async () => {
  const bench = new Bench();
  expect(await bench.entries()).toStrictEqual(["203.0.113.7"]);
  expect(await bench.book.view(instance)).toBe(await bench.book.view(instance));
  expect(bench.loads).toBe(1);
});

test("while the record can't be read, its content is unknown, and it is read again after a delay", async () => {
  const bench = new Bench();
  bench.answer = { state: "Unreachable", problem: "No answer." };
  expect(await bench.book.view(instance)).toMatchObject({ state: "Unreachable", problem: "No answer." });
  bench.answer = recorded();
  expect(await bench.book.view(instance)).toMatchObject({ state: "Unreachable" });
  bench.nowMs += 10_000;
  expect(await bench.entries()).toStrictEqual(["203.0.113.7"]);
  expect(bench.loads).toBe(2);
});

test("changed entries cause a run; more evidence alone does not, and is available to the next run", async () => {
  const bench = new Bench();
  await bench.entries();
  bench.book.publish(instance, published(61));
  const version = bench.book.version(instance);
  bench.book.publish(instance, published(62));
  expect([bench.book.version(instance), bench.changes]).toStrictEqual([version, 0]);
  const view = await bench.book.view(instance);
  expect(view.state === "Known" && view.judgements["edge/attackers u"]?.listed[0]?.requests).toBe(62);
  bench.book.publish(instance, {});
  expect([bench.book.version(instance) > version, bench.changes]).toStrictEqual([true, 1]);
  expect(bench.book.version({ ...instance, namespace: "other" })).toBe(0);
});

test("another result of reading the logs causes a run, which would otherwise wait for the next resync; the same one does not", async () => {
  const bench = new Bench();
  await bench.entries();
  const version = bench.book.version(instance);
  const reading = { status: "True", reason: "Judged", message: "New blocked requests are judged." } as const;
  bench.book.report(instance, reading);
  expect([bench.book.version(instance), bench.changes]).toStrictEqual([version + 1, 1]);
  bench.book.report(instance, reading);
  expect([bench.book.version(instance), bench.changes]).toStrictEqual([version + 1, 1]);
});
