import { describe, expect, test } from "@jest/globals";
import { LogCursor, loadLogCursor } from "../../src/plan/log-cursor.ts";
import { firstKeptDay, logPlans } from "../../src/plan/log-retention.ts";
import { row } from "../support/logs/scripted-logs.ts";

const seed = { low: 1, high: 2 };

describe("a saved cursor", () => {
  test("comes back as it was, with what was handed on of each day", () => {
    const cursor = new LogCursor(100, seed);
    cursor.markOf(100).tally.take(row("/a"));
    cursor.dayDone(100, 1);
    cursor.markOf(101).tally.take(row("/b"));
    const back = loadLogCursor(JSON.parse(JSON.stringify(cursor.save())));
    expect(back?.save()).toEqual(cursor.save());
    expect(back?.nextDay).toBe(101);
    expect(back?.markOf(100).total).toBe(1);
    expect(back?.markOf(101).total).toBeUndefined();
    back?.markOf(101).tally.beginReading();
    expect(back?.markOf(101).tally.take(row("/b"))).toBe(false);
    expect(back?.markOf(101).tally.take(row("/a"))).toBe(true);
  });

  test.each([
    [undefined],
    [null],
    [{}],
    [{ version: 2, seed, firstDay: 1, nextDay: 1, days: [] }],
    [{ version: 1, seed: { low: 1 }, firstDay: 1, nextDay: 1, days: [] }],
    [{ version: 1, seed, firstDay: -1, nextDay: 1, days: [] }],
    [{ version: 1, seed, firstDay: 1, nextDay: 1, days: [{ day: 1 }] }],
    [{ version: 1, seed, firstDay: 1, nextDay: 1, days: [{ day: 1, handedOn: "////////////" }] }],
  ])("is none: %j", (saved) => {
    expect(loadLogCursor(saved)).toBeUndefined();
  });
});

test("days are kept that were not read to their end, however old they are", () => {
  const cursor = new LogCursor(100, seed);
  cursor.markOf(100).tally.take(row("/a"));
  cursor.forgetBefore(200);
  expect(cursor.save().days.map(({ day }) => day)).toEqual([100]);
  expect(cursor.daysToRead(200, 2)).toEqual({ firstDay: 100, lastDay: 200 });
  cursor.dayDone(100, 1);
  cursor.forgetBefore(200);
  expect(cursor.save().days).toEqual([]);
});

test("a plan keeps its days, today included", () => {
  expect(logPlans.map((plan) => 1000 - firstKeptDay(plan, 1000) + 1)).toEqual([30, 30, 90, 180, 365, 365]);
});
