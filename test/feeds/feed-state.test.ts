import { describe, expect, test } from "@jest/globals";
import {
  type FetchOutcome,
  acceptAnnotation,
  adaptFeedState,
  afterFetch,
  entriesHash,
  type FeedState,
  fetchDueMs,
  initialFeedState,
} from "../../src/feeds/feed-state.ts";
import type { DeclaredFeed } from "../../src/model/declared.ts";
import {
  aFeed,
  aReading,
  crowdsecFeed,
  feedContent,
  someAddresses,
  textFacts,
} from "../support/builders/declare-feed.ts";

const hourMs = 3_600_000;

function read(count: number, etag?: string): FetchOutcome {
  return { kind: "Read", reading: aReading(someAddresses(count)), facts: textFacts({ etag }) };
}

const unreachable: FetchOutcome = { kind: "Failed", fault: { message: "No connection." } };

/** The state after these outcomes, which are an hour apart. */
function after(
  outcomes: readonly FetchOutcome[],
  feed: DeclaredFeed = aFeed(),
  start = initialFeedState(feed),
): FeedState {
  return outcomes.reduce(
    (state, outcome, index) =>
      afterFetch(adaptFeedState(state, feed), feed, outcome, { nowMs: index * hourMs, random: 0 }),
    start,
  );
}

function accepting(hash: string): DeclaredFeed {
  return aFeed({ annotations: { [acceptAnnotation]: hash } });
}

const tenHash = entriesHash(aReading(someAddresses(10)).content.entries);

describe("The last good content of a feed", () => {
  test("is the content that was read last, with the time of its last change", () => {
    const state = after([read(100), read(100), read(90)]);
    expect(state.good).toMatchObject({
      content: feedContent(someAddresses(90)),
      changedAtMs: 2 * hourMs,
      confirmedAtMs: 2 * hourMs,
    });
    expect(state.nextFetchMs).toBe(3 * hourMs);
  });

  test("has the latest expiries of its entries, which do not count as a change", () => {
    const endingAt = (...endsMs: readonly number[]): FetchOutcome => {
      const reading = aReading(someAddresses(2));
      const expiresAtMs = new Map(reading.content.entries.map((one, index) => [one, endsMs[index] ?? 0]));
      return { kind: "Updated", reading: { ...reading, content: { ...reading.content, expiresAtMs } } };
    };
    const first = after([read(2)]);
    const prolonged = after([endingAt(5 * hourMs, 6 * hourMs), endingAt(5 * hourMs, 9 * hourMs)], aFeed(), first);
    expect([...(prolonged.good?.content.expiresAtMs.values() ?? [])]).toStrictEqual([5 * hourMs, 9 * hourMs]);
    expect(prolonged.good?.changedAtMs).toBe(first.good?.changedAtMs);
    // A server rounds durations: each full response differs by a moment.
    const rounded = after([endingAt(5 * hourMs + 900, 9 * hourMs - 900)], aFeed(), prolonged);
    expect(rounded.good?.content).toBe(prolonged.good?.content);
  });

  test("stays after a failure, which is retried in a minute", () => {
    const state = after([read(100), unreachable]);
    expect(state.good?.content.entries).toHaveLength(100);
    expect(state).toMatchObject({ failures: 1, nextFetchMs: hourMs + 60_000, held: undefined });
    expect(state.fault?.message).toMatch(/\.$/);
    expect(after([read(100)], aFeed(), state)).toMatchObject({ failures: 0, fault: undefined });
  });

  test("is kept when the feed's source changes, which is fetched immediately and without the old validators", () => {
    const state = after([read(100, '"v1"')]);
    const moved = aFeed({
      source: { type: "Http", url: "https://other.example/", headersFrom: [], format: { type: "Plain" } },
    });
    const adapted = adaptFeedState(state, moved);
    expect(adapted.good?.content.entries).toHaveLength(100);
    expect(adapted.good?.facts).toBeUndefined();
    expect(fetchDueMs(adapted, moved, 5)).toBe(5);
    expect(after([read(10)], moved, adapted).held?.reason).toBe("Shrunk");
  });
});

describe("Content on hold", () => {
  test("is identified by its hash, and counts from when it was first seen", () => {
    const state = after([read(100), read(10), read(10)]);
    expect(state.good?.content.entries).toHaveLength(100);
    expect(state.held).toMatchObject({ reason: "Shrunk", hash: tenHash, sinceMs: hourMs, counts: { valid: 10 } });
    expect(state.failures).toBe(0);
  });

  test("is dropped when the feed is as before, or the server reports no change", () => {
    expect(after([read(100), read(10), read(95)]).held).toBeUndefined();
    expect(after([read(100), read(10), { kind: "NotModified" }]).held).toBeUndefined();
  });

  test("has the same hash in another order", () => {
    const { entries } = feedContent(someAddresses(10));
    expect(entriesHash(entries.toReversed())).toBe(tenHash);
    expect(tenHash).toMatch(/^[0-9a-f]{16}$/);
  });

  test("is fetched immediately when a user accepts it, and then used", () => {
    const held = after([read(100), read(10)]);
    const feed = accepting(tenHash);
    const asked = adaptFeedState(held, feed);
    expect(fetchDueMs(asked, feed, 7)).toBe(7);
    const state = afterFetch(asked, feed, read(10), { nowMs: 7, random: 0 });
    expect(state).toMatchObject({ held: undefined, usedAcceptance: tenHash });
    expect(state.good?.content.entries).toHaveLength(10);
  });

  test("is accepted only by its own hash, and a wrong hash causes no further fetch", () => {
    const feed = accepting("0123456789abcdef");
    const state = after([read(10)], feed, after([read(100), read(10)]));
    expect(state.held?.hash).toBe(tenHash);
    expect(fetchDueMs(adaptFeedState(state, feed), feed, 7)).toBe(hourMs);
  });

  test("is accepted once: the same content is put on hold again while the annotation stays", () => {
    const feed = accepting(tenHash);
    const accepted = after([read(100), read(10), read(100), read(10)], feed);
    expect(accepted.good?.content.entries).toHaveLength(100);
    expect(accepted.held?.hash).toBe(tenHash);
    const removed = after([read(10)], aFeed(), accepted);
    expect(after([read(10)], feed, removed).good?.content.entries).toHaveLength(10);
  });
});

describe("A fetch is due", () => {
  test("immediately at the start, never while the feed is suspended, and immediately on request", () => {
    const feed = aFeed();
    expect(fetchDueMs(initialFeedState(feed), feed, 5)).toBe(5);
    expect(fetchDueMs(initialFeedState(feed), aFeed({ suspend: true }), 5)).toBe(Infinity);
    const state = after([read(100)]);
    expect(fetchDueMs(adaptFeedState(state, feed), feed, 5)).toBe(hourMs);
    const requested = aFeed({ annotations: { "wafsync.dev/requested-at": "now" } });
    const asked = adaptFeedState(state, requested);
    expect(fetchDueMs(asked, requested, 5)).toBe(5);
    expect(adaptFeedState(asked, requested)).toBe(asked);
  });
});

test("Individually reported changes may remove everything, but not add more than the guards allow", () => {
  const updated = (texts: readonly string[]): FetchOutcome => ({ kind: "Updated", reading: aReading(texts) });
  expect(after([read(100), updated(someAddresses(1))]).good?.content.entries).toHaveLength(1);
  const many = after([read(100), updated(someAddresses(1001))]);
  expect(many).toMatchObject({
    held: { reason: "TooManyEntries" },
    good: { content: { entries: someAddresses(100) } },
  });
  const wide = after([read(100), updated([...someAddresses(100), "23.0.0.0/8"])]);
  expect(wide).toMatchObject({ held: { reason: "TooManyAddresses" } });
});

test("Entries that have expired are no loss, and are known for a week, unless the source lists them again", () => {
  const texts = someAddresses(41);
  const feed = crowdsecFeed({ guards: { ...aFeed().guards, minEntries: 0 } });
  const reading = (from: number, to: number, endMs: number): FetchOutcome => {
    const one = aReading(texts.slice(from, to));
    const expiresAtMs = new Map(one.content.entries.map((entry) => [entry, endMs]));
    return { kind: "Read", reading: { ...one, content: { ...one.content, expiresAtMs } }, facts: undefined };
  };
  const fetchAt = (state: FeedState, nowMs: number, outcome: FetchOutcome): FeedState =>
    afterFetch(state, feed, outcome, { nowMs, random: 0 });
  const first = fetchAt(initialFeedState(feed), 0, reading(0, 40, hourMs));
  expect(fetchAt(first, hourMs / 2, reading(40, 41, 9 * hourMs)).held?.reason).toBe("Shrunk");
  const next = fetchAt(first, 2 * hourMs, reading(39, 41, 9 * hourMs));
  expect(next).toMatchObject({ held: undefined, good: { content: { entries: texts.slice(39) } } });
  expect([...(next.good?.content.ended?.keys() ?? [])]).toStrictEqual(texts.slice(0, 39));
  const late = fetchAt(next, 8 * 24 * hourMs, reading(0, 1, 9 * 24 * hourMs));
  expect([...(late.good?.content.ended?.keys() ?? [])]).toStrictEqual([]);
});
