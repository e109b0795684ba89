import { describe, expect, test } from "@jest/globals";
import * as fc from "fast-check";
import { parseRetryAfter, retryAfterMsMax } from "../../src/net/retry-after.ts";

const nowMs = Date.UTC(2026, 10, 6, 8, 49, 0);

const parse = (retryAfter: string | undefined, atMs = nowMs) => parseRetryAfter({ "retry-after": retryAfter }, atMs);

describe("Retry-After", () => {
  test.each([
    ["0", 0],
    ["120", 120_000],
    [" 7 ", 7_000],
    ["999999999999999999999", retryAfterMsMax],
    ["Fri, 06 Nov 2026 08:49:37 GMT", 37_000],
    ["Sun, 06 Nov 1994 08:49:37 GMT", 0],
    ["Fri, 06 Nov 2099 08:49:37 GMT", retryAfterMsMax],
  ])("%j is %d ms", (header, expected) => {
    expect(parse(header)).toBe(expected);
  });

  test.each([
    [undefined],
    [""],
    ["-1"],
    ["1.5"],
    ["1e3"],
    ["soon"],
    ["2026-11-06T08:49:37Z"],
    ["Fri Nov  6 08:49:37 2026"],
    ["Fri, 06 Nov 2026 08:61:00 GMT"],
    ["Fri, 06 Nov 2026 08:49:37 CET"],
    ["Fri, 06 Xyz 2026 08:49:37 GMT"],
  ])("%j means nothing", (header) => {
    expect(parse(header)).toBeUndefined();
  });

  test.each([-300_000, 300_000, -7_200_000, 7_200_000])(
    "as a date is compared with the server's Date, even if the local clock is off by %i ms",
    (offMs) => {
      const headers = { "retry-after": "Fri, 06 Nov 2026 08:49:37 GMT", date: "Fri, 06 Nov 2026 08:49:00 GMT" };
      expect(parseRetryAfter(headers, nowMs + offMs)).toBe(37_000);
      expect(parseRetryAfter({ ...headers, "retry-after": "Fri, 06 Nov 2026 08:48:00 GMT" }, nowMs + offMs)).toBe(0);
      expect(parseRetryAfter({ ...headers, "retry-after": "5" }, nowMs + offMs)).toBe(5_000);
    },
  );

  test("as a date is compared with the local clock if the server sends no valid Date", () => {
    expect(parseRetryAfter({ "retry-after": "Fri, 06 Nov 2026 08:49:37 GMT", date: "today" }, nowMs)).toBe(37_000);
  });

  test("is never outside its bounds, regardless of the header", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.integer().map(String),
          fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
        ),
        (header) => {
          const delayMs = parse(header);
          expect(delayMs === undefined || (delayMs >= 0 && delayMs <= retryAfterMsMax)).toBe(true);
        },
      ),
    );
  });
});
