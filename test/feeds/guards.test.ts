import { describe, expect, test } from "@jest/globals";
import { judgeContent } from "../../src/feeds/guards.ts";
import { aFeed, aReading, feedContent, someAddresses, textFacts } from "../support/builders/declare-feed.ts";

const { guards } = aFeed();
const hundred = feedContent(someAddresses(100));

function judge(count: number, { invalid = 0, before = hundred, limits = guards } = {}) {
  const reading = aReading(someAddresses(count), { invalid });
  const objection = judgeContent({ kind: "Read", reading, facts: textFacts() }, before, limits);
  return objection === undefined ? "Accept" : `Hold ${objection.reason}: ${objection.message}`;
}

describe("New content of a feed", () => {
  test("is accepted if it is like the last one", () => {
    expect(judge(100)).toBe("Accept");
    expect(judge(140, { invalid: 7 })).toBe("Accept");
  });

  test("may shrink by the allowed percentage, and is put on hold beyond it", () => {
    expect(judge(70)).toBe("Accept");
    expect(judge(69)).toBe(
      "Hold Shrunk: The feed shrank from 100 to 69 entries, but spec.guards.maxShrinkPercent allows 30 %.",
    );
    expect(judge(0, { limits: { ...guards, minEntries: 0 } })).toMatch(
      /^Hold Shrunk: The feed shrank from 100 to 0 entries/,
    );
    const others = feedContent(someAddresses(140).slice(40));
    expect(judge(100, { before: others })).toBe(
      "Hold Shrunk: 40 of the last 100 entries are missing from the feed, but spec.guards.maxShrinkPercent allows 30 %.",
    );
    expect(judge(3, { before: feedContent(someAddresses(9)) })).toBe("Accept");
  });

  test("may have no fewer and no more entries than allowed", () => {
    expect(judge(0)).toBe("Hold TooFewEntries: The feed has 0 entries, but spec.guards.minEntries requires 1.");
    expect(judge(1001)).toBe(
      "Hold TooManyEntries: The feed has 1,001 entries, but spec.guards.maxEntries allows 1,000.",
    );
  });

  test.each<[string, readonly string[], string]>([
    ["an IPv4 /8", ["23.0.0.0/8"], "Accept"],
    ["networks inside it", ["23.0.0.0/8", "23.5.0.0/16", "23.5.6.7"], "Accept"],
    ["special-purpose networks", ["10.0.0.0/8", "224.0.0.0/3", "23.0.0.0/8"], "Accept"],
    ["more IPv4 addresses", ["23.0.0.0/8", "24.1.0.0"], "16,777,217 IPv4 addresses"],
    ["an IPv6 /24", ["2a00::/24"], "Accept"],
    ["more IPv6 addresses", ["2a00::/24", "2a01::/48"], "16,777,217 IPv6 networks of length 48"],
  ])("may cover a number of addresses: %s", (_, texts, result) => {
    const judged = { kind: "Read", reading: aReading(texts), facts: textFacts() } as const;
    const objection = judgeContent(judged, undefined, guards);
    const held = `The entries of the feed cover ${result}, but spec.guards.maxAddresses allows 16,777,216.`;
    expect(objection).toStrictEqual(result === "Accept" ? undefined : { reason: "TooManyAddresses", message: held });
  });

  test("may have the allowed share of invalid lines", () => {
    expect(judge(95, { invalid: 5 })).toBe("Accept");
    expect(judge(94, { invalid: 6 })).toBe(
      "Hold TooManyInvalid: 6 of 100 lines are not valid entries, but spec.guards.maxInvalidPercent allows 5 %.",
    );
    expect(judge(5, { invalid: 4, before: feedContent([]) })).toBe("Accept");
  });
});
