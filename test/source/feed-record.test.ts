import { expect, test } from "@jest/globals";
import type { Entry } from "../../src/model/entry.ts";
import { afterFetch, type FeedState, initialFeedState } from "../../src/plan/feeds/feed-state.ts";
import { decodeFeedState, encodeFeed, withContent } from "../../src/source/feed-record.ts";
import { aFeed, aReading, someAddresses, textFacts } from "../support/builders/declare-feed.ts";

const feed = aFeed();
const at = { nowMs: 1000, random: 0 };

function aState(): FeedState {
  const reading = {
    ...aReading([...someAddresses(20), "2001:db8::/48"]),
    invalidLines: [{ line: 3, text: "x", message: "No." }],
  };
  const facts = textFacts({ etag: '"v1"', lastModified: "Sun, 01 Nov 2026 00:00:00 GMT", sha256: "ab" });
  const good = afterFetch(initialFeedState(feed), feed, { kind: "Read", reading, facts }, at);
  const held = afterFetch(good, feed, { kind: "Read", reading: aReading(someAddresses(1)), facts: textFacts() }, at);
  return afterFetch(
    held,
    feed,
    { kind: "Failed", fault: { code: "RateLimited", message: "No.", retryAfterMs: 5 } },
    at,
  );
}

function restored(state: FeedState): FeedState | undefined {
  const { stateText, content } = encodeFeed(state);
  const decoded = decodeFeedState(stateText);
  if (!decoded.ok) throw new Error(decoded.problem);
  if (decoded.contentDigest === undefined) return decoded.state;
  return withContent(decoded.state, decoded.contentDigest, content?.text ?? "");
}

test("A feed is restored unchanged, with its content on hold and its failure", () => {
  expect(restored(aState())).toStrictEqual(aState());
  expect(restored(initialFeedState(feed))).toStrictEqual(initialFeedState(feed));
});

test("The expiries of entries are stored in seconds, rounded up", () => {
  const state = aState();
  const entry = "192.0.2.1" as Entry;
  const ended = new Map([[`${entry.slice(0, -1)}9` as Entry, 1000]]);
  const content = { entries: [entry], expiresAtMs: new Map([[entry, 1500]]), ended };
  const ending = { ...state, good: { ...state.good!, content } };
  expect(encodeFeed(ending).content?.text).toBe("192.0.2.1 2\n-192.0.2.9 1\n");
  expect(restored(ending)?.good?.content.expiresAtMs).toStrictEqual(new Map([[entry, 2000]]));
  expect(restored(ending)?.good?.content.ended).toStrictEqual(ended);
});

test("The text of the entries is the same while the entries are the same", () => {
  const { content } = encodeFeed(aState());
  expect(encodeFeed({ ...aState(), failures: 9 }).content?.digest).toBe(content?.digest);
});

test.each([
  ["another text", "192.0.2.1\n"],
  ["half of the text", "192.0.2.1\n192.0.2.2\n192.0."],
])("Content that is %s is not used", (_, text) => {
  const { stateText } = encodeFeed(aState());
  const decoded = decodeFeedState(stateText);
  expect(decoded.ok && withContent(decoded.state, decoded.contentDigest ?? "", text)).toBeUndefined();
});

test.each(["", "{", "[]", '{"format": 2}', '{"format": 1, "failures": -1}'])(
  "A damaged state is a problem: %j",
  (text) => {
    expect(decodeFeedState(text)).toStrictEqual({ ok: false, problem: expect.stringContaining("damaged") });
  },
);
