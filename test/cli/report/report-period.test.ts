import { describe, expect, test } from "@jest/globals";
import { describeRange, parseRange } from "../../../src/cli/logs/log-range.ts";
import { isKept, periodOf, previousRange } from "../../../src/cli/report/report-period.ts";

const nowMs = Date.parse("2026-11-22T09:30:00Z");

function periods(since: string, until: string) {
  const range = parseRange(since, until, nowMs);
  const before = previousRange(range, nowMs);
  const { startMs, endMs } = periodOf(range, nowMs);
  const words = [startMs, endMs].map((timeMs) => new Date(timeMs).toISOString().slice(0, 16));
  return [
    words,
    before && describeRange(before),
    before && periodOf(before, nowMs).endMs - periodOf(before, nowMs).startMs,
  ];
}

const hourMs = 3_600_000;

describe("the previous period", () => {
  test.each([
    ["24h", "today", ["2026-11-21T09:30", "2026-11-22T09:30"], "2026-11-20 09:30 to 2026-11-21 09:30", 24],
    ["yesterday", "yesterday", ["2026-11-21T00:00", "2026-11-22T00:00"], "2026-11-20 00:00 to 2026-11-21 00:00", 24],
    // Nine and a half hours of today have passed.
    ["today", "today", ["2026-11-22T00:00", "2026-11-23T00:00"], "2026-11-21 14:30 to 2026-11-22 00:00", 9.5],
    ["2026-11-01", "2026-11-10", ["2026-11-01T00:00", "2026-11-11T00:00"], "2026-10-22 00:00 to 2026-11-01 00:00", 240],
  ])("of %s to %s is as long as the part that has passed", (since, until, period, before, hours) => {
    expect(periods(since, until)).toStrictEqual([period, before, hours * hourMs]);
  });

  test("does not exist for a period in the future, and may be older than the plan keeps logs", () => {
    expect(previousRange(parseRange("2026-11-23", "2026-11-24", nowMs), nowMs)).toBeUndefined();
    const before = previousRange(parseRange("20d", "today", nowMs), nowMs);
    expect(before && isKept("Basic", before, nowMs)).toBe(false);
    expect(before && isKept("Advanced", before, nowMs)).toBe(true);
    expect(before && isKept(undefined, before, nowMs)).toBe(true);
  });
});
