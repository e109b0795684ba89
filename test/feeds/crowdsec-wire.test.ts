import { expect, test } from "@jest/globals";
import { parseGoDuration } from "../../src/feeds/crowdsec.ts";

test.each([
  ["3h59m59s", 14_399_000],
  ["1.5s", 1500],
  ["-5m2.5s", -302_500],
  ["0s", 0],
  ["0", 0],
  ["250ms", 250],
  ["1h0m0.000001s", 3_600_000.001],
  ["2µs", 0],
  ["167h59m59.999999999s", 604_799_999.999_999],
])("%s is a Go duration", (text, spanMs) => {
  expect(parseGoDuration(text)).toBeCloseTo(spanMs, 3);
});

test.each(["", "5", "5 m", "h", "1d", "--5s", "1h-5m", "5S", "∞", "1".repeat(70)])("%s is none", (text) => {
  expect(parseGoDuration(text)).toBeUndefined();
});
