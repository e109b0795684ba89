import { describe, expect, test } from "@jest/globals";
import { TimeBars } from "../../../src/cli/report/report-statistics.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const startMs = Date.parse("2026-11-21T11:37:05Z");

describe("the bars of a period", () => {
  test.each([
    [0.5, 1],
    [1, 1],
    [6, 5],
    [12, 15],
    [23, 30],
    [24, 60],
    [72, 60],
    [73, 180],
  ])("of %d hours are %i minutes long, start at round times, and there are at most 73", (hours, minutes) => {
    const bars = new TimeBars({ startMs, endMs: startMs + hours * hourMs });
    expect(bars.barMs).toBe(minutes * minuteMs);
    expect(bars.startMs % bars.barMs).toBe(0);
    expect(bars.startMs).toBeLessThanOrEqual(startMs);
    expect(bars.length).toBeLessThanOrEqual(73);
    expect(bars.startMs + bars.length * bars.barMs).toBeGreaterThanOrEqual(startMs + hours * hourMs);
  });

  test("include every time of the period, and count other times at the start of their day", () => {
    const bars = new TimeBars({ startMs, endMs: startMs + 6 * hourMs });
    expect(bars.barOf(startMs, 0)).toBe(0);
    expect(bars.barOf(startMs + 6 * hourMs - 1, 0)).toBe(bars.length - 1);
    expect(bars.barOf(Number.NaN, startMs + hourMs)).toBe(bars.barOf(startMs + hourMs, 0));
    expect(bars.barOf(startMs + 7 * hourMs, startMs - 11 * hourMs)).toBe(0);
    expect(bars.barOf(Number.NaN, startMs + 48 * hourMs)).toBe(bars.length - 1);
  });
});
