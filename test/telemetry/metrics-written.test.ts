// Every metric needs a series before anything happens, and code that writes it.
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { describeMetrics } from "../../scripts/generate-tables.ts";
import { createMetrics } from "../../src/telemetry/metrics.ts";
import { readSourceTree } from "../support/tidy/source-tree.ts";

/** The labels of this metric come from the WAF, so its series are not known in advance. */
const unforeseeable = ["wafsync_blocked_requests_total"];

test("Every metric of wafsync has a series from the start, unless its labels come from outside", async () => {
  const metrics = createMetrics({ version: "0.1.0", withProcess: false });
  metrics.addInstance("edge/shop");
  metrics.feeds.seen({ namespace: "edge", name: "threats" }, { entries: 0, confirmedAtMs: undefined, isStale: false });
  metrics.autoBlocksSeen("edge/shop", new Map([["edge/attackers", { listed: 0, leftOut: 0, rows: 0 }]]));
  metrics.leading("wafsync-operator", true);
  metrics.controller("instances", () => ({ depth: 0, longestRunningMs: 0, unfinishedMs: 0 }));
  metrics.watches(() => [{ plural: "wafiprules", isSynced: true, relists: 0 }]);
  const text = await metrics.text();
  const own = describeMetrics()
    .map(({ name }) => name)
    .filter((name) => name.startsWith("wafsync_"));
  const absent = own.filter((name) => !new RegExp(`^${name}(?:_count)?[ {]`, "m").test(text));
  expect(absent).toStrictEqual(unforeseeable);
});

test("Every metric is written somewhere outside src/telemetry", async () => {
  const files = await readSourceTree(join(import.meta.dirname, "../.."), "src");
  const code = files.flatMap(({ path, code: text }) => (path.startsWith("src/telemetry/") ? [] : text)).join("\n");
  const { waf, ...metrics } = createMetrics({ version: "1.2.3", withProcess: false });
  const writers = [...Object.keys(metrics), ...Object.keys(waf).map((name) => `waf.${name}`)];
  expect(writers.length).toBeGreaterThan(20);
  expect(writers.filter((name) => !new RegExp(`\\b${name}\\b`).test(code))).toStrictEqual([]);
});
