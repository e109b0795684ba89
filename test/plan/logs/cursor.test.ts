import { describe, expect, test } from "@jest/globals";
import { LogCursor, loadLogCursor } from "../../../src/plan/logs/cursor.ts";
import { createRowIdentity } from "../../../src/plan/logs/row-identity.ts";
import { firstKeptDay, logPlans } from "../../../src/plan/logs/retention.ts";
import { row } from "../../support/fakes/scripted-logs.ts";

const seed = { low: 1, high: 2 };
const identityOf = createRowIdentity(seed);

describe("a saved cursor", () => {
  test("is restored with the forwarded rows of each day", () => {
    const cursor = new LogCursor(100, seed);
    cursor.markOf(100).tally.take(identityOf(row("/a")));
    cursor.dayDone(100, 1);
    cursor.markOf(101).tally.take(identityOf(row("/b")));
    const back = loadLogCursor(JSON.parse(JSON.stringify(cursor.save())));
    expect(back?.save()).toStrictEqual(cursor.save());
    expect(back?.nextDay).toBe(101);
    expect(back?.markOf(100).total).toBe(1);
    expect(back?.markOf(101).total).toBeUndefined();
    back?.markOf(101).tally.beginReading();
    expect(back?.markOf(101).tally.take(identityOf(row("/b")))).toBe(false);
    expect(back?.markOf(101).tally.take(identityOf(row("/a")))).toBe(true);
  });

  test.each([
    [undefined],
    [null],
    [{}],
    [{ version: 3, seed, firstDay: 1, nextDay: 1, days: [] }],
    [{ version: 2, seed: { low: 1 }, firstDay: 1, nextDay: 1, days: [] }],
    [{ version: 2, seed, firstDay: -1, nextDay: 1, days: [] }],
    [{ version: 2, seed, firstDay: 1, nextDay: 1, days: [{ day: 1 }] }],
    [{ version: 2, seed, firstDay: 1, nextDay: 1, days: [{ day: 1, handedOn: "////////////" }] }],
  ])("is invalid: %j", (saved) => {
    expect(loadLogCursor(saved)).toBeUndefined();
  });

  test("of the previous version is invalid, because its rows have other identities and would all seem new", () => {
    const cursor = new LogCursor(100, seed);
    cursor.dayDone(100, 1);
    expect(loadLogCursor(cursor.save())).toBeDefined();
    expect(loadLogCursor({ ...cursor.save(), version: 1 })).toBeUndefined();
  });
});

test("days that were not read completely are kept, however old they are", () => {
  const cursor = new LogCursor(100, seed);
  cursor.markOf(100).tally.take(identityOf(row("/a")));
  cursor.forgetBefore(200);
  expect(cursor.save().days.map(({ day }) => day)).toStrictEqual([100]);
  expect(cursor.daysToRead(200, 2)).toStrictEqual({ firstDay: 100, lastDay: 200 });
  cursor.dayDone(100, 1);
  cursor.forgetBefore(200);
  expect(cursor.save().days).toStrictEqual([]);
});

test("a plan keeps its days, including today", () => {
  expect(logPlans.map((plan) => 1000 - firstKeptDay(plan, 1000) + 1)).toStrictEqual([30, 30, 90, 180, 365, 365]);
});

describe("rows that could not be forwarded", () => {
  test("are forwarded again, as often as they were given back", () => {
    const cursor = new LogCursor(100, seed);
    const { tally } = cursor.markOf(100);
    for (const entry of [row("/a"), row("/a"), row("/b")]) tally.take(identityOf(entry));
    cursor.dayDone(100, 3);
    cursor.giveBack(100, [row("/a"), row("/b")]);
    expect(cursor.markOf(100).total).toBeUndefined();
    const back = loadLogCursor(JSON.parse(JSON.stringify(cursor.save())));
    const again = back?.markOf(100).tally;
    again?.beginReading();
    const came = [row("/a"), row("/a"), row("/b")].map((entry) => again?.take(identityOf(entry)));
    expect(came).toStrictEqual([false, true, true]);
  });

  test("that were never taken change nothing", () => {
    const cursor = new LogCursor(100, seed);
    cursor.giveBack(100, [row("/a")]);
    expect(cursor.markOf(100).tally.size).toBe(0);
    expect(cursor.markOf(100).tally.take(identityOf(row("/a")))).toBe(true);
  });
});

describe("closing the oldest day", () => {
  test("ends the wait for its late rows, one day after another, except for the latest", () => {
    const cursor = new LogCursor(100, seed);
    for (const day of [100, 101, 102]) cursor.dayDone(day, 1);
    expect([cursor.closeOldest(), cursor.closeOldest(), cursor.closeOldest()]).toStrictEqual([100, 101, undefined]);
    expect(cursor.daysToRead(102, 2)).toStrictEqual({ firstDay: 102, lastDay: 102 });
    expect(loadLogCursor(JSON.parse(JSON.stringify(cursor.save())))?.daysToRead(103, 5).firstDay).toBe(102);
  });

  test("keeps a day that was not read completely", () => {
    const cursor = new LogCursor(100, seed);
    cursor.markOf(100).tally.take(identityOf(row("/a")));
    cursor.markOf(101);
    expect(cursor.closeOldest()).toBeUndefined();
  });
});

test("after a long pause, only the days that still accept late rows are read again", () => {
  const cursor = new LogCursor(90, seed);
  for (let day = 90; day <= 100; day += 1) cursor.dayDone(day, 1);
  cursor.forgetBefore(98);
  expect(cursor.daysToRead(120, 2)).toStrictEqual({ firstDay: 98, lastDay: 120 });
  for (let day = 98; day <= 120; day += 1) cursor.dayDone(day, 1);
  cursor.forgetBefore(118);
  expect(cursor.daysToRead(121, 2)).toStrictEqual({ firstDay: 118, lastDay: 121 });
});
