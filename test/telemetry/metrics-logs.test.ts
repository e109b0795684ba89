import { expect, test } from "@jest/globals";
import { createMetrics } from "../../src/telemetry/metrics.ts";
import { countriesMax, reasonsMax } from "../../src/telemetry/metrics-waf.ts";

const name = "wafsync_blocked_requests_total";

async function seriesOf(metrics: ReturnType<typeof createMetrics>): Promise<string[]> {
  return (await metrics.text()).split("\n").filter((line) => line.startsWith(`${name}{`));
}

test("blocked requests are counted by the label of their reason, and by country", async () => {
  const metrics = createMetrics({ version: "1.2.3", withProcess: false });
  metrics.addInstance("edge/shop");
  const reasons = ["SQL Injection", "SQL Injection", "NONE", "", "1234", "x".repeat(500), "a\u001b[31m\ud800"];
  const rows = reasons.map((label): [string, string | null] => [label, "NL"]);
  rows.push(["SQL Injection", null], ["SQL Injection", 'N"\n']);
  metrics.logsForwarded("edge/shop", rows, "Stdout");
  expect((await seriesOf(metrics)).sort()).toStrictEqual([
    `${name}{waf_instance="edge/shop",reason="NONE",country="NL"} 1`,
    `${name}{waf_instance="edge/shop",reason="SQL Injection",country="NL"} 2`,
    `${name}{waf_instance="edge/shop",reason="SQL Injection",country="other"} 2`,
    `${name}{waf_instance="edge/shop",reason="other",country="NL"} 4`,
  ]);
});

test("an instance has a limited number of series, however many reasons and countries there are, and counts every request", async () => {
  const metrics = createMetrics({ version: "1.2.3", withProcess: false });
  metrics.addInstance("edge/shop");
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ".split("");
  const entries = letters.flatMap((a) => letters.map((b) => [`Reason ${a}${b}`, `${b}${a}`] as const));
  metrics.logsForwarded("edge/shop", entries, "OTLP");
  const series = await seriesOf(metrics);
  expect(series.length).toBeLessThanOrEqual((reasonsMax + 1) * (countriesMax + 1));
  expect(series.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0)).toBe(entries.length);
  metrics.forgetInstance("edge/shop");
  expect(await seriesOf(metrics)).toStrictEqual([]);
});
