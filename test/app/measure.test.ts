// The metrics of an outcome match the status of the instance, and are derived without reading that status.
import { expect, test } from "@jest/globals";
import { measuredRun, measureOutcome } from "../../src/app/measure.ts";
import type { Plan } from "../../src/decide/plan.ts";
import type { Operation } from "../../src/model/operation.ts";
import type { ReportedStatus } from "../../src/app/reported-status.ts";
import type { ReconcileOutcome } from "../../src/run/report.ts";
import { createMetrics } from "../../src/telemetry/metrics.ts";
import { aRule, anInstance, instanceName } from "../support/builders/declare.ts";
import { ConvergeWorld } from "../support/worlds/converge-world.ts";

const rule = aRule("scanners", { addresses: ["198.51.100.1"] });
const fault = { code: "Unavailable", message: "The API is down.", status: 503 } as const;

const situations: readonly [string, (world: ConvergeWorld) => void][] = [
  ["is synced", () => undefined],
  ["observes only", (world) => world.declare({ instance: anInstance({ policies: { blocklist: "Observe" } }) })],
  ["is suspended", (world) => world.declare({ instance: anInstance({ suspend: true }) })],
  ["has a refused entry", (world) => void world.waf.refusedTexts.add("198.51.100.1")],
  ["cannot reach its WAF", (world) => world.waf.failOn({ on: "Any", times: 9, effect: "Before", fault })],
  ["has no key", (world) => world.declare({ key: { state: "Missing", problem: "There is no Secret." } })],
  ["has an unreadable inventory", (world) => world.inventory.makeUnreadable("It is damaged.")],
  ["shares its key with an older one", (world) => world.declare({ sameKey: [older] })],
];
const older = { ...anInstance({ name: "edge/older" }).meta, createdAtMs: 0 };

async function readyMetric(outcome: ReconcileOutcome): Promise<boolean> {
  const metrics = createMetrics({ version: "1", withProcess: false });
  const world = new ConvergeWorld();
  measureOutcome(metrics, world.clock, instanceName, outcome);
  return (await metrics.text()).includes('wafsync_instance_ready{waf_instance="edge/shop"} 1');
}

test.each(situations)("an instance that %s is measured as ready exactly if its status says so", async (_, arrange) => {
  const world = new ConvergeWorld({ declared: { rules: [rule] } });
  arrange(world);
  const outcome = await world.pass();
  const isReady = world.status.conditionOf(world.instance, "Ready")?.status === "True";
  expect(await readyMetric(outcome)).toBe(isReady);
});

test("a status that another writer has changed does not affect the metrics", async () => {
  const world = new ConvergeWorld({ declared: { rules: [rule] } });
  const outcome = await world.pass();
  world.status.forget(world.instance);
  expect(await readyMetric(outcome)).toBe(true);
});

test("lists, plans and writes show the latest figures", async () => {
  const world = new ConvergeWorld({ declared: { rules: [rule] } });
  const metrics = createMetrics({ version: "1", withProcess: false });
  measureOutcome(metrics, world.clock, instanceName, await world.pass());
  const status = world.status as unknown as ReportedStatus;
  const { observer } = measuredRun({ status, observer: {}, logObserver: {} }, metrics);
  const operations = ["AddEntry", "AddEntry", "RemoveOrigin"].map((kind) => ({ kind }));
  observer.planned?.(instanceName, { operations } as unknown as Plan, "shop.example");
  observer.operationDone?.(instanceName, { kind: "AddEntry", list: "blocklist" } as Operation, 1);
  observer.operationDone?.(instanceName, { kind: "RemoveEntry", list: "allowlist" } as Operation, 0);
  observer.clearTried?.(instanceName, "WafCacheClear", false);
  observer.clearTried?.(instanceName, "Rollout", true);
  observer.orphaned?.(instanceName, 7);
  const lines = (await metrics.text()).split("\n");
  for (const line of [
    'wafsync_list_entries{waf_instance="edge/shop",list="blocklist",state="live"} 1',
    'wafsync_list_entries{waf_instance="edge/shop",list="blocklist",state="managed"} 1',
    'wafsync_held_removals{waf_instance="edge/shop",list="blocklist"} 0',
    'wafsync_contested_entries{waf_instance="edge/shop",list="blocklist"} 0',
    'wafsync_plan_operations{waf_instance="edge/shop",kind="AddEntry"} 2',
    'wafsync_plan_operations{waf_instance="edge/shop",kind="RemoveEntry"} 0',
    'wafsync_entries_added_total{waf_instance="edge/shop",list="blocklist"} 1',
    'wafsync_entries_removed_total{waf_instance="edge/shop",list="allowlist"} 1',
    'wafsync_cache_clears_total{waf_instance="edge/shop",cause="WafCacheClear",result="Failed"} 1',
    'wafsync_cache_clears_total{waf_instance="edge/shop",cause="Rollout",result="Cleared"} 1',
    'wafsync_instance_ready{waf_instance="edge/shop"} 1',
    `wafsync_last_sync_timestamp_seconds{waf_instance="edge/shop"} ${world.clock.nowMs() / 1000}`,
    "wafsync_orphaned_entries_total 7",
  ]) {
    expect(lines).toContain(line);
  }
});
