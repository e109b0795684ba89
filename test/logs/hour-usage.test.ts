import { hourMs } from "../../src/model/time-text.ts";
import { expect, test } from "@jest/globals";
import * as fc from "fast-check";
import { HourUsage } from "../../src/logs/forward-ports.ts";

const limits = { rowsMax: 1000, pagesPerHourMax: 10 };
const startMs = Date.UTC(2026, 2, 10, 12);

test("a clock that is set back begins a new hour, so no pause is longer than an hour", () => {
  const usage = new HourUsage();
  usage.rowsForwarded(startMs, 1000);
  expect(usage.rowsLeft(startMs - 24 * hourMs, limits)).toBe(1000);
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
        // Any use reaches these limits.
        const untilMs = usage.endOf(nowMs, { rowsMax: 0, pagesPerHourMax: 0 })?.untilMs ?? 0;
        expect(untilMs - nowMs).toBeGreaterThan(0);
        expect(untilMs - nowMs).toBeLessThanOrEqual(hourMs);
        const hour = hours.get(untilMs) ?? { rows: 0, pages: 0 };
        hours.set(untilMs, { rows: hour.rows + count, pages: hour.pages + (isRead ? 1 : 0) });
      }
      const ends = [...hours.keys()];
      for (const [index, end] of ends.slice(1).entries())
        expect(end - (ends[index] ?? 0)).toBeGreaterThanOrEqual(hourMs);
      for (const { rows, pages } of hours.values()) {
        expect(rows).toBeLessThanOrEqual(limits.rowsMax);
        expect(pages).toBeLessThanOrEqual(limits.pagesPerHourMax);
      }
    }),
  );
});
