// A short test of replicas that share the shards: rebalanced, killed, released, and with a rotated key. No two of them ever call one
// WAF at the same time. shards-under-stress.test.ts has more replicas and more faults.
import { afterAll, expect, test } from "@jest/globals";
import { ApiKey } from "../../src/model/api-key.ts";
import { shardOfKey } from "../../src/plan/shards/shard-of-key.ts";
import { someAddresses } from "../support/builders/declare-feed.ts";
import { apiVersion, instance, keySecret, rule } from "../support/builders/manifests.ts";
import { FeedServer } from "../support/fakes/feed-server.ts";
import { fast } from "../support/processes/slowness.ts";
import { describeOperator } from "../support/worlds/operator-suite.ts";
import { conditionOf } from "../support/worlds/operator-world.ts";
import type { TestWaf } from "../support/worlds/operator-world.ts";
import { ShardReplicas } from "../support/worlds/shard-replicas.ts";
import type { Replica } from "../support/worlds/shard-replicas.ts";

const lease = "shards-in-short";
const shards = 4;

function shardOf({ key }: TestWaf): number {
  return shardOfKey(new ApiKey(key).fingerprint(), shards);
}

await describeOperator("shards", (world) => {
  let replicas: ShardReplicas;
  let first: Replica;
  let second: Replica;
  let feeds: FeedServer;

  afterAll(async () => {
    await feeds.stop();
    await replicas.endAll();
    await replicas.proxy.close();
  });

  test("a single replica holds all shards, and reconciles every instance", async () => {
    replicas = await ShardReplicas.begin(world(), fast(10), 6);
    first = await replicas.start(lease, shards);
    await replicas.everyInstanceWorks();
    expect(await replicas.shardsHeld()).toStrictEqual([shards]);
  });

  test("a second replica gets half of the shards, without overlap", async () => {
    second = await replicas.start(lease, shards);
    await replicas.evenlyShared(shards);
    const sinceMs = replicas.proxy.now();
    await replicas.everyInstanceWorks();
    const callers = replicas.instances.flatMap(({ waf }) => replicas.proxy.callers(waf.key, sinceMs));
    expect(new Set(callers)).toStrictEqual(new Set([first.name, second.name]));
    expect(callers).toHaveLength(replicas.instances.length);
    expect(replicas.overlaps()).toStrictEqual([]);
  });

  test("a second instance with the same key is reconciled only by the replica that has the key", async () => {
    for (const { waf } of replicas.instances.slice(0, 2)) {
      const namespace = await world().newNamespace("duplicates");
      const duplicate = instance(namespace, replicas.proxy.url);
      const sinceMs = replicas.proxy.now();
      await world().apply(keySecret(namespace, waf.key));
      const late = rule(namespace, "late", ["198.51.100.7"]);
      await world().apply(duplicate, late);
      await world().eventually("it is reported", async () => {
        const stalled = conditionOf(await world().read("WafInstance", namespace, "waf"), "Stalled");
        return stalled?.message.includes("has the same API key") === true;
      });
      await world().remove(duplicate, late);
      await world().eventually("it is gone", async () => !(await world().read("WafInstance", namespace, "waf")));
      expect(waf.view.has("blocklist", "198.51.100.7")).toBe(false);
      expect(replicas.proxy.callers(waf.key, sinceMs).length).toBeLessThanOrEqual(1);
    }
  });

  test("the content of feeds, which the leader fetches, reaches the instances of both replicas", async () => {
    feeds = await FeedServer.start();
    const entries = someAddresses(20);
    feeds.serves(`${entries.join("\n")}\n`);
    const holders = replicas.holders(shards);
    const users = [first, second].map(({ name }) =>
      replicas.instances.find(({ waf }) => holders.get(shardOf(waf)) === name),
    );
    for (const user of users) {
      if (user === undefined) throw new Error("a replica works on no instance");
      const metadata = { name: "threats", namespace: user.namespace };
      await world().apply({ apiVersion, kind: "WafFeed", metadata, spec: { http: { url: feeds.url("/threats") } } });
      await world().apply(rule(user.namespace, "feed", [], { addressesFrom: [{ feedRef: { name: "threats" } }] }));
    }
    await world().eventually("the entries of the feeds are blocked", () =>
      users.every((user) => entries.every((entry) => user?.waf.view.has("blocklist", entry))),
    );
    expect(replicas.overlaps()).toStrictEqual([]);
  });

  test("a rotated key moves the instance to the other replica within a lease", async () => {
    const holders = replicas.holders(shards);
    const moved = replicas.instances.find(({ waf }) => holders.get(shardOf(waf)) === first.name);
    if (moved === undefined) throw new Error("the first replica works on no instance");
    let waf = world().newWaf();
    while (holders.get(shardOf(waf)) !== second.name) waf = world().newWaf();
    const declared = instance(moved.namespace, replicas.proxy.url);
    await world().apply(keySecret(moved.namespace, waf.key));
    await world().patch(declared, { spec: { expectedDomain: waf.domain } });
    const isBlocked = (): boolean => waf.view.has("blocklist", "203.0.113.1");
    await world().eventually("the new key is used", isBlocked, replicas.realMs(60_000) + 20_000);
    expect(replicas.proxy.callers(waf.key)).toStrictEqual([second.name]);
    replicas.instances.splice(replicas.instances.indexOf(moved), 1, { namespace: moved.namespace, waf });
    expect(replicas.overlaps()).toStrictEqual([]);
  });

  test("the instances of a killed replica are taken over within a lease", async () => {
    await first.operator.end("SIGKILL");
    await replicas.everyInstanceWorks();
    // A shard without instances may be taken over last.
    await world().eventually("all shards are held", async () => (await replicas.shardsHeld()).join() === `${shards}`);
    expect(replicas.overlaps()).toStrictEqual([]);
  });

  test("a replica that is asked to stop releases its shards to another one immediately", async () => {
    await replicas.start(lease, shards);
    await replicas.evenlyShared(shards);
    expect(await second.operator.end("SIGTERM")).toMatchObject({ code: 0 });
    await replicas.everyInstanceWorks();
    expect(replicas.overlaps()).toStrictEqual([]);
    await world().allReady();
  });
});
