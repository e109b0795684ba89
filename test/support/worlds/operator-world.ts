// The environment of the operator's integration tests: a control plane, a simulator with many WAFs, operators as processes with
// exactly the permissions in deploy/kustomize, and a history of every status.
import { join } from "node:path";
import { setTimeout as realDelay } from "node:timers/promises";
import type { ApiRequest } from "../control-plane/api-request.ts";
import { writeKubeconfig } from "../control-plane/cluster-access.ts";
import type { ControlPlane } from "../control-plane/start.ts";
import { pluralOf, recordKind } from "../../../src/kinds/kinds.ts";
import { type ResourceKind, resourceKinds } from "../../../src/model/resource.ts";
import { type Simulator, startSimulator } from "../../../src/simulator/start-simulator.ts";
import type { SimulatedWaf } from "../../../src/simulator/simulated-waf.ts";
import { slow, timeLimit } from "../processes/slowness.ts";
import { everythingPrinted } from "../processes/wafsync-process.ts";
import { createNamespace, waitFor } from "../builders/cluster-objects.ts";
import { createKubeRequests, eachInParallel, type KubeRequests } from "./kube-requests.ts";
import { apiVersion, collectionOf, instance, keySecret, type Manifest } from "../builders/manifests.ts";
import { type OperatorProcess, type OperatorStart, startOperator } from "../processes/operator-process.ts";
import { nameOf, StatusHistory, type WafsyncObject } from "./status-history.ts";

const servedKinds = [...resourceKinds, recordKind] as const;
export const operatorNamespace = "wafsync-system";
export const operatorUser = `system:serviceaccount:${operatorNamespace}:wafsync`;
export const kustomization = join(import.meta.dirname, "../../../deploy/kustomize/overlays/cluster");

export interface TestWaf {
  readonly key: string;
  readonly domain: string;
  readonly view: SimulatedWaf;
}

export interface KubeEvent {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly count?: number;
  readonly involvedObject: { readonly kind: string; readonly namespace: string; readonly name: string };
}

const wafCount = 16;
const pollMs = 50;
const patienceMs = 60_000;
const standStillMs = 10_000;

/** Contains characters that URLs and forms encode differently. */
function keyOf(number: number): string {
  return `made+up/key=${number}%of-tests`;
}

/** The first key is the key in the examples. */
function domainOf(number: number): string {
  return number === 1 ? "www.example.com" : `shop-${number}.example`;
}

export class OperatorWorld {
  readonly cluster: ControlPlane;
  readonly simulator: Simulator;
  readonly requests: KubeRequests;
  readonly history: StatusHistory;
  readonly operators: OperatorProcess[] = [];
  #wafs = 0;

  private constructor(cluster: ControlPlane, simulator: Simulator, requests: KubeRequests) {
    this.cluster = cluster;
    this.simulator = simulator;
    this.requests = requests;
    this.history = new StatusHistory(requests);
  }

  /** Installs CRDs and roles as documented, without starting an operator. */
  static async begin(cluster: ControlPlane): Promise<OperatorWorld> {
    await cluster.expectKubectl(["apply", "--server-side", "-k", kustomization]);
    const definitions = servedKinds.map((kind) => `crd/${pluralOf(kind)}.wafsync.dev`);
    await cluster.expectKubectl(["wait", "--for=condition=Established", `--timeout=${slow(60)}s`, ...definitions]);
    // The authorizer sees new roles a moment after they were written.
    const mayWatch = [
      "auth",
      "can-i",
      "watch",
      "wafcacheclears.wafsync.dev",
      "--all-namespaces",
      `--as=${operatorUser}`,
    ];
    await waitFor("the rights of the operator", patienceMs, async () => {
      const { stdout } = await cluster.runKubectl(mayWatch);
      return stdout.trim() === "yes" ? true : undefined;
    });
    const numbers = Array.from({ length: wafCount }, (_, index) => index + 1);
    const keys = numbers.map((number) => ({
      key: keyOf(number),
      domain: domainOf(number),
    }));
    const simulator = await startSimulator({ keys, overlap: "Record" });
    return new OperatorWorld(cluster, simulator, await createKubeRequests(cluster));
  }

  async end(): Promise<void> {
    await Promise.all(this.operators.map(async (operator) => await operator.end("SIGKILL")));
    await this.history.end();
    await Promise.all([this.requests.close(), this.simulator.close()]);
  }

  /** Uses the token of the ServiceAccount in deploy/kustomize. */
  async startOperator(options: Partial<OperatorStart> & { readonly port?: number } = {}): Promise<OperatorProcess> {
    const kubeconfig = options.kubeconfig ?? (await this.kubeconfigOfOperator(options.port));
    const operator = await startOperator({ ...options, kubeconfig });
    this.operators.push(operator);
    return operator;
  }

  /** The operator that was started last. */
  get operator(): OperatorProcess {
    const operator = this.operators.at(-1);
    if (operator === undefined) throw new Error("no operator was started");
    return operator;
  }

  /** @param port a different port for the API server, such as a proxy's */
  async kubeconfigOfOperator(port?: number): Promise<string> {
    const { directory, caFile } = this.cluster;
    if (port === undefined) return await this.cluster.kubeconfigFor(operatorNamespace, "wafsync");
    const token = await this.cluster.tokenFor(operatorNamespace, "wafsync");
    const path = `${directory}/operator-${port}.kubeconfig`;
    await writeKubeconfig(path, { url: `https://127.0.0.1:${port}`, caFile, token });
    return path;
  }

  /** A WAF that no test has used before. */
  newWaf(): TestWaf {
    const view = this.simulator.wafs()[this.#wafs];
    this.#wafs += 1;
    if (view === undefined) throw new Error(`only ${wafCount} WAFs exist`);
    return { key: keyOf(this.#wafs), domain: view.domain, view };
  }

  async newNamespace(prefix: string, labels: Readonly<Record<string, string>> = {}): Promise<string> {
    return await createNamespace(this.cluster, prefix, labels);
  }

  /** A namespace with an instance `waf` and its Secret. */
  async newInstance(prefix: string, spec: object = {}): Promise<{ readonly namespace: string; readonly waf: TestWaf }> {
    const namespace = await this.newNamespace(prefix);
    const waf = this.newWaf();
    // One after another, so that a cache clear finds its key.
    await this.apply(keySecret(namespace, waf.key));
    await this.apply(instance(namespace, this.simulator.baseUrl, { ...spec }));
    return { namespace, waf };
  }

  /** Like `kubectl apply --server-side`, many objects at once. */
  async apply(...manifests: readonly Manifest[]): Promise<void> {
    await eachInParallel(manifests, async (manifest) => {
      const path = `${collectionOf(manifest)}/${manifest.metadata.name}?fieldManager=tests&force=true`;
      const contentType = "application/apply-patch+yaml";
      await this.requests.expect({ method: "PATCH", path, contentType, body: manifest });
    });
  }

  async remove(...manifests: readonly Manifest[]): Promise<void> {
    await eachInParallel(manifests, async (manifest) => {
      await this.requests.expect({ method: "DELETE", path: `${collectionOf(manifest)}/${manifest.metadata.name}` });
    });
  }

  async patch(manifest: Manifest, change: object): Promise<void> {
    const path = `${collectionOf(manifest)}/${manifest.metadata.name}`;
    const request: ApiRequest = { method: "PATCH", path, contentType: "application/merge-patch+json", body: change };
    await this.requests.expect(request);
  }

  /** Undefined if it does not exist. */
  async read(kind: ResourceKind, namespace: string, name: string): Promise<WafsyncObject | undefined> {
    const path = `/apis/${apiVersion}/namespaces/${namespace}/${pluralOf(kind)}/${name}`;
    const { status, body } = await this.requests.send({ path });
    if (status === 404) return undefined;
    if (status !== 200) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`);
    return body as WafsyncObject;
  }

  /** Status and reason of a condition, such as `False NotAllowed`. */
  async condition(kind: ResourceKind, namespace: string, name: string, type: string): Promise<string> {
    const found = conditionOf(await this.read(kind, namespace, name), type);
    return `${found?.status} ${found?.reason}`;
  }

  /** Waits until a condition has this status and reason. */
  async becomes(kind: ResourceKind, namespace: string, name: string, type: string, expected: string): Promise<void> {
    const look = async (): Promise<boolean> => (await this.condition(kind, namespace, name, type)) === expected;
    await this.eventually(`${kind} ${name} has ${type} ${expected}`, look);
  }

  /** Every object of wafsync's kinds. */
  async objects(namespace?: string): Promise<WafsyncObject[]> {
    const scope = namespace === undefined ? "" : `namespaces/${namespace}/`;
    const lists = await Promise.all(
      resourceKinds.map(async (kind) => {
        const body = await this.requests.expect({ path: `/apis/${apiVersion}/${scope}${pluralOf(kind)}` });
        return (body as { items: WafsyncObject[] }).items.map((object) => ({ ...object, kind }));
      }),
    );
    return lists.flat();
  }

  async events(namespace: string): Promise<KubeEvent[]> {
    const body = await this.requests.expect({ path: `/api/v1/namespaces/${namespace}/events` });
    return (body as { items: KubeEvent[] }).items;
  }

  /** Calls the function until it returns true. If this takes too long, the error contains the description. */
  async eventually(what: string, look: () => Promise<boolean> | boolean, timeoutMs = patienceMs): Promise<void> {
    const limit = timeLimit(timeoutMs);
    while (!(await look())) {
      if (limit.isOver()) throw new Error(`not in time: ${what}: ${limit.describe()}\n${await this.describe()}`);
      await realDelay(pollMs);
    }
  }

  /** Waits until every object (of the namespace) is Ready in its newest version. */
  async allReady(namespace?: string, timeoutMs?: number): Promise<void> {
    const look = async (): Promise<boolean> => (await this.objects(namespace)).every(isReady);
    await this.eventually(`everything in ${namespace ?? "all namespaces"} is ready`, look, timeoutMs);
  }

  /** Waits until no instance is being reconciled or about to read its lists again to confirm a removal. */
  async atRest(): Promise<void> {
    const path = `/apis/${apiVersion}/wafrecords`;
    await this.eventually("nothing is left to do", async () => {
      const records = JSON.stringify(await this.requests.expect({ path }));
      const figures = ["depth", "unfinished_work_seconds"].map((name) => `workqueue_${name}{name="instances"}`);
      const left = await Promise.all(figures.map(async (figure) => await this.operator.metric(figure)));
      return !records.includes("missingSinceMs") && left.every((count) => count === 0);
    });
  }

  /** The objects whose resourceVersion changes within ten seconds, and the WAFs with writes. */
  async restless(): Promise<string[]> {
    const before = await this.#versions();
    await realDelay(standStillMs);
    const after = await this.#versions();
    return [...after].flatMap(([name, version]) => (before.get(name) === version ? [] : [name]));
  }

  /** Every place where a WAF's key could have leaked. */
  async leaks(): Promise<string[]> {
    const texts: [string, string][] = [["the output of a process", everythingPrinted()]];
    const running = this.operators.filter((operator) => operator.isRunning());
    for (const operator of running) texts.push(["the metrics", await operator.metrics()]);
    const groups = ["/api/v1/events", "/api/v1/configmaps", "/apis/coordination.k8s.io/v1/leases"];
    const kinds = servedKinds.map((kind) => `/apis/${apiVersion}/${pluralOf(kind)}`);
    for (const path of [...groups, ...kinds]) texts.push([path, JSON.stringify(await this.requests.expect({ path }))]);
    return texts.flatMap(([where, text]) => (/made(?:\+|%2B)up/i.test(text) ? [where] : []));
  }

  /** The state for error messages. */
  async describe(): Promise<string> {
    const objects = await this.objects().catch(() => []);
    const unready = objects.filter((object) => !isReady(object)).slice(0, 5);
    const statuses = unready.map((object) => `${nameOf(object)} ${JSON.stringify(object.status)}`);
    const log = this.operators.at(-1)?.process.printed().split("\n").slice(-25) ?? [];
    return [`${objects.length} objects`, ...statuses, "--- the end of the operator's log ---", ...log].join("\n");
  }

  async #versions(): Promise<Map<string, string>> {
    const objects = await this.objects();
    const versions = new Map(objects.map((object) => [nameOf(object), object.metadata.resourceVersion]));
    const body = await this.requests.expect({ path: `/apis/${apiVersion}/wafrecords` });
    for (const { metadata } of (body as { items: WafsyncObject[] }).items) {
      // A batch of the history is due up to ten seconds after the last write to a WAF.
      if (metadata.name.endsWith("-history")) continue;
      versions.set(`WafRecord ${metadata.namespace}/${metadata.name}`, metadata.resourceVersion);
    }
    for (const waf of this.simulator.wafs()) versions.set(waf.domain, String(waf.counters.changes));
    return versions;
  }
}

export interface ConditionSeen {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration: number;
}

export function conditionOf(object: WafsyncObject | undefined, type: string): ConditionSeen | undefined {
  const conditions = (object?.status?.["conditions"] ?? []) as readonly ConditionSeen[];
  return conditions.find((condition) => condition.type === type);
}

export function isReady(object: WafsyncObject): boolean {
  const { generation } = object.metadata;
  const ready = conditionOf(object, "Ready");
  return ready?.status === "True" && ready.observedGeneration === generation && !isReconciling(object);
}

function isReconciling(object: WafsyncObject): boolean {
  return conditionOf(object, "Reconciling") !== undefined;
}

/** The WAF's requests by endpoint, without endpoints that were not called. */
export function callsOf({ view }: TestWaf): Readonly<Record<string, number>> {
  return { ...view.counters.byEndpoint };
}
