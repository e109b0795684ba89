import { describe, expect, test } from "@jest/globals";
import { isAbsoluteDate, parseRange, retentionWarning } from "../../../src/cli/logs/log-range.ts";
import { formatDay } from "../../../src/reconcile/logs/log-days.ts";
import { dayNumber } from "../../support/worlds/log-world.ts";

const today = dayNumber("2026-06-15");

function range(from: string, to: string): string {
  const { firstDay, lastDay } = parseRange(from, to, today);
  return `${formatDay(firstDay)} ${formatDay(lastDay)}`;
}

describe("a range of days", () => {
  test.each([
    ["2026-06-01", "2026-06-15", "2026-06-01 2026-06-15"],
    ["7d", "today", "2026-06-08 2026-06-15"],
    ["0d", "0d", "2026-06-15 2026-06-15"],
    ["yesterday", "yesterday", "2026-06-14 2026-06-14"],
    ["Today", " today ", "2026-06-15 2026-06-15"],
    ["2024-02-29", "2024-02-29", "2024-02-29 2024-02-29"],
    ["364d", "today", "2025-06-16 2026-06-15"],
    ["2027-01-01", "2027-01-01", "2027-01-01 2027-01-01"],
  ])("from %s to %s is %s", (from, to, expected) => {
    expect(range(from, to)).toBe(expected);
  });

  test.each([
    ["2026-06-31", "today", "--from 2026-06-31: there is no such day"],
    ["2025-02-29", "today", "there is no such day"],
    ["2026-13-01", "today", "there is no such day"],
    ["2026-6-1", "today", '--from "2026-6-1" is not a date'],
    ["2026-06-01T00:00:00Z", "today", "is not a date"],
    ["", "today", "is not a date"],
    ["7", "today", "is not a date"],
    ["-7d", "today", "is not a date"],
    ["1d", "tomorrow", '--to "tomorrow" is not a date'],
    ["today", "yesterday", "--from today (2026-06-15) is after --to yesterday (2026-06-14)"],
    ["365d", "today", "is 366 days, and the WAF allows at most 365"],
    ["99999d", "today", "at most 365"],
  ])("from %j to %j is none: %s", (from, to, message) => {
    expect(() => range(from, to)).toThrow(message);
  });

  test("tells which range would do, and that one does", () => {
    const hint = ((): string => {
      try {
        return range("2025-01-01", "2026-06-15");
      } catch (error) {
        return String((error as { hint?: string }).hint);
      }
    })();
    const from = /--from (\S+),/.exec(hint)?.[1] ?? "";
    expect(range(from, "2026-06-15")).toBe("2025-06-16 2026-06-15");
  });
});

test("only dates stay the same tomorrow", () => {
  expect(["2026-06-15", "7d", "today"].map(isAbsoluteDate)).toEqual([true, false, false]);
});

test("a range that reaches behind what the plan keeps is warned of, and no other", () => {
  const last30 = parseRange("29d", "today", today);
  expect(retentionWarning("Basic", last30, today)).toBeUndefined();
  const more = retentionWarning("Basic", parseRange("30d", "today", today), today);
  expect(more).toBe("the plan Basic keeps logs for 30 days: days before 2026-05-17 are missing or incomplete");
  expect(retentionWarning("Enterprise", parseRange("364d", "today", today), today)).toBeUndefined();
});
