import { describe, expect, test } from "@jest/globals";
import { LogCursor } from "../../src/logs/cursor.ts";
import { createRowIdentity } from "../../src/logs/row-tally.ts";
import { firstKeptDay, logPlans } from "../../src/logs/log-days.ts";
import { row } from "../support/fakes/scripted-logs.ts";

const seed = { low: 1, high: 2 };
const identityOf = createRowIdentity(seed);

describe("a saved cursor", () => {
  test("is restored with the forwarded rows of each day", () => {
    const cursor = new LogCursor(100, seed);
    cursor.markOf(100).forwarded.set(identityOf(row("/a")), 1);
    cursor.dayDone(100, 1);
    cursor.markOf(101).forwarded.set(identityOf(row("/b")), 2);
    cursor.markOf(101).judged.set(7, 1);
    const back = LogCursor.load(JSON.parse(JSON.stringify(cursor.save())));
    expect(back?.save()).toStrictEqual(cursor.save());
    expect(back?.nextDay).toBe(101);
    expect(back?.markOf(100).total).toBe(1);
    expect(back?.markOf(101).total).toBeUndefined();
    expect(back?.markOf(101).forwarded).toStrictEqual(new Map([[identityOf(row("/b")), 2]]));
    expect(back?.markOf(101).judged).toStrictEqual(new Map([[7, 1]]));
  });

  test("is invalid if a tally is damaged", () => {
    const days = [{ day: 1, forwarded: "", judged: "////////////" }];
    expect(LogCursor.load({ seed, firstDay: 1, nextDay: 1, newestDay: 0, days })).toBeUndefined();
  });
});

function addRow(cursor: LogCursor, day: number): void {
  const entry = row("/a", { timestamp: new Date(day * 86_400_000).toISOString() });
  cursor.markOf(day).forwarded.set(identityOf(entry), 1);
  cursor.noteRows(day + 1, [entry]);
}

describe("a day with rows", () => {
  test("is kept until it was read completely, and then as long as no later day has rows", () => {
    const cursor = new LogCursor(100, seed);
    const keptDays = (): number[] => cursor.save().days.map(({ day }) => day);
    addRow(cursor, 100);
    cursor.forget(200, 2);
    expect(keptDays()).toStrictEqual([100]);
    expect(cursor.daysToRead(200, 2)).toStrictEqual({ firstDay: 100, lastDay: 200 });
    cursor.dayDone(200, 1);
    cursor.forget(200, 2);
    expect(keptDays()).toStrictEqual([100, 200]);
    addRow(cursor, 200);
    cursor.forget(200, 2);
    expect(keptDays()).toStrictEqual([200]);
  });

  test("is dropped after the lookback if no row has a usable time", () => {
    const cursor = new LogCursor(100, seed);
    for (let day = 100; day < 109; day += 1) {
      const entry = row(`/${day}`, { timestamp: "soon" });
      cursor.markOf(day).forwarded.set(identityOf(entry), 1);
      cursor.noteRows(day, [entry]);
      cursor.dayDone(day, 1);
      cursor.forget(day, 2);
    }
    expect(cursor.save().days.map(({ day }) => day)).toStrictEqual([106, 107, 108]);
  });

  test("is the last one that counts as read if the clock was ahead since", () => {
    const cursor = new LogCursor(100, seed);
    addRow(cursor, 100);
    for (const day of [100, 140]) {
      cursor.dayDone(day, 1);
      cursor.forget(day, 2);
    }
    expect(cursor.daysToRead(105, 2)).toStrictEqual({ firstDay: 100, lastDay: 105 });
    expect(cursor.nextDay).toBe(101);
  });
});

test("a plan keeps its days, including today", () => {
  expect(logPlans.map((plan) => 1000 - firstKeptDay(plan, 1000) + 1)).toStrictEqual([30, 30, 90, 180, 365, 365]);
});

describe("closing the oldest day", () => {
  test("ends the wait for its late rows, one day after another, except for the latest", () => {
    const cursor = new LogCursor(100, seed);
    for (const day of [100, 101, 102]) cursor.dayDone(day, 1);
    expect([cursor.closeOldest(), cursor.closeOldest(), cursor.closeOldest()]).toStrictEqual([100, 101, undefined]);
    expect(cursor.daysToRead(102, 2)).toStrictEqual({ firstDay: 102, lastDay: 102 });
    expect(LogCursor.load(JSON.parse(JSON.stringify(cursor.save())))?.daysToRead(103, 5).firstDay).toBe(102);
  });

  test("keeps a day that was not read completely", () => {
    const cursor = new LogCursor(100, seed);
    cursor.markOf(100).forwarded.set(1, 1);
    cursor.markOf(101);
    expect(cursor.closeOldest()).toBeUndefined();
  });
});

test("after a long pause, only the days that still accept late rows are read again", () => {
  const cursor = new LogCursor(90, seed);
  for (let day = 90; day <= 100; day += 1) cursor.dayDone(day, 1);
  cursor.forget(100, 2);
  expect(cursor.daysToRead(120, 2)).toStrictEqual({ firstDay: 98, lastDay: 120 });
  for (let day = 98; day <= 120; day += 1) cursor.dayDone(day, 1);
  cursor.forget(120, 2);
  expect(cursor.daysToRead(121, 2)).toStrictEqual({ firstDay: 118, lastDay: 121 });
});
