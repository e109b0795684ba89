import { expect, test } from "@jest/globals";
import { fast, slowness, timeLimit, within } from "./support/processes/slowness.ts";

test("The slowness of the machine is what the environment says, or is measured, and has bounds", () => {
  expect(slowness({ WAFSYNC_SLOW: "5" }, () => Number.NaN)).toBe(5);
  expect(() => slowness({ WAFSYNC_SLOW: "21" })).toThrow("WAFSYNC_SLOW");
  expect([0.9, 3, 400].map((measured) => slowness({}, () => measured))).toStrictEqual([1, 3, 20]);
});

test("A fast clock is as fast as asked until the machine is too slow for it, and never slower than real time", () => {
  expect([1, 4, 8, 20].map((factor) => fast(12, () => factor))).toStrictEqual([12, 12, 6, 2.4]);
  expect(fast(3, () => 20)).toBe(1);
});

test("A time limit is stretched on a slow machine, whose slowness is measured when the time has passed", async () => {
  let nowMs = 500;
  const factors = [3, 1];
  const limit = timeLimit(
    1_000,
    () => nowMs,
    () => factors.shift() ?? 1,
  );
  const isOverAt = (passedMs: number): boolean => {
    nowMs = 500 + passedMs;
    return limit.isOver();
  };
  expect([isOverAt(999), factors.length]).toStrictEqual([false, 2]);
  // It does not shrink again.
  expect([isOverAt(1_001), isOverAt(3_000), isOverAt(3_001)]).toStrictEqual([false, false, true]);
  expect(await within(60_000, async () => "done")).toBe("done");
  await expect(within(-1, async () => "done")).rejects.toThrow("It took too long: ");
});
