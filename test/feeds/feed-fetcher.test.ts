// The headers of feeds, whose values come from Secrets.
import { expect, test } from "@jest/globals";
import { FeedFetcher } from "../../src/feeds/feed-fetcher.ts";
import { initialFeedState } from "../../src/feeds/feed-state.ts";
import { realClock } from "../../src/async/clock.ts";
import { ApiKey } from "../../src/model/api-key.ts";
import { Redactor } from "../../src/model/redactor.ts";
import { aFeed } from "../support/builders/declare-feed.ts";

test("A Secret of a megabyte is not accepted as a header, and is not redacted", async () => {
  const { fetch } = new FeedFetcher({
    policy: { allowInsecureHttp: true, allowPrivateFeeds: true },
    readSecret: async () => ({ ok: true, value: new ApiKey("x1y2z3".repeat(160_000)) }),
    clock: realClock,
    redactor: new Redactor(),
    version: "1.2.3",
  });
  const headersFrom = [{ name: "X-Words", secretKeyRef: { name: "words", key: "words" } }];
  const feed = aFeed({ source: { type: "Http", url: "http://127.0.0.1:9", headersFrom, format: { type: "Plain" } } });
  const before = process.cpuUsage();
  const outcome = await fetch(feed, initialFeedState(feed), new AbortController().signal, async (read) => await read());
  expect(process.cpuUsage(before).user / 1000).toBeLessThan(1000);
  expect(outcome).toMatchObject({
    kind: "Failed",
    fault: { message: expect.stringContaining("the limit for an HTTP header") },
  });
});
