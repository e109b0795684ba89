import { expect, test } from "@jest/globals";
import { parseRange } from "../../src/cli/logs/log-range.ts";
import { periodOf } from "../../src/pages/requests.ts";

const nowMs = Date.parse("2026-11-22T09:30:00Z");

test.each([
  ["24h", "today", ["2026-11-21T09:30", "2026-11-22T09:30"]],
  ["yesterday", "yesterday", ["2026-11-21T00:00", "2026-11-22T00:00"]],
  ["today", "today", ["2026-11-22T00:00", "2026-11-23T00:00"]],
  ["2026-11-01", "2026-11-10", ["2026-11-01T00:00", "2026-11-11T00:00"]],
])("The period from %s until %s consists of whole days, or ends now", (since, until, period) => {
  const { startMs, endMs } = periodOf(parseRange(since, until, nowMs), nowMs);
  expect([startMs, endMs].map((timeMs) => new Date(timeMs).toISOString().slice(0, 16))).toStrictEqual(period);
});
