// Two replicas with leader election: one works, and the other waits with warm caches. However the first one ends, the second one
// continues, and they never both call the WAF.
// Long: `npm run test:deploy` runs it.
import { setTimeout as realDelay } from "node:timers/promises";
import { expect, test } from "@jest/globals";
import { addresses, rule } from "../support/builders/manifests.ts";
import type { OperatorProcess } from "../support/processes/operator-process.ts";
import { fast, slow, within } from "../support/processes/slowness.ts";
import { describeOperator } from "../support/worlds/operator-suite.ts";
import { callsOf, type TestWaf } from "../support/worlds/operator-world.ts";
import { startUnreliableProxy } from "./unreliable-proxy.ts";

/** A Lease of thirty seconds ends after six. */
const haste = fast(5);
const replica = { haste, parameters: ["--leader-elect", "--lease-namespace", "wafsync-system"] };
/** The Lease, and the time for calls that a dead leader may still have had in flight. */
const takeoverMsMin = 40_000 / haste;
/** Includes the intervals between two checks. */
const takeoverMsMax = 55_000;

await describeOperator("two replicas", (world) => {
  let first: OperatorProcess;
  let second: OperatorProcess;
  let namespace: string;
  let waf: TestWaf;

  async function leads(operator: OperatorProcess): Promise<boolean> {
    return (await operator.metric('leader_election_master_status{name="wafsync-operator"}')) === 1;
  }

  /** When the leader started its last renewal of the Lease. */
  async function lastRenewalMs(): Promise<number> {
    const path = "/apis/coordination.k8s.io/v1/namespaces/wafsync-system/leases/wafsync-operator";
    const { spec } = (await world().requests.expect({ path })) as { readonly spec: { readonly renewTime: string } };
    return Date.parse(spec.renewTime);
  }

  test("one works, and the other one is ready and idle", async () => {
    first = await world().startOperator({ ...replica, podName: "wafsync-0" });
    await world().eventually("the first one leads", async () => await leads(first));
    second = await world().startOperator({ ...replica, podName: "wafsync-1" });
    ({ namespace, waf } = await world().newInstance("replicas"));
    await world().apply(rule(namespace, "first", addresses(20)));
    await world().allReady(namespace);
    expect([await leads(first), await leads(second)]).toStrictEqual([true, false]);
    expect((await second.health("/readyz")).status).toBe(200);
    expect(second.log().filter(({ msg }) => msg === "reconcile finished")).toStrictEqual([]);
  });

  test("a leader that is asked to stop releases the Lease, and the other replica continues immediately", async () => {
    await within(15_000, async () => {
      const { code } = await first.end("SIGTERM");
      expect(code).toBe(0);
      await world().apply(rule(namespace, "second", ["203.0.113.1"]));
      await world().eventually("the other one has blocked it", () => waf.view.has("blocklist", "203.0.113.1"));
    });
    expect(await leads(second)).toBe(true);
    await world().allReady(namespace);
  });

  test("a leader that is killed in the middle of its work is replaced within the Lease, and nothing is done twice", async () => {
    first = await world().startOperator({ ...replica, podName: "wafsync-2" });
    const { settings } = world().simulator;
    settings.latencyMs = 20;
    await world().apply(rule(namespace, "long", addresses(500, 1_000)));
    await world().eventually("the work is under way", () => waf.view.blocklist.length > 100);
    await second.end("SIGKILL");
    settings.latencyMs = 0;
    const renewedMs = await lastRenewalMs();
    // The call in flight may still arrive.
    await realDelay(slow(200));
    const { requests } = waf.view.counters;
    expect(requests).toBeLessThan(500);
    await world().eventually("the other one continues", () => waf.view.counters.requests > requests, takeoverMsMax);
    expect(Date.now() - renewedMs).toBeGreaterThan(takeoverMsMin);
    await world().allReady(namespace);
    expect(waf.view.blocklist).toHaveLength(521);
    expect(callsOf(waf)["POST /api/blocklist_ip"]).toBeLessThanOrEqual(522);
    expect(callsOf(waf)["DELETE /api/blocklist_ip"]).toBeUndefined();
  });

  test("a leader that loses the connection to the API server stops writing and ends before another replica may start", async () => {
    await first.end("SIGTERM");
    const proxy = await startUnreliableProxy(Number(new URL(world().cluster.url).port));
    try {
      const cutOff = await world().startOperator({ ...replica, port: proxy.port });
      const { settings } = world().simulator;
      settings.latencyMs = 20;
      await world().apply(rule(namespace, "longer", addresses(1_000, 2_000)));
      await world().eventually("it works", () => waf.view.blocklist.length > 550);
      const other = await world().startOperator({ ...replica, podName: "wafsync-4" });
      proxy.fallSilent();
      const { code } = await cutOff.process.ended;
      expect(code).toBe(1);
      const { requests } = waf.view.counters;
      await realDelay(500);
      expect(waf.view.counters.requests).toBe(requests);
      settings.latencyMs = 0;
      await world().eventually("the other one continues", () => waf.view.blocklist.length === 1_521);
      expect(other.log().filter(({ msg }) => msg === "leading")).toHaveLength(1);
      await world().allReady(namespace);
    } finally {
      await proxy.close();
    }
  });
});
