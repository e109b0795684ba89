import { expect, test } from "@jest/globals";
import { assert, integer, property } from "fast-check";
import { secondText } from "../../src/model/time-text.ts";

test("a time is formatted like Date formats it, without milliseconds", () => {
  const years = { min: Date.UTC(1, 0, 1) - 1_900 * 365.25 * 86_400_000, max: Date.UTC(9999, 11, 31) };
  assert(
    property(integer({ min: Math.ceil(years.min), max: years.max }), (timeMs) => {
      expect(secondText(timeMs)).toBe(new Date(timeMs).toISOString().replace(/\.\d+Z$/u, "Z"));
    }),
    { numRuns: 2_000, examples: [[0], [951_782_399_999], [951_782_400_000], [-1], [Date.UTC(2100, 1, 28)]] },
  );
});
