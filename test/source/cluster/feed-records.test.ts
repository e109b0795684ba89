import { expect, test } from "@jest/globals";
import type { ApiServer } from "../../../src/kube/api-server.ts";
import { afterFetch, type FeedState, initialFeedState } from "../../../src/plan/feeds/feed-state.ts";
import { FeedRecords } from "../../../src/source/cluster/feed-records.ts";
import { aFeed, aReading, someAddresses, textFacts } from "../../support/builders/declare-feed.ts";

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

interface StoredObject {
  metadata: { name: string; uid?: string; resourceVersion: string; ownerReferences: { uid: string }[] };
  spec: { data: Record<string, string> };
}

/** The WafRecords of a namespace, with a garbage collector that runs when it is told to. */
class Records {
  readonly objects = new Map<string, StoredObject>();
  uid = "former";
  #versions = 0;

  open(): FeedRecords {
    const fault = (code: string) => ({ ok: false, fault: { code, message: code } });
    const request = async ({ method, path, body }: { method: string; path: string; body?: Partial<StoredObject> }) => {
      const name = body?.metadata?.name ?? path.split("/").at(-1) ?? "";
      const known = this.objects.get(name);
      if (method === "GET" && path.endsWith("wafrecords")) {
        return { ok: true, value: { metadata: {}, items: [...this.objects.values()] } };
      }
      if (method === "POST" && known !== undefined) return fault("AlreadyExists");
      if (method !== "POST" && known === undefined) return fault("NotFound");
      if (method === "DELETE") this.objects.delete(name);
      if (body?.metadata === undefined || method === "DELETE") return { ok: true, value: known };
      if (known !== undefined && known.metadata.resourceVersion !== body.metadata.resourceVersion)
        return fault("Conflict");
      const stored = structuredClone(body) as StoredObject;
      Object.assign(stored.metadata, { uid: name, resourceVersion: String((this.#versions += 1)) });
      this.objects.set(name, stored);
      return { ok: true, value: stored };
    };
    const api = { request } as unknown as ApiServer;
    return new FeedRecords({ api, mayWrite: () => true, uidOf: () => this.uid });
  }

  collectGarbage(): void {
    for (const [name, { metadata }] of this.objects) {
      if (metadata.ownerReferences[0]?.uid !== this.uid) this.objects.delete(name);
    }
  }

  async save(state: FeedState): Promise<void> {
    const records = this.open();
    await records.load(aFeed().meta);
    const problem = await records.save(aFeed().meta, state);
    if (problem !== undefined) throw new Error(problem);
  }

  async entries(): Promise<readonly string[] | undefined> {
    const loaded = await this.open().load(aFeed().meta);
    if (!loaded.ok) throw new Error(loaded.problem);
    return loaded.state?.good?.content.entries;
  }
}

function fetched(count: number): FeedState {
  const outcome = { kind: "Read", reading: aReading(someAddresses(count)), facts: textFacts() } as const;
  return afterFetch(initialFeedState(aFeed()), aFeed(), outcome, { nowMs: 0, random: 0 });
}

test("A feed that is created again starts without content, and keeps its own when that of the former one is deleted", async () => {
  const records = new Records();
  await records.save(fetched(2));
  expect(await records.entries()).toHaveLength(2);
  records.uid = "created again";
  expect(await records.entries()).toBeUndefined();
  await records.save(fetched(2));
  records.collectGarbage();
  expect(await records.entries()).toHaveLength(2);
});

test.each<[string, (records: Records, head: StoredObject, part: StoredObject) => void]>([
  ["a damaged state", (_, head) => void (head.spec.data["state"] = "{")],
  ["damaged entries", (_, __, part) => void (part.spec.data["entries"] = "192.0.2.1\n")],
  ["no entries", (records, _, { metadata }) => void records.objects.delete(metadata.name)],
])("A record with %s counts as absent, so that the feed is fetched and stored again", async (_, damage) => {
  const records = new Records();
  await records.save(fetched(2));
  const [part, head] = [...records.objects.values()];
  damage(records, head!, part!);
  expect(await records.entries()).toBeUndefined();
  await records.save(fetched(2));
  expect(await records.entries()).toHaveLength(2);
});
