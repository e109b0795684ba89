// One operator with many WAFs on a real API server: how long until all is synced, what it costs then, and how soon a change
// arrives. API server, simulator and operator share the machine.
import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import type { ClusterAccess } from "../test/support/control-plane/cluster-access.ts";
import { findControlPlane } from "../test/support/control-plane/find.ts";
import { startControlPlane } from "../test/support/control-plane/start.ts";
import type { Bench, BenchOutcome } from "./bench.ts";
import { inSeconds } from "./bench.ts";
import { startServer } from "./server-process.ts";

const root = join(import.meta.dirname, "..");
const instancesCount = 200;
const rulesPerInstance = 5;
const addressesPerRule = 10;
const latencyMs = 5;
const atOnce = 8;
const idleMs = 20_000;
const syncMsMax = 600_000;
const pollMs = 250;
const apiPath = "/apis/wafsync.dev/v1alpha1";
const namespace = "bench";

interface Operator extends AsyncDisposable {
  readonly startedMs: number;
  metric(name: string): Promise<number>;
}

async function measure(): Promise<BenchOutcome> {
  const found = await findControlPlane({ controllerManager: true });
  if (found.state === "Missing") return { state: "Skipped", problem: found.problem };
  const cluster = await startControlPlane({ programs: found.programs, controllerManager: true });
  try {
    await using server = await startServer(keys(), latencyMs);
    await declare(cluster, server.baseUrl);
    await using operator = await startOperator(cluster.kubeconfig);
    const rows = await measureOperator(cluster, operator);
    return { state: "Measured", tables: { many: { columns: ["What", "Figure"], rows } } };
  } finally {
    await cluster.stop();
  }
}

export const operatorBench: Bench = {
  name: "operator",
  title: `${instancesCount} instances with ${rulesPerInstance} rules of ${addressesPerRule} addresses, ${latencyMs} ms a call`,
  measure,
};

async function measureOperator(cluster: ClusterAccess, operator: Operator): Promise<readonly (readonly string[])[]> {
  await until("all to be Ready", async () => (await countReady(cluster)) === instancesCount * (1 + rulesPerInstance));
  const readyMs = performance.now() - operator.startedMs;
  const memory = async (): Promise<string> =>
    `${((await operator.metric("process_resident_memory_bytes")) / 2 ** 20).toFixed(0)} MiB`;
  const cpuSeconds = async (): Promise<number> => await operator.metric("process_cpu_seconds_total");
  const before = await cpuSeconds();
  const memoryBefore = await memory();
  await sleep(idleMs);
  const idleShare = (((await cpuSeconds()) - before) / idleMs) * 100_000;
  const memoryAfter = await memory();
  const createdMs = performance.now();
  await create(cluster, "wafiprules", ruleOf(0, rulesPerInstance));
  await until("a new rule to be Ready", async () => (await countReady(cluster, "wafiprules")) > ruleCount);
  return [
    ["from the start until everything is Ready", inSeconds(readyMs)],
    ["processor time until then", inSeconds(before * 1000)],
    ["memory then", memoryBefore],
    ["memory after 20 s without a change", memoryAfter],
    ["processor time when nothing changes", `${idleShare.toFixed(1)} % of a core`],
    ["a new rule, until it is Ready", inSeconds(performance.now() - createdMs)],
  ];
}

const ruleCount = instancesCount * rulesPerInstance;

function keys(): string[] {
  return Array.from({ length: instancesCount }, (_, index) => `bench-key-${String(index).padStart(4, "0")}`);
}

async function declare(cluster: ClusterAccess, baseUrl: string): Promise<void> {
  await cluster.expectKubectl(["apply", "--server-side", "-k", join(root, "crds")]);
  await cluster.expectKubectl(["wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"]);
  await cluster.expectKubectl(["create", "namespace", namespace]);
  const work = keys().entries();
  const worker = async (): Promise<void> => {
    for (const [index, apiKey] of work) {
      const name = `waf-${index}`;
      await create(cluster, "secrets", { kind: "Secret", metadata: { name }, stringData: { apiKey } });
      const spec = { baseUrl, apiKeySecretRef: { name } };
      await create(cluster, "wafinstances", { kind: "WafInstance", metadata: { name }, spec });
      for (let rule = 0; rule < rulesPerInstance; rule += 1) await create(cluster, "wafiprules", ruleOf(index, rule));
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

function ruleOf(index: number, rule: number): object {
  const addresses = Array.from({ length: addressesPerRule }, (_, place) => `198.18.${rule}.${place}`);
  const spec = { instanceRef: { name: `waf-${index}` }, action: "Block", addresses };
  return { kind: "WafIpRule", metadata: { name: `rule-${index}-${rule}` }, spec };
}

async function create(cluster: ClusterAccess, plural: string, object: object): Promise<void> {
  const isCore = plural === "secrets";
  const path = `${isCore ? "/api/v1" : apiPath}/namespaces/${namespace}/${plural}`;
  const body = { apiVersion: isCore ? "v1" : "wafsync.dev/v1alpha1", ...object };
  // The API server says "try again" for a moment after a kind was installed.
  await until("an object to be taken", async () => {
    const { status, body: answer } = await cluster.request({ method: "POST", path, body });
    if (status !== 201 && status !== 429) throw new Error(JSON.stringify(answer));
    return status === 201;
  });
}

async function countReady(cluster: ClusterAccess, ...plurals: readonly string[]): Promise<number> {
  let count = 0;
  for (const plural of plurals.length === 0 ? ["wafinstances", "wafiprules"] : plurals) {
    const { body } = await cluster.request({ path: `${apiPath}/namespaces/${namespace}/${plural}` });
    count += JSON.stringify(body).match(/"status":"True","type":"Ready"/g)?.length ?? 0;
  }
  return count;
}

async function startOperator(kubeconfig: string): Promise<Operator> {
  const startedMs = performance.now();
  const ports = ["--host", "127.0.0.1", "--health-port", "0", "--metrics-port", "0"];
  const how = [
    "--kubeconfig",
    kubeconfig,
    "--allow-insecure-http",
    "--allow-private-networks",
    "--log-format",
    "json",
    ...ports,
  ];
  const child = spawn(process.execPath, [join(root, "dist", "wafsync.mjs"), "operator", ...how], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  const metricsPort = await new Promise<string>((resolve, reject) => {
    child.once("exit", () => reject(new Error("the operator ended too early")));
    createInterface({ input: child.stderr }).on("line", (line) => {
      const port = /"metricsPort":(\d+)/.exec(line)?.[1];
      if (port !== undefined) resolve(port);
    });
  });
  return {
    startedMs,
    metric: async (name) => {
      const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
      return Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
    },
    async [Symbol.asyncDispose]() {
      const ended = new Promise((resolve) => child.once("close", resolve));
      child.kill("SIGTERM");
      await ended;
    },
  };
}

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const giveUpMs = performance.now() + syncMsMax;
  while (!(await isSo())) {
    if (performance.now() > giveUpMs) throw new Error(`waited in vain for ${what}`);
    await sleep(pollMs);
  }
}
