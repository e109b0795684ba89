// Replicas that share the shards, in short: rebalanced, killed, released, and with a rotated key. Never do two of them call one
// WAF. shards-under-stress.test.ts has more replicas and more faults.
import { afterAll, expect, test } from "@jest/globals";
import { keySecret } from "../support/builders/manifests.ts";
import { fast } from "../support/processes/slowness.ts";
import { describeOperator } from "../support/worlds/operator-suite.ts";
import { ShardReplicas } from "../support/worlds/shard-replicas.ts";
import type { Replica } from "../support/worlds/shard-replicas.ts";

const lease = "shards-in-short";
const shards = 4;

await describeOperator("shards", (world) => {
  let replicas: ShardReplicas;
  let first: Replica;
  let second: Replica;

  afterAll(async () => {
    await replicas.endAll();
    await replicas.proxy.close();
  });

  test("a single replica holds all shards, and works on every instance", async () => {
    replicas = await ShardReplicas.begin(world(), fast(10), 6);
    first = await replicas.start(lease, shards);
    await replicas.everyInstanceWorks();
    expect(await replicas.shardsHeld()).toEqual([shards]);
  });

  test("a second replica gets half of the shards, without overlap", async () => {
    second = await replicas.start(lease, shards);
    await replicas.evenlyShared(shards);
    const sinceMs = performance.now();
    await replicas.everyInstanceWorks();
    const callers = replicas.instances.flatMap(({ waf }) => replicas.proxy.callers(waf.key, sinceMs));
    expect(new Set(callers)).toEqual(new Set([first.name, second.name]));
    expect(callers).toHaveLength(replicas.instances.length);
    replicas.expectOneWriterPerKey();
  });

  test("a key that was rotated moves the instance to the other replica within a lease", async () => {
    const [moved] = replicas.instances.filter(({ waf }) => replicas.proxy.callers(waf.key).at(-1) === first.name);
    if (moved === undefined) throw new Error("the first replica works on no instance");
    const calledBySecond = new Set(
      replicas.instances.filter(({ waf }) => replicas.proxy.callers(waf.key).at(-1) === second.name),
    );
    expect(calledBySecond.size).toBeGreaterThan(0);
    // Another WAF, as the simulator has one key for each: it belongs to some shard.
    const waf = world().newWaf();
    await world().apply(keySecret(moved.namespace, waf.key));
    await world().patch(
      { apiVersion: "wafsync.dev/v1alpha1", kind: "WafInstance", metadata: { name: "waf", namespace: moved.namespace } },
      {
        metadata: { annotations: { "wafsync.dev/requested-at": "now" } },
        spec: { expectedDomain: waf.domain },
      },
    );
    await world().eventually(
      "the new key is used",
      () => waf.view.has("blocklist", "203.0.113.1"),
      replicas.realMs(60_000) + 20_000,
    );
    replicas.instances.splice(replicas.instances.indexOf(moved), 1, { namespace: moved.namespace, waf });
    replicas.expectOneWriterPerKey();
  });

  test("what a killed replica worked on is taken over within a lease", async () => {
    await first.operator.end("SIGKILL");
    await replicas.everyInstanceWorks();
    expect(await replicas.shardsHeld()).toEqual([shards]);
    replicas.expectOneWriterPerKey();
  });

  test("a replica that is asked to end leaves its shards to another one at once", async () => {
    await replicas.start(lease, shards);
    await replicas.evenlyShared(shards);
    expect(await second.operator.end("SIGTERM")).toMatchObject({ code: 0 });
    await replicas.everyInstanceWorks();
    replicas.expectOneWriterPerKey();
    await world().allReady();
  });
});
