// Many WAFs for one operator: a control plane that logs all requests, the simulator as a process, and the objects.
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type AuditedRequest, mostForOneObject } from "../control-plane/audit-log.ts";
import { collectionOf, type Manifest } from "../builders/manifests.ts";
import { type ControlPlane, startControlPlane } from "../control-plane/start.ts";
import { findControlPlane } from "../control-plane/go-programs.ts";
import { startWafsync } from "../processes/wafsync-process.ts";
import { createKubeRequests, eachInParallel, type KubeRequests } from "../worlds/kube-requests.ts";
import type { MeasuredOperator } from "./measured-operator.ts";

export interface FleetSize {
  readonly instances: number;
  /** Of one instance. */
  readonly rules: number;
  /** Of one rule. */
  readonly addresses: number;
}

export interface Fleet extends AsyncDisposable {
  readonly cluster: ControlPlane;
  /** With the permissions of the operator in deploy/kustomize. */
  readonly kubeconfig: string;
  /** The number of objects whose condition Ready is True. */
  countReady(): Promise<number>;
}

export interface FleetOptions extends FleetSize {
  /** The bundle, which is also the simulator. */
  readonly program?: string;
  /** The latency of a call to a WAF. */
  readonly latencyMs: number;
}

const root = join(import.meta.dirname, "../../..");
const kustomization = join(root, "deploy/kustomize/overlays/cluster");
/** The output of `npm run build`. */
export const builtHere = join(root, "dist/wafsync.mjs");
const apiVersion = "wafsync.dev/v1alpha1";
const namespace = "fleet";
const pageSize = 500;
const createAttemptsMax = 100;
const retryMs = 200;
const pollMs = 250;
const syncMsMax = 1_200_000;

/** Returns undefined if no control plane is available. */
export async function startFleet(options: FleetOptions): Promise<Fleet | undefined> {
  const found = await findControlPlane();
  if (found.state === "Missing") return undefined;
  const cluster = await startControlPlane({ file: found.file, audits: true });
  try {
    const simulator = await startSimulator(options);
    await cluster.expectKubectl(["apply", "--server-side", "-k", kustomization]);
    await cluster.expectKubectl(["wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"]);
    const requests = await createKubeRequests(cluster);
    await declare(requests, options, simulator.baseUrl);
    return {
      cluster,
      kubeconfig: await cluster.kubeconfigFor("wafsync-system", "wafsync"),
      countReady: async () => await countReady(requests),
      async [Symbol.asyncDispose]() {
        await requests.close();
        await simulator.end();
        await cluster.stop();
      },
    };
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

/** Runs in a separate process, so that its work is not measured. */
async function startSimulator({ program = builtHere, latencyMs, ...size }: FleetOptions) {
  const keys = keysOf(size).flatMap((key, index) => ["--key", `${key}=${index}.fleet.example`]);
  const ports = ["--port", "0", "--control-port", "0"];
  const simulator = startWafsync(["simulator", ...ports, ...keys, "--latency", String(latencyMs)], { program });
  await simulator.hasPrinted(/WAF API +http\S+\n/u);
  return {
    baseUrl: /WAF API +(http\S+)/u.exec(simulator.printed())?.[1] ?? "",
    async end() {
      simulator.child.kill("SIGTERM");
      await simulator.ended;
    },
  };
}

/** Of instances and rules. */
export function objectsIn({ instances, rules }: FleetSize): number {
  return instances * (1 + rules);
}

function keysOf({ instances }: FleetSize): string[] {
  return Array.from({ length: instances }, (_, index) => `fleet-key-${String(index).padStart(5, "0")}`);
}

async function declare(requests: KubeRequests, options: FleetOptions, baseUrl: string): Promise<void> {
  await create(requests, { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace, namespace: "" } });
  await eachInParallel([...keysOf(options).entries()], async ([index, apiKey]) => {
    const name = `waf-${index}`;
    const metadata = { name, namespace };
    await create(requests, { apiVersion: "v1", kind: "Secret", metadata, stringData: { apiKey } });
    const spec = { baseUrl, apiKeySecretRef: { name } };
    await create(requests, { apiVersion, kind: "WafInstance", metadata, spec });
    for (let rule = 0; rule < options.rules; rule += 1) {
      const addresses = Array.from({ length: options.addresses }, (_, place) => `198.18.${rule}.${place}`);
      await create(requests, ruleOf(index, `rule-${index}-${rule}`, addresses));
    }
  });
}

function ruleOf(index: number, name: string, addresses: readonly string[]): Manifest {
  const spec = { instanceRef: { name: `waf-${index}` }, action: "Block", addresses };
  return { apiVersion, kind: "WafIpRule", metadata: { name, namespace }, spec };
}

async function create(requests: KubeRequests, manifest: Manifest): Promise<void> {
  const path = manifest.kind === "Namespace" ? "/api/v1/namespaces" : collectionOf(manifest);
  // Right after a kind was installed, the API server responds that its storage is initializing.
  for (let attempt = 1; ; attempt += 1) {
    const { status, body } = await requests.send({ method: "POST", path, body: manifest });
    if (status === 201) return;
    if (status !== 429 || attempt >= createAttemptsMax) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`);
    await sleep(retryMs);
  }
}

interface Page {
  readonly metadata: { readonly continue?: string };
  readonly items: readonly object[];
}

async function countReady(requests: KubeRequests): Promise<number> {
  let count = 0;
  for (const plural of ["wafinstances", "wafiprules"]) {
    let next = "";
    do {
      const query: string = next === "" ? "" : `&continue=${encodeURIComponent(next)}`;
      const path = `/apis/${apiVersion}/namespaces/${namespace}/${plural}?limit=${pageSize}${query}`;
      const { metadata, items } = (await requests.expect({ path })) as Page;
      count += JSON.stringify(items).match(/"status":"True","type":"Ready"/g)?.length ?? 0;
      next = metadata.continue ?? "";
    } while (next !== "");
  }
  return count;
}

export async function allReady(fleet: Fleet, size: FleetSize, operator: MeasuredOperator): Promise<void> {
  const giveUpMs = performance.now() + syncMsMax;
  while ((await fleet.countReady()) < objectsIn(size)) {
    await operator.memory();
    if (performance.now() > giveUpMs) throw new Error("not everything became Ready");
    await sleep(pollMs);
  }
}

/** The maximum number of writes of the status of one object. */
export function statusWritesIn(requests: readonly AuditedRequest[]) {
  return {
    instance: mostForOneObject(requests, "patch", "wafinstances/status"),
    rule: mostForOneObject(requests, "patch", "wafiprules/status"),
  };
}
