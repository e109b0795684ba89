import { describe, expect, test } from "@jest/globals";
import { fast, slowness, timeLimit, within } from "./support/processes/slowness.ts";

describe("the slowness of the machine", () => {
  test("is what the environment says, without a measurement", () => {
    const unasked = (): number => {
      throw new Error("it was measured");
    };
    expect(slowness({ WAFSYNC_SLOW: "5" }, unasked)).toBe(5);
  });

  test.each(["0.5", "21", "often", "Infinity"])("is refused if the environment says %s", (given) => {
    expect(() => slowness({ WAFSYNC_SLOW: given })).toThrow("WAFSYNC_SLOW");
  });

  test("is measured otherwise, never below 1 and never without a bound", () => {
    expect([0.9, 3, 400].map((measured) => slowness({}, () => measured))).toStrictEqual([1, 3, 20]);
    expect(slowness({ WAFSYNC_SLOW: "" }, () => 7)).toBe(7);
    expect(slowness({})).toBeGreaterThanOrEqual(1);
  });
});

describe("a fast clock", () => {
  test("is as fast as asked until the machine is too slow for it, and never slower than real time", () => {
    expect([1, 4, 8, 20].map((factor) => fast(12, () => factor))).toStrictEqual([12, 12, 6, 2.4]);
    expect(fast(3, () => 20)).toBe(1);
  });
});

describe("a time limit", () => {
  /** The limit of a second, after so much time on a machine that is so slow. */
  function isOver(tookMs: number, factor: number): boolean {
    let nowMs = 500;
    const limit = timeLimit(
      1_000,
      () => nowMs,
      () => factor,
    );
    nowMs += tookMs;
    return limit.isOver();
  }

  test("is kept to on a quiet machine, and stretched on a slow one", () => {
    expect([999, 1_001, 1_500].map((tookMs) => isOver(tookMs, 1))).toStrictEqual([false, true, true]);
    expect([1_001, 2_999, 3_001].map((tookMs) => isOver(tookMs, 3))).toStrictEqual([false, false, true]);
  });

  test("does not ask how slow the machine is before it has passed, and does not shrink again", () => {
    let nowMs = 0;
    const factors = [4, 1];
    const limit = timeLimit(
      1_000,
      () => nowMs,
      () => factors.shift() ?? 1,
    );
    nowMs = 900;
    expect([limit.isOver(), factors.length]).toStrictEqual([false, 2]);
    nowMs = 3_900;
    expect([limit.isOver(), factors.length]).toStrictEqual([false, 1]);
    nowMs = 4_100;
    expect(limit.isOver()).toBe(true);
    expect(limit.describe()).toBe(
      "4100 ms have passed; the limit is 1000 ms on a quiet machine and 4000 ms on this one",
    );
  });

  test("rejects what took too long, and gives the result of what did not", async () => {
    expect(await within(60_000, async () => "done")).toBe("done");
    await expect(within(-1, async () => "done")).rejects.toThrow("It took too long: ");
  });
});
