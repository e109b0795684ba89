import { describe, expect, test } from "@jest/globals";
import { nextFetchMs, retryAfterMsMax, staleAtMs } from "../../src/feeds/feed-state.ts";
import * as fc from "fast-check";

const hourMs = 3_600_000;
const minuteMs = 60_000;
const dayMs = 24 * hourMs;
const now = { nowMs: 0, random: 0 };

describe("The next fetch", () => {
  test("comes after the interval and up to a tenth of it", () => {
    expect(nextFetchMs(now, dayMs, 0)).toBe(dayMs);
    expect(nextFetchMs({ ...now, random: 0.5 }, dayMs, 0)).toBe(25.2 * hourMs);
  });

  test("comes sooner after a failure, and later with each further one, up to an hour", () => {
    const delays = [1, 2, 3, 4, 5, 6, 7, 8, 1000].map((failures) => nextFetchMs(now, dayMs, failures) / minuteMs);
    expect(delays).toStrictEqual([1, 2, 4, 8, 16, 32, 60, 60, 60]);
  });

  test("is at least a minute and at most the interval away after failures", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: 50 }), (minutes, failures) => {
        const next = nextFetchMs(now, minutes * minuteMs, failures);
        expect(next).toBeGreaterThanOrEqual(minuteMs);
        expect(next).toBeLessThanOrEqual(minutes * minuteMs);
      }),
    );
  });

  test("waits as long as the server requests, but no longer than a day", () => {
    expect(nextFetchMs(now, dayMs, 1, 2 * hourMs)).toBe(2 * hourMs);
    expect(nextFetchMs(now, dayMs, 1, 1000)).toBe(minuteMs);
    expect(nextFetchMs(now, dayMs, 1, 100 * 24 * hourMs)).toBe(retryAfterMsMax);
  });
});

test("Content is not stale before the next fetch is due", () => {
  expect(staleAtMs(0, hourMs, minuteMs)).toBe(hourMs);
  expect(staleAtMs(0, hourMs, 10 * hourMs)).toBe(11 * hourMs);
});
