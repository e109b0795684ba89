import { describe, expect, test } from "@jest/globals";
import { judgeContent } from "../../../src/plan/feeds/guards.ts";
import { aFeed, aReading, feedContent, someAddresses, textFacts } from "../../support/builders/declare-feed.ts";

const { guards } = aFeed();
const hundred = feedContent(someAddresses(100));

function judge(count: number, { invalid = 0, facts = textFacts(), before = hundred, limits = guards } = {}) {
  const reading = aReading(someAddresses(count), { invalid });
  const decision = judgeContent({ reading, facts, format: "Plain" }, before, limits);
  return decision.verdict === "Accept" ? "Accept" : `${decision.verdict} ${decision.reason}: ${decision.message}`;
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
    expect(judge(3, { before: feedContent(someAddresses(9)) })).toBe("Accept");
  });

  test("may have no fewer and no more entries than allowed", () => {
    expect(judge(0)).toBe("Hold TooFewEntries: The feed has 0 entries, but spec.guards.minEntries requires 1.");
    expect(judge(1001)).toBe(
      "Hold TooManyEntries: The feed has 1,001 entries, but spec.guards.maxEntries allows 1,000.",
    );
  });

  test("may have the allowed share of invalid lines", () => {
    expect(judge(95, { invalid: 5 })).toBe("Accept");
    expect(judge(94, { invalid: 6 })).toBe(
      "Hold TooManyInvalid: 6 of 100 lines are not valid entries, but spec.guards.maxInvalidPercent allows 5 %.",
    );
    expect(judge(5, { invalid: 4, before: feedContent([]) })).toBe("Accept");
  });

  test("is refused if it is a web page or empty, and can't be accepted", () => {
    expect(judge(100, { facts: textFacts({ looksLikeMarkup: true }) })).toMatch(/^Refuse Markup: /);
    expect(judge(0, { facts: textFacts({ bytes: 0 }) })).toBe("Refuse Empty: The server returned an empty response.");
  });

  test("is put on hold if its content type is that of a web page or an image", () => {
    expect(judge(100, { facts: textFacts({ contentType: "text/html" }) })).toMatch(
      /^Hold UnexpectedContentType: .*text\/html/,
    );
    expect(judge(100, { facts: textFacts({ contentType: "image/png" }) })).toMatch(/^Hold UnexpectedContentType: /);
    expect(judge(100, { facts: textFacts({ contentType: undefined }) })).toBe("Accept");
    expect(judge(100, { facts: textFacts({ contentType: "application/octet-stream" }) })).toBe("Accept");
  });
});
