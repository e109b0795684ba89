// Feeds over time, with a real server and a clock that the test controls.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { FeedBook } from "../../src/feeds/feed-book.ts";
import { FeedFetcher } from "../../src/feeds/feed-fetcher.ts";
import { initialFeedState } from "../../src/feeds/feed-state.ts";
import { ApiKey } from "../../src/model/api-key.ts";
import { Redactor } from "../../src/model/redactor.ts";
import { aFeed, someAddresses } from "../support/builders/declare-feed.ts";
import { ScriptedServer } from "../support/fakes/scripted-server.ts";
import { RecordedStatus } from "../support/fakes/recorded-status.ts";
import { createVirtualClock, type VirtualClock } from "../support/fakes/virtual-clock.ts";

const minuteMs = 60_000;
const list = someAddresses(100);
const never = new AbortController().signal;

let server: ScriptedServer;
let clock: VirtualClock;
let book: FeedBook;
let status: RecordedStatus;

beforeEach(async () => {
  server = await ScriptedServer.start();
  clock = createVirtualClock();
  const { fetch } = new FeedFetcher({
    policy: { allowInsecureHttp: true, allowPrivateFeeds: true },
    readSecret: async () => ({ ok: false, problem: "There are no Secrets." }),
    clock,
    redactor: new Redactor(),
    version: "1.2.3",
  });
  const store = { load: async () => ({ ok: true, state: undefined }) as const, save: async () => undefined };
  status = new RecordedStatus();
  book = new FeedBook({ store, fetch, status, clock, random: () => 0 });
  server.serves(list.join("\n"));
  const source = { type: "Http", url: server.url(), headersFrom: [], format: { type: "Plain" } } as const;
  await book.declare([aFeed({ source, intervalMs: 60 * minuteMs })]);
  await book.visit("shop/threats", never);
});

afterEach(async () => await server.stop());

function used(): readonly string[] {
  return book.view({ namespace: "shop", name: "threats" })?.content?.entries ?? [];
}

/** Advances to the next fetch. @returns how many minutes this took */
async function toNextFetch(): Promise<number> {
  const { nextFetchTime } = status.read(aFeed().meta) as { readonly nextFetchTime: string };
  const delayMs = Date.parse(nextFetchTime) + 1_000 - clock.nowMs();
  await clock.advance(delayMs);
  return Math.round(delayMs / minuteMs);
}

test("A server that responds after a minute times out after 30 seconds, and the next response is used", async () => {
  const asked = Promise.withResolvers<void>();
  server.answers((_, response) => {
    asked.resolve();
    clock.schedule(minuteMs, () => response.end("192.0.2.1\n"));
  });
  await toNextFetch();
  const refreshing = book.visit("shop/threats", never);
  await asked.promise;
  await clock.advance(30_000);
  await refreshing;
  expect(book.problems().join(" ")).toMatch(
    /did not send a complete response within 30 s\. Rules continue to use the last good content: 100 entries/,
  );
  expect(used()).toStrictEqual(list);
  server.serves(list.slice(1).join("\n"));
  expect(await toNextFetch()).toBe(1);
  await book.visit("shop/threats", never);
  expect(book.problems()).toStrictEqual([]);
  expect(used()).toStrictEqual(list.slice(1));
});

/** Fetches with this value of a header. */
async function fetchWithHeader(value: string, redactor: Redactor) {
  const { fetch } = new FeedFetcher({
    policy: { allowInsecureHttp: true, allowPrivateFeeds: true },
    readSecret: async () => ({ ok: true, value: new ApiKey(value) }),
    clock,
    redactor,
    version: "1.2.3",
  });
  const headersFrom = [{ name: "X-Words", secretKeyRef: { name: "words", key: "words" } }];
  const feed = aFeed({ source: { type: "Http", url: server.url(), headersFrom, format: { type: "Plain" } } });
  const state = initialFeedState(feed);
  return await fetch(feed, state, never, async (read) => await read());
}

test("A Secret of a megabyte is not accepted as a header, and is not redacted", async () => {
  const before = process.cpuUsage();
  const outcome = await fetchWithHeader("x1y2z3".repeat(160_000), new Redactor());
  expect(process.cpuUsage(before).user / 1000).toBeLessThan(1000);
  expect(outcome).toMatchObject({ kind: "Failed", fault: { code: "MissingSecret" } });
});
