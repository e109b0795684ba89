// What a newcomer does with a cluster, from the manifests on: all objects of the examples become ready, everything that
// kubectl shows is as the documentation says, and afterwards nothing moves.
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, test } from "@jest/globals";
import { describeOperator } from "../support/operator/operator-suite.ts";
import { addresses, instance, keySecret, rule } from "../support/operator/manifests.ts";
import { conditionOf } from "../support/operator/operator-world.ts";
import type { TestWaf } from "../support/operator/operator-world.ts";

const examples = join(import.meta.dirname, "../../examples/cluster");

await describeOperator("the quick start", (world) => {
  let shop: TestWaf;

  beforeAll(async () => {
    await world().startOperator({ parameters: ["--leader-elect", "--lease-namespace", "wafsync-system"] });
  }, 60_000);

  test("every object of the examples becomes ready, and kubectl wait sees it", async () => {
    const { cluster, simulator } = world();
    shop = world().newWaf();
    const files = (await readdir(examples)).sort();
    const texts = await Promise.all(files.map(async (file) => await readFile(join(examples, file), "utf8")));
    const input = texts
      .join("\n---\n")
      .replaceAll("http://127.0.0.1:8080", simulator.baseUrl)
      .replaceAll("demo-key-0123456789", shop.key)
      .replaceAll("www.example.com", shop.domain);
    await cluster.expectKubectl(["apply", "-f", "-"], { input });
    const waited = ["wait", "--for=condition=Ready", "--timeout=60s", "--all", "-n", "shop"];
    const kinds = "wafinstances,wafiprules,waforigins,wafcacheclears";
    const seen = await cluster.expectKubectl([...waited, kinds]);
    expect(seen.match(/condition met/g)).toHaveLength(6);
    expect(shop.view.blocklist).toHaveLength(37);
    expect(shop.view.counters.cacheClears).toBe(1);
    console.log(await cluster.expectKubectl(["get", "wafsync", "-A"]));
    for (const kind of kinds.split(",")) console.log(await cluster.expectKubectl(["describe", kind, "-n", "shop"]));
    console.log(await cluster.expectKubectl(["get", "cm", "-n", "shop", "-o", "yaml"]));
    console.log(await world().operator.metrics());
    console.log(world().operator.process.printed());
  }, 90_000);

  test("a rule with 10,000 addresses is taken and synced, and its status stays small", async () => {
    const namespace = await world().newNamespace("large");
    const waf = world().newWaf();
    await world().apply(
      keySecret(namespace, waf.key),
      instance(namespace, world().simulator.baseUrl),
      rule(namespace, "large", addresses(10_000)),
    );
    await world().allReady(namespace, 120_000);
    expect(waf.view.blocklist).toHaveLength(10_000);
    const large = await world().read("WafIpRule", namespace, "large");
    expect(large?.status).toMatchObject({ progress: "10000/10000" });
    expect(JSON.stringify(large?.status).length).toBeLessThan(8 * 1024);
    expect(conditionOf(large, "Synced")).toMatchObject({ status: "True", reason: "Synced" });
  }, 180_000);

  test("once all is synced, nothing is written any more", async () => {
    expect(await world().restless()).toEqual([]);
  }, 60_000);
});
