import { describe, expect, test } from "@jest/globals";
import { Registry } from "prom-client";
import type { EventDropReason } from "../../src/kube/event-recorder.ts";
import { createMetrics, fetchResults } from "../../src/telemetry/metrics.ts";
import { InstanceSeries, instancesMax } from "../../src/telemetry/metrics-instances.ts";
import { eventDropReasons } from "../../src/telemetry/metrics-runtime.ts";
import { measuredCalls } from "../../src/telemetry/metrics-waf.ts";

const make = () => createMetrics({ version: "1.2.3", withProcess: false });
const call = { method: "POST", endpoint: "/api/blocklist_ip", status: 200, faultCode: undefined, durationMs: 20 };

/** The lines of one metric, without comments. */
function linesOf(text: string, name: string): string[] {
  return text.split("\n").filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
}

async function expectLines(metrics: ReturnType<typeof make>, lines: readonly string[]): Promise<void> {
  expect((await metrics.text()).split("\n")).toStrictEqual(expect.arrayContaining([...lines]));
}

describe("from the start", () => {
  test("every metric has a help text, and the series with known labels exist at zero", async () => {
    const metrics = make();
    metrics.controller("instances", () => ({ depth: 0, longestRunningMs: 0, unfinishedMs: 0 }));
    metrics.leading("wafsync", false);
    metrics.addInstance("edge/shop");
    await expectLines(metrics, [
      'wafsync_waf_requests_total{waf_instance="edge/shop",method="GET",endpoint="/api/blocklist_ips",code="200"} 0',
      'wafsync_waf_request_duration_seconds_count{method="POST",endpoint="/clear/{api_key}"} 0',
      'wafsync_list_entries{waf_instance="edge/shop",list="allowlist",state="foreign"} 0',
      'wafsync_cache_clears_total{waf_instance="edge/shop",cause="Rollout",result="Failed"} 0',
      'wafsync_log_rows_forwarded_total{waf_instance="edge/shop",output="OTLP"} 0',
      'wafsync_log_forwarding_failures_total{waf_instance="edge/shop",reason="TooLarge"} 0',
      'wafsync_reconcile_total{controller="instances",result="requeue"} 0',
      'wafsync_reconcile_duration_seconds_count{controller="instances",result="interrupted"} 0',
      'wafsync_events_dropped_total{reason="QueueFull"} 0',
      'leader_election_master_status{name="wafsync"} 0',
      'workqueue_depth{name="instances"} 0',
      'workqueue_adds_total{name="instances"} 0',
      'workqueue_retries_total{name="instances"} 0',
      'workqueue_queue_duration_seconds_count{name="instances"} 0',
      'workqueue_work_duration_seconds_count{name="instances"} 0',
      'workqueue_unfinished_work_seconds{name="instances"} 0',
      'workqueue_longest_running_processor_seconds{name="instances"} 0',
      `wafsync_build_info{version="1.2.3",node_version="${process.version}"} 1`,
    ]);
    const lines = (await metrics.text()).split("\n");
    expect(lines.filter((line) => line.startsWith("# HELP")).every((line) => line.split(" ").length > 4)).toBe(true);
    expect(metrics.contentType).toContain("text/plain");
  });

  test("every reason for which the recorder drops an event has its series", async () => {
    const metrics = make();
    const onDropped = (reason: EventDropReason): void => metrics.eventDropped(reason);
    const reasons: readonly EventDropReason[] = eventDropReasons;
    for (const reason of reasons) onDropped(reason);
    expect(linesOf(await metrics.text(), "wafsync_events_dropped_total")).toHaveLength(reasons.length);
  });
});

describe("instances", () => {
  test("calls are counted by endpoint and code, and codes are a limited set", async () => {
    const metrics = make();
    metrics.addInstance("edge/shop");
    metrics.wafCalled("edge/shop", call);
    for (let status = 400; status < 600; status += 1) metrics.wafCalled("edge/shop", { ...call, status });
    metrics.wafCalled("edge/shop", { ...call, status: undefined, faultCode: "TimedOut" });
    metrics.wafCalled("edge/shop", { ...call, endpoint: "/surprise/secret-key" });
    const text = await metrics.text();
    const lines = linesOf(text, "wafsync_waf_requests_total").filter((line) => line.includes('method="POST"'));
    const ofPost = lines.filter((line) => line.includes("blocklist_ip"));
    expect(ofPost).toHaveLength(12);
    expect(ofPost.join("\n")).toContain('code="TimedOut"} 1');
    expect(ofPost.join("\n")).toContain('code="4xx"} 96');
    expect(text).toContain('method="other",endpoint="other",code="200"} 1');
    expect(text).not.toContain("secret-key");
    expect(text).toContain(
      'wafsync_waf_request_duration_seconds_count{method="POST",endpoint="/api/blocklist_ip"} 202',
    );
  });

  test("an instance has a limited number of series, whatever its WAF responds", async () => {
    const metrics = make();
    metrics.addInstance("edge/shop");
    const seriesOf = async (): Promise<string[]> =>
      (await metrics.text()).split("\n").filter((line) => line.includes('waf_instance="edge/shop"'));
    const fromStart = (await seriesOf()).length;
    expect(fromStart).toBeLessThanOrEqual(60);
    for (const { method, endpoint } of [...measuredCalls, { method: "PATCH", endpoint: "/api/odd" }]) {
      for (let status = 100; status < 1000; status += 1)
        metrics.wafCalled("edge/shop", { ...call, method, endpoint, status });
      for (const faultCode of ["TimedOut", "Unavailable", "Aborted", "OutcomeUnknown", "ContractBroken"] as const) {
        metrics.wafCalled("edge/shop", { ...call, method, endpoint, status: undefined, faultCode });
      }
    }
    expect((await seriesOf()).length).toBeLessThanOrEqual(fromStart + 350);
    metrics.forgetInstance("edge/shop");
    expect(await seriesOf()).toStrictEqual([]);
  });

  test("a limited number of instances has metrics, and when one of them is deleted, another one gets them", async () => {
    const registry = new Registry();
    const series = new InstanceSeries(registry);
    const ready = series.gauge("ready", "Ready.");
    for (let index = 0; index < instancesMax + 10; index += 1) series.add(`edge/shop-${index}`);
    const late = `edge/shop-${instancesMax}`;
    ready.set(late, 1);
    const before = linesOf(await registry.metrics(), "ready");
    expect(before).toHaveLength(instancesMax);
    expect(before).toContain('ready{waf_instance="edge/shop-0"} 0');
    expect(before.filter((line) => line.includes(`"${late}"`))).toStrictEqual([]);
    series.forget("edge/shop-0");
    series.add(late);
    ready.set(late, 1);
    expect(linesOf(await registry.metrics(), "ready")).toContain(`ready{waf_instance="${late}"} 1`);
  });

  test("a deleted instance leaves no series, and late figures do not create them again", async () => {
    const metrics = make();
    metrics.addInstance("edge/stays");
    const before = await metrics.text();
    metrics.addInstance("edge/goes");
    metrics.wafCalled("edge/goes", { ...call, status: 429 });
    metrics.waf.contested.set("edge/goes", 1, { list: "blocklist" });
    metrics.forgetInstance("edge/goes");
    metrics.forgetInstance("edge/goes");
    metrics.waf.added.inc("edge/goes", { list: "blocklist" });
    const after = await metrics.text();
    expect(after).not.toContain("edge/goes");
    expect(after.split("\n").length).toBe(before.split("\n").length);
  });
});

test("feeds show their entries and the results of fetches, and a deleted feed leaves no series", async () => {
  const metrics = make();
  const before = await metrics.text();
  metrics.feeds.seen({ namespace: "edge", name: "threats" }, { entries: 0, confirmedAtMs: undefined, isStale: false });
  const results = linesOf(await metrics.text(), "wafsync_feed_fetches_total");
  expect(results.map((line) => line.split(" ")[1])).toStrictEqual(fetchResults.map(() => "0"));
  metrics.feeds.fetched({ namespace: "edge", name: "threats" }, "ContentOnHold");
  metrics.feeds.seen({ namespace: "edge", name: "threats" }, { entries: 40, confirmedAtMs: 1_500, isStale: true });
  await expectLines(metrics, [
    'wafsync_feed_entries{waf_feed="edge/threats"} 40',
    'wafsync_feed_last_good_timestamp_seconds{waf_feed="edge/threats"} 1.5',
    'wafsync_feed_stale{waf_feed="edge/threats"} 1',
    'wafsync_feed_fetches_total{waf_feed="edge/threats",result="ContentOnHold"} 1',
  ]);
  metrics.feeds.forgotten({ namespace: "edge", name: "threats" });
  expect(await metrics.text()).toBe(before);
});

test("automatic blocks show how many clients they list, and a deleted one leaves no series", async () => {
  const metrics = make();
  const before = await metrics.text();
  metrics.autoBlocksSeen("edge/shop", new Map([["edge/attackers", { listed: 3, leftOut: 1, rows: 400 }]]));
  await expectLines(metrics, [
    'wafsync_auto_block_clients{waf_auto_block="edge/attackers"} 3',
    'wafsync_auto_block_left_out{waf_auto_block="edge/attackers"} 1',
    'wafsync_auto_block_matched_rows{waf_auto_block="edge/attackers"} 400',
  ]);
  metrics.autoBlocksSeen("edge/shop", new Map());
  expect(await metrics.text()).toBe(before);
});
