// The alerts by promtool, and every query of the dashboard and of the alerts in a real Prometheus that reads what the
// operator serves, and what `wafsync run` does.
// Long: `npm run test:deploy` runs it.
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { realClock } from "../../../src/async/clock.ts";
import { createMetrics, type Metrics } from "../../../src/telemetry/metrics.ts";
import { waitFor } from "../../support/builders/cluster-objects.ts";
import { addresses } from "../../support/builders/declare.ts";
import { findFreePorts } from "../../support/control-plane/free-ports.ts";
import { startWafsync } from "../../support/processes/wafsync-process.ts";
import { scratchDirectory } from "../../support/worlds/scratch-directory.ts";
import { instanceDocument, ruleDocument, wafFolder } from "../../support/worlds/waf-folder.ts";
import { alertRules, dashboardQueries } from "../deploy-files.ts";
import { describeWithTools, runTool } from "./tools-suite.ts";

interface RunningPrometheus {
  /** The current values of a query; rejects with the error message if it fails. */
  query(expression: string): Promise<readonly { readonly metric: Readonly<Record<string, string>> }[]>;
  end(): Promise<void>;
}

const readyMs = 60_000;

async function startPrometheus(file: string, target: string, ruleFiles: readonly string[]): Promise<RunningPrometheus> {
  const folder = await mkdtemp(join(tmpdir(), "wafsync-prometheus-"));
  const [port = 0] = await findFreePorts(1);
  const settings = {
    global: { scrape_interval: "1s", evaluation_interval: "1s" },
    rule_files: ruleFiles,
    scrape_configs: [{ job_name: "wafsync", static_configs: [{ targets: [target] }] }],
  };
  const settingsFile = join(folder, "prometheus.yml");
  await writeFile(settingsFile, JSON.stringify(settings));
  const flags = [
    `--config.file=${settingsFile}`,
    `--storage.tsdb.path=${join(folder, "data")}`,
    `--web.listen-address=127.0.0.1:${port}`,
    "--log.level=error",
  ];
  const child = spawn(file, flags, { cwd: folder, stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
  const ended = new Promise<void>((resolve) => {
    child.once("error", () => resolve());
    child.once("close", () => resolve());
  });
  const end = async (): Promise<void> => {
    child.kill("SIGKILL");
    await ended;
    await rm(folder, { recursive: true, force: true });
  };
  const base = `http://127.0.0.1:${port}`;
  await waitFor("Prometheus", readyMs, async () => {
    const ready = await fetch(`${base}/-/ready`).catch(() => undefined);
    return ready?.ok === true ? true : undefined;
  }).catch(async (error: unknown) => {
    await end();
    throw new Error(`${String(error)}: ${said}`);
  });
  return {
    async query(expression) {
      const response = await fetch(`${base}/api/v1/query?query=${encodeURIComponent(expression)}`);
      const { data, error } = (await response.json()) as { data?: { result: [] }; error?: string };
      if (data === undefined) throw new Error(`${expression}: ${error}`);
      return data.result;
    },
    end,
  };
}

const folder = join(import.meta.dirname, "..", "..", "..", "deploy", "monitoring");
const rulesFile = join(folder, "alerts.yaml");
const startMs = 120_000;

/** It has no series before a request was blocked. */
const emptyAtFirst = /wafsync_blocked_requests_total/;

/** What a leader with one instance measures; each look finds a little more. */
function busyMetrics(): { readonly metrics: Metrics; readonly work: () => void } {
  const metrics = createMetrics({ version: "0.1.0", withProcess: true });
  const instance = "edge/shop";
  metrics.addInstance(instance);
  metrics.unattached(new Map([["WafIpRule InstanceNotFound", 1]]));
  metrics.leading("wafsync-operator", true);
  metrics.watches(() => [{ plural: "wafiprules", isSynced: true, relists: 0 }]);
  const controller = metrics.controller("instances", () => ({ depth: 1, longestRunningMs: 5, unfinishedMs: 5 }));
  return {
    metrics,
    work() {
      const call = { method: "GET", endpoint: "/api/blocklist_ips", durationMs: 12 };
      metrics.wafCalled(instance, { ...call, status: 200, faultCode: undefined });
      metrics.wafCalled(instance, { ...call, status: undefined, faultCode: "TimedOut" });
      metrics.waf.entries.set(instance, 12, { list: "blocklist", state: "live" });
      metrics.waf.held.set(instance, 2, { list: "blocklist" });
      metrics.waf.plan.set(instance, 1, { kind: "AddEntry" });
      metrics.waf.added.inc(instance, { list: "blocklist" });
      metrics.waf.lastSync.set(instance, realClock.nowMs() / 1000 - 5);
      metrics.feeds.seen(
        { namespace: "edge", name: "ipsum" },
        { entries: 7, confirmedAtMs: realClock.nowMs() - 5000, isStale: false },
      );
      metrics.autoBlocksSeen(instance, new Map([["edge/attackers", { listed: 3, leftOut: 1, rows: 120 }]]));
      metrics.feeds.fetched({ namespace: "edge", name: "ipsum" }, "Fetched");
      metrics.feeds.fetched({ namespace: "edge", name: "ipsum" }, "Unavailable");
      controller.ended("success", 7);
      controller.added();
      controller.waited(3);
      controller.worked(7);
    },
  };
}

await describeWithTools("the monitoring", ({ files }) => {
  let server: Server;
  let prometheus: RunningPrometheus;

  beforeAll(async () => {
    const { metrics, work } = busyMetrics();
    server = createServer((_, answer) => {
      work();
      void metrics.text().then((text) => answer.setHeader("content-type", metrics.contentType).end(text));
    });
    const listening = Promise.withResolvers<void>();
    server.listen(0, "127.0.0.1", () => listening.resolve());
    await listening.promise;
    const target = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    prometheus = await startPrometheus(files.prometheus, target, [rulesFile]);
  });
  afterAll(async () => {
    await prometheus.end();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  test("promtool accepts the rules, and each alert fires when it should and not before", async () => {
    const checked = await runTool(files.promtool, ["check", "rules", "--lint=all", "--lint-fatal", rulesFile]);
    expect(checked.stdout).toContain("SUCCESS");
    await runTool(files.promtool, ["test", "rules", join(folder, "alerts.test.yaml")]);
  });

  test("promtool finds no fault with the names, types and help of the metrics", async () => {
    const { metrics, work } = busyMetrics();
    work();
    const text = await metrics.text();
    // The runtime's own metrics come from prom-client, which has its own habits.
    const own = text.split(/^(?=# HELP )/m).filter((part) => !/^# HELP (?:nodejs|process)_/.test(part));
    const checked = await runTool(files.promtool, ["check", "metrics"], { input: own.join("") });
    expect(checked.stderr + checked.stdout).toBe("");
  });

  test("the alerts fire for a folder by what run exposes, and promtool accepts its file", async () => {
    await using world = await wafFolder();
    await using collected = await scratchDirectory({});
    const metricsFile = join(collected.path, "wafsync.prom");
    await world.files.write("rule.yaml", ruleDocument("rule", { addresses: addresses(60) }));
    expect(await world.run("apply")).toMatchObject({ code: 0 });
    await world.files.write("rule.yaml", ruleDocument("rule", { addresses: addresses(1) }));
    await world.files.write(
      "refused.yaml",
      `${instanceDocument(world.simulator.baseUrl, { name: "refused" }).replace("waf-key", "other-key")}---
apiVersion: v1
kind: Secret
metadata: {name: other-key, namespace: shop}
stringData: {apiKey: unknown-key-0123456789}
${ruleDocument("lost", { addresses: ["198.51.100.1"] }).replace("name: main", "name: mian")}`,
    );
    const shown = ["--metrics-address", "127.0.0.1:0", "--metrics-file", metricsFile];
    const running = startWafsync(["run", ...world.from, ...shown]);
    await running.hasPrinted(/metrics are at \S+/);
    const target = /metrics are at http:\/\/(\S+)\/metrics/.exec(running.printed())?.[1] ?? "";
    const ofFolder = await startPrometheus(files.prometheus, target, []);
    try {
      const rules = await alertRules();
      const fires = async (name: string): Promise<boolean> =>
        (await ofFolder.query(rules.find(({ alert }) => alert === name)?.expr ?? "")).length > 0;
      const expected = ["InstanceNotReady", "ApiKeyRefused", "RemovalsHeld", "ObjectsUnattached"];
      for (const alert of expected.map((name) => `Wafsync${name}`))
        await waitFor(alert, startMs / 2, async () => ((await fires(alert)) ? true : undefined));
      const others = ["NoLeader", "SeveralLeaders", "ObjectsNotReady", "WatchNotSynced", "WorkStuck", "Contested"];
      for (const alert of others.map((name) => `Wafsync${name}`))
        expect([alert, await fires(alert)]).toStrictEqual([alert, false]);
      await world.files.write("broken.yaml", "kind: [");
      await waitFor("a broken file", startMs / 2, async () =>
        (await fires("WafsyncWatchNotSynced")) ? true : undefined,
      );
      const checked = await runTool(files.promtool, ["check", "metrics"], {
        input: await readFile(metricsFile, "utf8"),
      });
      expect(checked.stderr + checked.stdout).toBe("");
      running.child.kill("SIGTERM");
      await waitFor("its end", startMs / 2, async () => ((await fires("WafsyncNoLeader")) ? true : undefined));
    } finally {
      running.child.kill("SIGKILL");
      await ofFolder.end();
      await running.ended;
    }
  });

  test("every query of the dashboard returns data", async () => {
    const queries = (await dashboardQueries()).map((query) =>
      query.replaceAll("$__rate_interval", "10s").replaceAll("$waf_instance", ".*"),
    );
    expect(queries.length).toBeGreaterThan(30);
    for (const query of queries) {
      const isAnswered = async (): Promise<true | undefined> =>
        (await prometheus.query(query)).length > 0 || emptyAtFirst.test(query) ? true : undefined;
      await waitFor(query, startMs / 2, isAnswered);
    }
  });
});
