// The first steps of a newcomer in a cluster, from the manifests on: all objects of the examples become ready, the output of kubectl
// matches the documentation, and afterwards nothing changes.
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as realDelay } from "node:timers/promises";
import { beforeAll, expect, test } from "@jest/globals";
import { describeOperator } from "../support/worlds/operator-suite.ts";
import { addresses, instance, keySecret, rule } from "../support/builders/manifests.ts";
import { slow } from "../support/processes/slowness.ts";
import { pagesOfSuites } from "../support/pages/documented-pages.ts";
import { normalized, runPage } from "../support/worlds/documented-outputs.ts";
import { conditionOf, isAtRest } from "../support/worlds/operator-world.ts";
import type { TestWaf } from "../support/worlds/operator-world.ts";

const [page] = pagesOfSuites["test/operator/quick-start.test.ts"];
const statusPage = join(import.meta.dirname, "../..", page);
const examples = join(import.meta.dirname, "../../examples/cluster");

await describeOperator("the quick start", (world) => {
  let shop: TestWaf;

  beforeAll(async () => {
    await world().startOperator({ parameters: ["--leader-elect", "--lease-namespace", "wafsync-system"] });
  });

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
    // The first run waits for the WAF until all objects exist, so that one event summarizes everything.
    simulator.settings.latencyMs = slow(1_000);
    await cluster.expectKubectl(["apply", "-f", "-"], { input });
    simulator.settings.latencyMs = 0;
    const waited = ["wait", "--for=condition=Ready", `--timeout=${slow(60)}s`, "--all", "-n", "shop"];
    const kinds = "wafinstances,wafiprules,waforigins,wafcacheclears";
    const seen = await cluster.expectKubectl([...waited, kinds]);
    expect(seen.match(/condition met/g)).toHaveLength(6);
    expect(shop.view.blocklist).toHaveLength(37);
    expect(shop.view.counters.cacheClears).toBe(1);
  });

  test("the output of kubectl matches the documentation", async () => {
    const { cluster, simulator } = world();
    const commands = await runPage(statusPage, {
      apply: async (yaml) => {
        await cluster.expectKubectl(["apply", "--server-side", "--force-conflicts", "-f", "-"], { input: yaml });
        // Long enough for the operator to see the change; then until it has handled it.
        await realDelay(slow(1_000));
        const isSettled = async (): Promise<boolean> => (await world().objects("shop")).every(isAtRest);
        await world().eventually("all is settled", isSettled);
      },
      run: async (parameters) => {
        const printed = await cluster.expectKubectl(parameters);
        return printed.replaceAll(simulator.baseUrl, "http://127.0.0.1:8080");
      },
    });
    expect(commands.length).toBeGreaterThan(8);
    expect(commands.map(({ command, printed }) => normalized(command, printed))).toStrictEqual(
      commands.map(({ command, shown }) => normalized(command, shown)),
    );
  });

  test("the figures of the first run are in the metrics, and every series exists", async () => {
    const { operator } = world();
    const calls =
      'wafsync_waf_requests_total{waf_instance="shop/shop",method="POST",endpoint="/api/blocklist_ip",code="200"}';
    expect(await operator.metric(calls)).toBe(38);
    expect(await operator.metric('wafsync_entries_added_total{waf_instance="shop/shop",list="blocklist"}')).toBe(38);
    expect(await operator.metric('wafsync_held_removals{waf_instance="shop/shop",list="blocklist"}')).toBe(32);
    expect(await operator.metric('leader_election_master_status{name="wafsync-operator"}')).toBe(1);
    expect(await operator.metric('workqueue_depth{name="instances"}')).toBe(0);
    expect((await operator.health("/healthz")).status).toBe(200);
    expect((await operator.health("/readyz")).status).toBe(200);
  });

  test("the command in the message approves the removals on hold", async () => {
    const { cluster } = world();
    const held = conditionOf(await world().read("WafInstance", "shop", "shop"), "RemovalsHeld")?.message ?? "";
    const [, command = ""] = held.split("kubectl ");
    await cluster.expectKubectl(command.split(" "));
    await world().eventually("they are done", () => shop.view.blocklist.length === 6);
    await world().remove(rule("shop", "partner", []));
    await world().eventually("the deleted rule's entry is gone", () => shop.view.blocklist.length === 5);
    await world().allReady("shop");
    expect(shop.view.blocklist.sort()).toStrictEqual([
      "192.0.2.17",
      "192.0.2.64/29",
      "198.51.100.5",
      "198.51.100.9",
      "2001:db8:bad::/48",
    ]);
  });

  test("a rule with 10,000 addresses is accepted and synced, and its status stays small", async () => {
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
  });
});
