import { describe, expect, test } from "@jest/globals";
import { assert, nat, property } from "fast-check";
import { formatDuration, parseDuration } from "../../src/kinds/durations.ts";

describe("durations are parsed", () => {
  test.each([
    ["5m", 300_000],
    ["5ms", 5],
    ["1h30m", 5_400_000],
    ["10s", 10_000],
    ["2d", 172_800_000],
    ["0s", 0],
    ["1d2h3m4s5ms", 93_784_005],
    ["90m", 5_400_000],
  ])("%s", (text, spanMs) => {
    expect(parseDuration(text)).toBe(spanMs);
  });
});

test.each(["", "5", "m", "5 m", "-5m", "1.5h", "30s5m", "5M", "1e3s", "99999d", "5m\n", "٥m", `${"0".repeat(40)}s`])(
  "%j is no duration",
  (text) => {
    expect(parseDuration(text)).toBeUndefined();
  },
);

describe("durations are written in the fewest units", () => {
  test.each([
    [0, "0s"],
    [-5, "0s"],
    [250, "250ms"],
    [60_000, "1m"],
    [5_400_000, "1h30m"],
    [172_800_000, "2d"],
    [90_061_001, "1d1h1m1s1ms"],
  ])("%d ms", (spanMs, text) => {
    expect(formatDuration(spanMs)).toBe(text);
  });
});

test("a formatted duration is parsed as the same duration", () => {
  assert(
    property(nat({ max: 9999 * 86_400_000 }), (spanMs) => {
      expect(parseDuration(formatDuration(spanMs))).toBe(spanMs);
    }),
  );
});
