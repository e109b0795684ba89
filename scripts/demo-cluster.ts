// `npm run demo:cluster`: runs a Kubernetes API server, the simulator and the operator on one terminal, with the objects of
// examples/cluster, to try wafsync with kubectl. It runs until Ctrl-C, and leaves nothing behind.
import { mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findControlPlane } from "../test/support/control-plane/go-programs.ts";
import type { ControlPlane } from "../test/support/control-plane/start.ts";
import { startControlPlane } from "../test/support/control-plane/start.ts";
import { freePorts } from "../test/support/processes/operator-process.ts";
import { DemoFailure, Stage, colour } from "./demo/stage.ts";

const root = join(import.meta.dirname, "..");
const domain = "www.example.com";
const exampleUrl = "http://127.0.0.1:8080";
const latencyMs = 20;
const stepTimeoutMs = 120_000;
const readyTimeout = "90s";
const kinds = "wafinstances,wafiprules,waforigins,wafcacheclears";

const interrupted = new AbortController();
const untilInterrupted = new Promise<void>((resolve) => {
  interrupted.signal.addEventListener("abort", () => resolve(), { once: true });
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => interrupted.abort());

const folder = await mkdtemp(join(tmpdir(), "wafsync-demo-cluster-"));
const stage = new Stage({
  program: [process.execPath, join(root, "src", "cli", "main.ts")],
  folder,
  environment: process.env,
  signal: interrupted.signal,
  stepTimeoutMs,
});
let controlPlane: ControlPlane | undefined;

async function startServers(): Promise<ControlPlane> {
  stage.step(
    "A Kubernetes API server",
    "etcd, kube-apiserver and kube-controller-manager run on free ports of this machine, without nodes or containers. The first start takes longer, because the programs have to be built.",
  );
  const found = await findControlPlane();
  if (found.state === "Missing") throw new DemoFailure(found.problem);
  const started = await startControlPlane({ file: found.file, directory: folder });
  controlPlane = started;
  interrupted.signal.throwIfAborted();
  stage.check(true, `the API server is at ${started.url}`);
  await started.expectKubectl(["apply", "--server-side", "-k", join(root, "crds")]);
  await started.expectKubectl(["wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"]);
  // For a moment, requests for a new kind are answered with "try again", which kubectl does.
  await started.expectKubectl(["get", kinds, "-A"]);
  stage.check(true, `the CRDs are installed: ${kinds.replaceAll(",", ", ")}`);
  return started;
}

async function startSimulator(): Promise<{ readonly baseUrl: string; readonly control: string }> {
  stage.step(
    "A simulated WAF",
    `A simulator of the WAF's API. It rejects concurrent requests, and each request takes ${latencyMs} ms.`,
  );
  const ports = ["--port", "0", "--control-port", "0"];
  const simulator = stage.start(["simulator", ...ports, "--latency", `${latencyMs}`]);
  const baseUrl = (await simulator.line(/^WAF API +(\S+)$/))[1] ?? "";
  const control = (await simulator.line(/^Control +(\S+)$/))[1] ?? "";
  return { baseUrl, control };
}

async function startOperator({ kubeconfig }: ControlPlane): Promise<void> {
  stage.step(
    "The operator",
    "In a cluster, the operator is a Deployment (deploy/kustomize). Here, it runs on this terminal. Its log is JSON, shown here in words.",
  );
  const how = ["--kubeconfig", kubeconfig, "--allow-insecure-http", "--allow-private-networks", ...freePorts];
  const operator = stage.start(["operator", ...how], inWords);
  await operator.line(/leading/);
}

/** A line of the operator's log, for people. */
function inWords(line: string): string {
  if (!line.startsWith("{")) return line;
  const { time = "", level, msg, object, reason, message, ...fields } = JSON.parse(line) as Record<string, string>;
  const facts = Object.entries(fields).map(([name, value]) => `${name}=${value}`);
  const what = message === undefined ? `${level}  ${[msg, ...facts].join("  ")}` : `${object}  ${reason}: ${message}`;
  return `${time.slice(11, 19)}Z  ${what}`;
}

async function applyExamples(cluster: ControlPlane, baseUrl: string): Promise<void> {
  stage.step(
    "What users declare",
    "The files of examples/cluster with the address of the simulator: a namespace, a WAF with its key, rules, an origin and a cache clear.",
  );
  const examples = join(root, "examples", "cluster");
  const files = (await readdir(examples)).filter((file) => file.endsWith(".yaml")).sort();
  const texts = await Promise.all(files.map(async (file) => await readFile(join(examples, file), "utf8")));
  const input = texts.join("\n---\n").replaceAll(exampleUrl, baseUrl);
  // Whoever applies this file again must not move the WAF to another address.
  const file = join(folder, "examples.yaml");
  await writeFile(file, input);
  stage.act(`kubectl apply -f ${file}`);
  await cluster.expectKubectl(["apply", "-f", file]);
  const wait = ["wait", "--for=condition=Ready", `--timeout=${readyTimeout}`, "--all", "-n", "shop", kinds];
  await cluster.expectKubectl(wait);
  stage.check(true, "every object is Ready");
  stage.act("kubectl get wafsync -n shop");
  const table = await cluster.expectKubectl(["get", "wafsync", "-n", "shop"]);
  console.log(`\n${table.trimEnd()}`);
}

function showCommandsToTry(kubeconfig: string, control: string): void {
  stage.step("Your turn", "In another terminal:");
  stage.table([
    ["kubectl", `export KUBECONFIG=${kubeconfig}`],
    ["the page", "npx node src/cli/main.ts ui --bind-address 127.0.0.1:0"],
    ["look", "kubectl describe wafip scanners -n shop"],
    ["block", "npx node src/cli/main.ts block 192.0.2.250 -n shop --for 2h --allow-insecure-http"],
    ["unblock", "kubectl delete wafip scanners -n shop"],
    ["events", "kubectl get events -n shop --watch"],
    ["the WAF", `curl ${control}/state`],
    ["drift", `curl -X DELETE ${control}/entries -d '${driftExample}'`],
    ["reconcile", `kubectl annotate wafi shop -n shop --overwrite wafsync.dev/requested-at="$(date)"`],
  ]);
  console.log(`${colour(["bold", "green"], "Ready.")} Press Ctrl-C to stop and remove everything.\n`);
}

const driftExample = JSON.stringify({ domain, list: "blocklist", entries: ["192.0.2.17"] });

try {
  console.log(
    `\n${colour("bold", "wafsync")} keeps hosted web application firewalls in the state that a cluster declares.`,
  );
  const cluster = await startServers();
  const { baseUrl, control } = await startSimulator();
  await startOperator(cluster);
  await applyExamples(cluster, baseUrl);
  showCommandsToTry(cluster.kubeconfig, control);
  await untilInterrupted;
} catch (error) {
  if (!interrupted.signal.aborted) {
    process.exitCode = 1;
    const text = error instanceof DemoFailure ? error.message : String((error as Error).stack);
    console.error(`\n${colour(["bold", "red"], "The demo failed:")} ${text}`);
  }
} finally {
  console.log("\nStopping the operator, the simulator and the API server …");
  await stage.close();
  await controlPlane?.stop();
  await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  console.log("Everything was removed.");
}
