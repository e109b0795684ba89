import { expect, test } from "@jest/globals";
import { afterFetch, initialFeedState } from "../../src/feeds/feed-state.ts";
import { judgeFeed } from "../../src/feeds/feed-status.ts";
import type { DeclaredFeed } from "../../src/model/declared.ts";
import { aFeed, aReading, crowdsecFeed, someAddresses, textFacts } from "../support/builders/declare-feed.ts";

/** The state after good content and content on hold. */
function onHold(feed: DeclaredFeed) {
  const facts = feed.source.type === "Http" ? textFacts() : undefined;
  const good = { kind: "Read", reading: aReading(someAddresses(20)), facts } as const;
  const shrunk = { kind: "Read", reading: aReading(someAddresses(2)), facts } as const;
  const first = afterFetch(initialFeedState(feed), feed, good, { nowMs: 0, random: 0 });
  return afterFetch(first, feed, shrunk, { nowMs: 1, random: 0 });
}

test("The message about a list on hold contains the accepting hash", () => {
  const state = onHold(aFeed());
  expect(judgeFeed(state, aFeed(), 0).message).toContain(
    `annotate the feed with wafsync.dev/accept-feed: "${state.held?.hash}".`,
  );
});

test("The message about decisions on hold names the guard, because their hash changes every minute", () => {
  const feed = crowdsecFeed();
  const { message } = judgeFeed(onHold(feed), feed, 0);
  expect(message).toContain("change spec.guards.maxShrinkPercent, and restore it after the next fetch.");
  expect(message).not.toContain("accept-feed");
});
