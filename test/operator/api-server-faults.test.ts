// The operator recovers by itself from every fault of the API server: it removes no entry that is still declared, and makes no busy
// loops meanwhile.
// Long: `npm run test:deploy` runs it.
import { setTimeout as realDelay } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { definitionsDirectory, installDefinitions } from "../support/builders/cluster-objects.ts";
import { addresses, instance, origin, rule } from "../support/builders/manifests.ts";
import { slow } from "../support/processes/slowness.ts";
import { describeOperator } from "../support/worlds/operator-suite.ts";
import { callsOf, type TestWaf } from "../support/worlds/operator-world.ts";
import { startUnreliableProxy, type UnreliableProxy } from "./unreliable-proxy.ts";

await describeOperator(
  "faults of the API server",
  (world) => {
    let proxy: UnreliableProxy;
    let namespace: string;
    let waf: TestWaf;
    let removalsBefore: number;

    const removals = (): number => callsOf(waf)["DELETE /api/blocklist_ip"] ?? 0;

    beforeAll(async () => {
      proxy = await startUnreliableProxy(Number(new URL(world().cluster.url).port));
      await world().startOperator({ port: proxy.port });
      ({ namespace, waf } = await world().newInstance("faults", { guards: { window: "0s" } }));
      await world().apply(
        rule(namespace, "constant", addresses(50)),
        origin(namespace, "standby", "standby.example.com"),
      );
      await world().allReady(namespace);
    });

    beforeEach(() => {
      removalsBefore = removals();
    });

    afterAll(async () => await proxy.close());

    /** Starts with fresh backoffs, so that the faults of one test do not delay the next one. */
    async function restartOperator(): Promise<void> {
      await world().operator.end();
      await world().startOperator({ port: proxy.port });
    }

    test("an outage with edits that are compacted before it ends: no busy loop, and one new list", async () => {
      await restartOperator();
      const relists = 'wafsync_watch_relists_total{kind="wafiprules"}';
      const relistsBefore = (await world().operator.metric(relists)) ?? 0;
      await world().apply(rule(namespace, "goes", ["203.0.113.201"]), rule(namespace, "changes", ["203.0.113.202"]));
      await world().eventually("both are blocked", () => waf.view.blocklist.length === 52);
      await world().allReady(namespace);
      proxy.goDown();
      const [acceptedBefore, cpuBefore] = [proxy.accepted(), await cpuSeconds()];
      await world().remove(rule(namespace, "goes", []));
      await world().apply(rule(namespace, "changes", ["203.0.113.203"]), rule(namespace, "comes", ["203.0.113.204"]));
      await world().cluster.compactEtcd();
      await world().cluster.restartApiServer("SIGKILL");
      // Six watches, each with a backoff that starts below a second.
      expect(proxy.accepted() - acceptedBefore).toBeLessThan(60);
      expect((await cpuSeconds()) - cpuBefore).toBeLessThan(1);
      expect(waf.view.blocklist).toHaveLength(52);
      proxy.comeUp();
      await world().eventually("all three edits are seen", () => {
        const [goes, old, changed, comes] = [201, 202, 203, 204].map((last) =>
          waf.view.has("blocklist", `203.0.113.${last}`),
        );
        return goes === false && old === false && changed === true && comes === true;
      });
      expect(removals() - removalsBefore).toBe(2);
      expect((await world().operator.metric(relists)) ?? 0).toBeGreaterThan(relistsBefore);
      await world().remove(rule(namespace, "changes", []), rule(namespace, "comes", []));
      await world().eventually("only the constant ones are left", () => waf.view.blocklist.length === 50);
    });

    test("CRDs that are deleted and reinstalled: nothing is removed, and declared entries are managed again", async () => {
      await restartOperator();
      const { cluster } = world();
      const owned = await world().newInstance("owned", { deletionPolicy: "Delete" });
      await world().apply(rule(owned.namespace, "owned", ["203.0.113.1"]));
      await world().allReady(owned.namespace);
      await cluster.expectKubectl(["delete", "-k", definitionsDirectory, `--timeout=${slow(60)}s`]);
      await world().eventually(
        "it is not ready",
        async () => (await world().operator.health("/readyz")).status === 503,
      );
      await realDelay(1_000);
      expect(waf.view.blocklist).toHaveLength(50);

      await installDefinitions(cluster);
      await world().apply(
        instance(namespace, world().simulator.baseUrl),
        rule(namespace, "constant", addresses(50)),
        rule(namespace, "another", ["203.0.113.205"]),
        origin(namespace, "standby", "standby.example.com"),
        instance(owned.namespace, world().simulator.baseUrl, { deletionPolicy: "Delete" }),
        rule(owned.namespace, "owned", ["203.0.113.1"]),
      );
      await world().eventually("the new rule is blocked", () => waf.view.blocklist.length === 51, 90_000);
      await world().allReady(namespace, 90_000);
      expect((await world().read("WafInstance", namespace, "waf"))?.status).toMatchObject({
        blocklist: { live: 51, managed: 51, foreign: 0 },
      });
      await world().allReady(owned.namespace, 90_000);
      expect((await world().read("WafInstance", owned.namespace, "waf"))?.status).toMatchObject({
        blocklist: { live: 1, managed: 1, foreign: 0 },
      });
      await world().eventually("it is ready", async () => (await world().operator.health("/readyz")).status === 200);
      expect(removals()).toBe(removalsBefore);
    });

    async function cpuSeconds(): Promise<number> {
      return (await world().operator.metric("process_cpu_seconds_total")) ?? Number.NaN;
    }
  },
  { restartsApiServer: true },
);
