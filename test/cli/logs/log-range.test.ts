import { describe, expect, test } from "@jest/globals";
import { parseRange, retentionWarning } from "../../../src/cli/logs/log-range.ts";
import { dayOf, formatDay } from "../../../src/model/texts.ts";

const nowMs = Date.parse("2026-06-15T10:20:30.456Z");

function range(since: string, until: string): string {
  const { firstDay, lastDay } = parseRange(since, until, nowMs).days;
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
  ])("since %s until %s is %s", (since, until, expected) => {
    expect(range(since, until)).toBe(expected);
  });

  test.each([
    ["2026-06-31", "today", '--since "2026-06-31" is not a time'],
    ["2025-02-29", "today", "is not a time"],
    ["2026-13-01", "today", "is not a time"],
    ["2026-6-1", "today", '--since "2026-6-1" is not a time'],
    ["2026-06-01T24:00", "today", "is not a time"],
    ["2026-02-30T10:00", "today", "is not a time"],
    ["2026-06-01T10", "today", "is not a time"],
    ["2026-06-01T10:00+02:00", "today", "is not a time"],
    ["24", "today", "is not a time"],
    ["1h", "2h", "--since 1h (2026-06-15T09:20:30Z) is not before --until 2h (2026-06-15T08:20:30Z)"],
    ["2026-06-15T09:00", "2026-06-15T09:00Z", "is not before"],
    ["", "today", "is not a time"],
    ["7", "today", "is not a time"],
    ["-7d", "today", "is not a time"],
    ["1d", "tomorrow", '--until "tomorrow" is not a time'],
    ["today", "yesterday", "--since today (2026-06-15) is not before --until yesterday (2026-06-14)"],
    ["365d", "today", "is 366 days, and the WAF allows at most 365"],
    ["99999d", "today", "at most 365"],
  ])("since %j until %j is rejected: %s", (since, until, message) => {
    expect(() => range(since, until)).toThrow(message);
  });
});

describe("a moment", () => {
  const dayAgo = Date.parse("2026-06-14T10:20:30Z");

  test.each([
    ["24h", "today", dayAgo, undefined, "2026-06-14 2026-06-15"],
    ["1d12h", "today", Date.parse("2026-06-13T22:20:30Z"), undefined, "2026-06-13 2026-06-15"],
    ["0h", "today", Date.parse("2026-06-15T10:20:30Z"), undefined, "2026-06-15 2026-06-15"],
    ["2026-06-13T09:30", "24h", Date.parse("2026-06-13T09:30:00Z"), dayAgo, "2026-06-13 2026-06-14"],
    ["2026-06-13t09:30:15z", "yesterday", Date.parse("2026-06-13T09:30:15Z"), undefined, "2026-06-13 2026-06-14"],
    ["2d", "2026-06-14T00:00", undefined, Date.parse("2026-06-14T00:00:00Z"), "2026-06-13 2026-06-13"],
  ])("can start or end a range, which contains no other days: %s to %s", (since, until, sinceMs, untilMs, days) => {
    expect(parseRange(since, until, nowMs)).toMatchObject({ sinceMs, untilMs });
    expect(range(since, until)).toBe(days);
  });
});

test("a warning is printed only for a range that starts before the days that the plan keeps", () => {
  const today = dayOf(nowMs);
  const last30 = parseRange("29d", "today", nowMs).days;
  expect(retentionWarning("Basic", last30, today)).toBeUndefined();
  const more = retentionWarning("Basic", parseRange("30d", "today", nowMs).days, today);
  expect(more).toBe("the plan Basic keeps logs for 30 days: days before 2026-05-17 are missing or incomplete");
  expect(retentionWarning("Enterprise", parseRange("364d", "today", nowMs).days, today)).toBeUndefined();
});
