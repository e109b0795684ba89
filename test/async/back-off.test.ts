import { expect, test } from "@jest/globals";
import { backOffDelayMs, upwardBackOffDelayMs } from "../../src/async/back-off.ts";

const limits = { baseMs: 1_000, maxMs: 300_000 };

test("full jitter is between zero and the doubled delay, and never exceeds the maximum", () => {
  const delays = (random: number) =>
    [1, 2, 3, 9, 10, 1_000].map((attempt) => backOffDelayMs({ ...limits, attempt, random: () => random }));
  expect(delays(0)).toStrictEqual([0, 0, 0, 0, 0, 0]);
  expect(delays(0.5)).toStrictEqual([500, 1_000, 2_000, 128_000, 150_000, 150_000]);
  expect(delays(0.999_999_9)).toStrictEqual([1_000, 2_000, 4_000, 256_000, 300_000, 300_000]);
});

test("upward jitter is never shorter than the doubled delay, and never exceeds the maximum", () => {
  const delay = (attempt: number, random: number) =>
    upwardBackOffDelayMs({ baseMs: 800, maxMs: 30_000, attempt, random: () => random });
  expect([delay(1, 0), delay(1, 0.999_99)]).toStrictEqual([800, 1_600]);
  expect([delay(3, 0), delay(50, 0), delay(50, 0.9)]).toStrictEqual([3_200, 30_000, 30_000]);
});
