import { hourMs } from "../../src/model/time-text.ts";
import { describe, expect, test } from "@jest/globals";
import * as fc from "fast-check";
import { HourUsage } from "../../src/logs/forward-ports.ts";

const limits = { rowsPerHourMax: 1000, pagesPerHourMax: 10, rowsKeptMax: 1000 };
const startMs = Date.UTC(2026, 2, 10, 12);

describe("the usage of an instance in its hour", () => {
  test("is zero before the first page and after the hour", () => {
    const usage = new HourUsage();
    expect(usage.rowsLeft(startMs, limits)).toBe(1000);
    expect(usage.forgottenAt(startMs)).toBeUndefined();
    usage.rowsForwarded(startMs, 1000);
    expect(usage.rowsLeft(startMs + hourMs - 1, limits)).toBe(0);
    expect(usage.forgottenAt(startMs + 5)).toBe(startMs + hourMs);
    expect(usage.rowsLeft(startMs + hourMs, limits)).toBe(1000);
    expect(usage.endOf(startMs + hourMs, limits)).toBeUndefined();
  });

  test("reaches the limit when the rows or the pages are used up", () => {
    const usage = new HourUsage();
    for (let page = 0; page < 10; page += 1) expect(usage.takePage(startMs + page, limits)).toBe(true);
    expect(usage.endOf(startMs + 10, limits)).toStrictEqual({ used: "Pages", untilMs: startMs + hourMs });
    expect(usage.takePage(startMs + 10, limits)).toBe(false);
    usage.rowsForwarded(startMs + 11, 1000);
    expect(usage.endOf(startMs + 12, limits)).toStrictEqual({ used: "Rows", untilMs: startMs + hourMs });
  });

  test("is reset if the clock was set back, so no pause is longer than an hour", () => {
    const usage = new HourUsage();
    usage.rowsForwarded(startMs, 1000);
    expect(usage.rowsLeft(startMs - 24 * hourMs, limits)).toBe(1000);
  });
});

test("never exceeds the limits within an hour, and no pause is longer than an hour", () => {
  const steps = fc.array(fc.record({ waitMs: fc.nat(hourMs), rows: fc.nat(600) }), { maxLength: 200 });
  fc.assert(
    fc.property(steps, (all) => {
      const usage = new HourUsage();
      const hours = new Map<number, { rows: number; pages: number }>();
      let nowMs = startMs;
      for (const { waitMs, rows } of all) {
        nowMs += Math.floor(waitMs / 7);
        const isRead = usage.takePage(nowMs, limits);
        const count = isRead ? Math.min(rows, usage.rowsLeft(nowMs, limits)) : 0;
        usage.rowsForwarded(nowMs, count);
        const untilMs = usage.forgottenAt(nowMs) ?? 0;
        expect(untilMs - nowMs).toBeGreaterThan(0);
        expect(untilMs - nowMs).toBeLessThanOrEqual(hourMs);
        const hour = hours.get(untilMs) ?? { rows: 0, pages: 0 };
        hours.set(untilMs, { rows: hour.rows + count, pages: hour.pages + (isRead ? 1 : 0) });
      }
      const ends = [...hours.keys()];
      for (const [index, end] of ends.slice(1).entries())
        expect(end - (ends[index] ?? 0)).toBeGreaterThanOrEqual(hourMs);
      for (const { rows, pages } of hours.values()) {
        expect(rows).toBeLessThanOrEqual(limits.rowsPerHourMax);
        expect(pages).toBeLessThanOrEqual(limits.pagesPerHourMax);
      }
    }),
  );
});
