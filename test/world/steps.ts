// Steps that the suites of the world share: installing the operator, reading pods, and waiting for conditions.
import { mkdtemp, readdir, readFile, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { stringify } from "yaml";
import { waitFor } from "../support/builders/cluster-objects.ts";
import type { ClusterAccess } from "../support/control-plane/cluster-access.ts";
import type { Simulator } from "../../src/simulator/start-simulator.ts";
import { startSimulator } from "../../src/simulator/start-simulator.ts";
import type { World } from "./world-description.ts";

const deploy = join(import.meta.dirname, "..", "..", "deploy");
export const apiKey = "demo-key-0123456789";
export const domain = "www.example.com";
export const operatorNamespace = "wafsync-system";
const stepMs = 180_000;

/** The fields of a pod that the suites read. */
export interface Pod {
  readonly metadata: { readonly name: string; readonly uid: string; readonly deletionTimestamp?: string };
  readonly spec: { readonly containers: readonly { readonly image: string }[] };
  readonly status: {
    readonly phase: string;
    readonly containerStatuses?: readonly {
      readonly ready: boolean;
      readonly restartCount: number;
      readonly lastState?: { readonly terminated?: { readonly exitCode: number; readonly reason: string } };
    }[];
  };
}

/** A WAF at an address that pods can reach. */
export async function startWaf(world: World): Promise<Simulator> {
  return await startSimulator({
    host: world.hostAddress,
    keys: [{ key: apiKey, domain, primaryOrigin: "origin.example.com" }],
  });
}

/** Applies an overlay as in docs/installation.md, from the user's own kustomization, which sets the image. */
export async function applyOverlay(
  world: World,
  overlay: string,
  more: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  const folder = await writeKustomization(world, join(deploy, overlay), more);
  await world.cluster.expectKubectl(["apply", "--server-side", "--force-conflicts", "-k", folder]);
}

/** A folder with a kustomization that uses the resources of another folder, and sets the image that the node has. */
export async function writeKustomization(
  world: World,
  resources: string,
  more: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const folder = await mkdtemp(join(world.cluster.directory, "kustomization-"));
  const kustomization = {
    apiVersion: "kustomize.config.k8s.io/v1beta1",
    kind: "Kustomization",
    resources: [relative(folder, resources)],
    images: [{ name: "wafsync", newName: world.imageName, newTag: world.imageTag }],
    ...more,
  };
  await writeFile(join(folder, "kustomization.yaml"), stringify(kustomization));
  return folder;
}

/** A patch that adds arguments to the operator. */
export function withArguments(...args: readonly string[]): { readonly patches: readonly unknown[] } {
  const operations = args.map((value) => ({ op: "add", path: "/spec/template/spec/containers/0/args/-", value }));
  return { patches: [{ target: { kind: "Deployment", name: "wafsync" }, patch: JSON.stringify(operations) }] };
}

/** Required by the simulator, which uses plain HTTP in a private network. */
export const simulatorArguments = ["--allow-insecure-http", "--allow-private-networks"];

export async function rolledOut(cluster: ClusterAccess, namespace: string, name = "wafsync"): Promise<void> {
  await cluster.expectKubectl(["rollout", "status", `deployment/${name}`, "-n", namespace, "--timeout=180s"]);
}

export async function podsOf(cluster: ClusterAccess, namespace: string, selector: string): Promise<Pod[]> {
  const text = await cluster.expectKubectl(["get", "pods", "-n", namespace, "-l", selector, "-o", "json"]);
  return (JSON.parse(text) as { items: Pod[] }).items.filter(
    ({ metadata }) => metadata.deletionTimestamp === undefined,
  );
}

export function operatorPods(cluster: ClusterAccess, namespace = operatorNamespace): Promise<Pod[]> {
  return podsOf(cluster, namespace, "app.kubernetes.io/name=wafsync");
}

/** The name of the pod that holds the Lease. The holder identity is the pod's name and a suffix for each start. */
export async function leaderPod(cluster: ClusterAccess, namespace = operatorNamespace): Promise<Pod> {
  return await waitFor("a leader", stepMs, async () => {
    const args = ["get", "lease", "wafsync-operator", "-n", namespace, "-o", "jsonpath={.spec.holderIdentity}"];
    const holder = (await cluster.runKubectl(args)).stdout;
    return (await operatorPods(cluster, namespace)).find(({ metadata }) => holder.startsWith(metadata.name));
  });
}

export async function applyObjects(cluster: ClusterAccess, ...objects: readonly unknown[]): Promise<void> {
  const input = objects.map((object) => JSON.stringify(object)).join("\n---\n");
  await cluster.expectKubectl(["apply", "--server-side", "--force-conflicts", "-f", "-"], { input });
}

/** Waits for `Ready` like a pipeline. */
export async function waitUntilReady(cluster: ClusterAccess, namespace: string, ...objects: string[]): Promise<void> {
  await cluster.expectKubectl(["wait", "--for=condition=Ready", "--timeout=120s", "-n", namespace, ...objects]);
}

/** A namespace, the Secret with the key, and an instance for the simulator. */
export function shopObjects(
  namespace: string,
  waf: Simulator,
  more: Readonly<Record<string, unknown>> = {},
): unknown[] {
  return [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
    { apiVersion: "v1", kind: "Secret", metadata: { name: "shop-waf-key", namespace }, stringData: { apiKey } },
    {
      apiVersion: "wafsync.dev/v1alpha1",
      kind: "WafInstance",
      metadata: { name: "shop", namespace },
      spec: {
        baseUrl: waf.baseUrl,
        expectedDomain: domain,
        apiKeySecretRef: { name: "shop-waf-key" },
        resyncInterval: "30s",
        ...more,
      },
    },
  ];
}

export function blockRule(namespace: string, name: string, addresses: readonly string[]): unknown {
  return {
    apiVersion: "wafsync.dev/v1alpha1",
    kind: "WafIpRule",
    metadata: { name, namespace },
    spec: { instanceRef: { name: "shop" }, action: "Block", addresses },
  };
}

/** The addresses on the blocklist of the simulator, sorted. */
export function blocked(waf: Simulator): string[] {
  return waf.waf(apiKey).blocklist.toSorted();
}

/** Resolves when the blocklist contains the address, or no longer contains it. */
export async function waitUntilBlocked(waf: Simulator, address: string, wanted = true): Promise<void> {
  const what = `${address} ${wanted ? "on" : "off"} the blocklist`;
  await waitFor(what, stepMs, async () => (blocked(waf).includes(address) === wanted ? true : undefined));
}

/** The processes in the box whose command line contains the string. The box has its own process IDs. */
export async function processesWith(text: string): Promise<number[]> {
  const names = (await readdir("/proc")).filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  const lines = await Promise.all(
    names.map(async (name) => [Number(name), await readFile(`/proc/${name}/cmdline`, "utf8").catch(() => "")] as const),
  );
  return lines.filter(([, line]) => line.replaceAll("\0", " ").includes(text)).map(([id]) => id);
}

/** Removes the operator and the objects of teams, so that the next suite starts with a clean cluster. */
export async function removeOperator(cluster: ClusterAccess, ...namespaces: readonly string[]): Promise<void> {
  const gone = ["--ignore-not-found", "--wait=true", "--timeout=120s"];
  // The operator has to remove the finalizers of the instances.
  await cluster.runKubectl(["delete", "wafinstances,wafiprules,waforigins,wafcacheclears", "--all", "-A", ...gone]);
  await cluster.runKubectl(["delete", "namespace", operatorNamespace, ...namespaces, ...gone]);
}

/** Applies the CRDs of another project, and waits until the API server serves them. */
export async function applyDefinitions(cluster: ClusterAccess, ...paths: readonly string[]): Promise<void> {
  const files = paths.flatMap((path) => ["-f", path]);
  await cluster.expectKubectl(["apply", "--server-side", "--force-conflicts", ...files]);
  // kubectl fails immediately on a CRD that is so new that it has no conditions yet.
  await waitFor("the definitions", stepMs, async () => {
    const ended = await cluster.runKubectl(["wait", "--for=condition=Established", "--timeout=10s", ...files]);
    return ended.code === 0 ? true : undefined;
  });
}

/** Requests a reconcile run: the operator does not watch Secrets, so it reads a new key only in the next run. */
export async function replaceKey(cluster: ClusterAccess, namespace: string, key: string): Promise<void> {
  const metadata = { name: "shop-waf-key", namespace };
  await applyObjects(cluster, { apiVersion: "v1", kind: "Secret", metadata, stringData: { apiKey: key } });
  const request = `wafsync.dev/requested-at=${process.hrtime.bigint()}`;
  await cluster.expectKubectl(["annotate", "--overwrite", "wafinstance", "shop", "-n", namespace, request]);
}
