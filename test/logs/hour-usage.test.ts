import { hourMs } from "../../src/model/time-text.ts";
import { expect, test } from "@jest/globals";
import * as fc from "fast-check";
import { HourUsage, pagesPerHourMax } from "../../src/logs/forward-ports.ts";

const rowsMax = 1000;
const startMs = Date.UTC(2026, 2, 10, 12);

test("pages without rows are limited too, until the hour is over", () => {
  const usage = new HourUsage();
  for (let page = 0; page < pagesPerHourMax; page += 1) expect(usage.takePage(startMs + page)).toBe(true);
  expect([usage.takePage(startMs + 1), usage.endOf(startMs + 1, 1)]).toStrictEqual([false, startMs + hourMs]);
  expect(usage.takePage(startMs + hourMs)).toBe(true);
});

test("a clock that is set back begins a new hour, so no pause is longer than an hour", () => {
  const usage = new HourUsage();
  usage.rowsForwarded(startMs, 1000);
  expect(usage.rowsLeft(startMs - 24 * hourMs, rowsMax)).toBe(1000);
});

test("never exceeds the limits within an hour, and no pause is longer than an hour", () => {
  const steps = fc.array(fc.record({ waitMs: fc.nat(hourMs), rows: fc.nat(600) }), { maxLength: 200 });
  fc.assert(
    fc.property(steps, (all) => {
      const usage = new HourUsage();
      const hours = new Map<number, number>();
      let nowMs = startMs;
      for (const { waitMs, rows } of all) {
        nowMs += Math.floor(waitMs / 7);
        const count = Math.min(rows, usage.rowsLeft(nowMs, rowsMax));
        usage.rowsForwarded(nowMs, count);
        // Any use reaches this limit.
        const untilMs = usage.endOf(nowMs, 0) ?? 0;
        expect(untilMs - nowMs).toBeGreaterThan(0);
        expect(untilMs - nowMs).toBeLessThanOrEqual(hourMs);
        hours.set(untilMs, (hours.get(untilMs) ?? 0) + count);
      }
      const ends = [...hours.keys()];
      for (const [index, end] of ends.slice(1).entries())
        expect(end - (ends[index] ?? 0)).toBeGreaterThanOrEqual(hourMs);
      for (const rows of hours.values()) expect(rows).toBeLessThanOrEqual(rowsMax);
    }),
  );
});
