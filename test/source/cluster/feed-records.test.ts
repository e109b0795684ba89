import { expect, test } from "@jest/globals";
import type { ApiServer } from "../../../src/kube/api-server.ts";
import { initialFeedState } from "../../../src/plan/feeds/feed-state.ts";
import { FeedRecords } from "../../../src/source/cluster/feed-records.ts";
import { aFeed } from "../../support/builders/declare-feed.ts";

test("A feed that was deleted while it was fetched gets no records, because nothing would ever delete them", async () => {
  const calls: string[] = [];
  const api = new Proxy({} as ApiServer, {
    get: (_, call) => () => {
      calls.push(String(call));
      return Promise.resolve({ ok: false, fault: { code: "NotFound", message: "not found" } });
    },
  });
  const records = new FeedRecords({ api, mayWrite: () => true, uidOf: () => undefined });
  const feed = aFeed();
  await records.load(feed.meta);
  calls.splice(0);
  expect(await records.save(feed.meta, initialFeedState(feed))).toBe("WafFeed shop/threats no longer exists.");
  expect(calls).toStrictEqual([]);
});
