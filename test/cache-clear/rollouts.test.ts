// Clears that follow rollouts, with workloads that a real kube-controller-manager rolls out.
// Long: `npm run test:deploy` runs it.
import { afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { realClock } from "../../src/async/clock.ts";
import type { Manifest } from "../support/builders/manifests.ts";
import { slow } from "../support/processes/slowness.ts";
import type { KubeRequests } from "../support/worlds/kube-requests.ts";
import { describeOperator } from "../support/worlds/operator-suite.ts";
import type { OperatorWorld, TestWaf } from "../support/worlds/operator-world.ts";

type WorkloadKind = "Deployment" | "StatefulSet" | "DaemonSet";

/** With one container, whose image identifies the revision. */
function workload(
  kind: WorkloadKind,
  namespace: string,
  name: string,
  spec: Readonly<Record<string, unknown>> = {},
): Manifest {
  const labels = { app: name };
  const template = {
    metadata: { labels },
    spec: { automountServiceAccountToken: false, containers: [{ name: "main", image: "one" }] },
  };
  const size = kind === "DaemonSet" ? {} : { replicas: 2 };
  const own = kind === "StatefulSet" ? { serviceName: name } : {};
  return {
    apiVersion: "apps/v1",
    kind,
    metadata: { name, namespace },
    spec: { selector: { matchLabels: labels }, ...size, ...own, template, ...spec },
  };
}

const brokenImage = "broken";
const pollMs = 100;

interface Pod {
  readonly metadata: { readonly name: string; readonly deletionTimestamp?: string };
  readonly spec: { readonly containers: readonly { readonly image: string }[] };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

interface NodeStandIn {
  end(): Promise<void>;
}

/** Manages the pods of one namespace until it is closed. */
function startNodeStandIn(requests: KubeRequests, namespace: string): NodeStandIn {
  const ending = new AbortController();
  const pods = `/api/v1/namespaces/${namespace}/pods`;
  const look = async (): Promise<void> => {
    const { items } = (await requests.expect({ path: pods })) as { readonly items: readonly Pod[] };
    for (const pod of items.filter(isWaiting)) {
      const now = new Date().toISOString();
      const conditions = ["PodScheduled", "Initialized", "ContainersReady", "Ready"].map((type) => ({
        type,
        status: "True",
        lastTransitionTime: now,
      }));
      await requests.send({
        method: "PATCH",
        path: `${pods}/${pod.metadata.name}/status`,
        contentType: "application/merge-patch+json",
        body: { status: { phase: "Running", startTime: now, conditions } },
      });
    }
  };
  const follow = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      await look().catch(() => undefined);
      await realClock.sleep(pollMs, ending.signal);
    }
  };
  const running = follow();
  return {
    end: async () => {
      ending.abort();
      await running;
    },
  };
}

function isWaiting({ metadata, spec, status }: Pod): boolean {
  if (metadata.deletionTimestamp !== undefined) return false;
  if (spec.containers.some(({ image }) => image === brokenImage)) return false;
  return status?.conditions?.some(({ type, status: value }) => type === "Ready" && value === "True") !== true;
}

interface RolloutStatus {
  readonly workload: string;
  readonly state: string;
  readonly message: string;
}

/** One instance `waf` that follows workloads, and something that makes their pods ready. */
class Shop {
  readonly world: OperatorWorld;
  readonly namespace: string;
  readonly waf: TestWaf;
  #passes = 0;

  constructor(world: OperatorWorld, { namespace, waf }: { readonly namespace: string; readonly waf: TestWaf }) {
    this.world = world;
    this.namespace = namespace;
    this.waf = waf;
  }

  get clears(): number {
    return this.waf.view.counters.cacheClears;
  }

  async kubectl(...parameters: readonly string[]): Promise<string> {
    return await this.world.cluster.expectKubectl(["-n", this.namespace, ...parameters]);
  }

  async rolledOut(what: string): Promise<void> {
    await this.kubectl("rollout", "status", what, `--timeout=${slow(60)}s`);
  }

  async status(name: string): Promise<RolloutStatus | undefined> {
    const instance = await this.world.read("WafInstance", this.namespace, "waf");
    const rollouts = (instance?.status?.["rollouts"] ?? []) as readonly RolloutStatus[];
    return rollouts.find(({ workload }) => workload.endsWith(`/${name}`));
  }

  async isIn(name: string, state: string): Promise<RolloutStatus> {
    await this.world.eventually(`${name} is ${state}`, async () => (await this.status(name))?.state === state);
    return (await this.status(name)) as RolloutStatus;
  }

  async hasCleared(times: number): Promise<void> {
    await this.world.eventually(`${times} clears`, () => this.clears >= times);
    if (this.clears !== times) throw new Error(`${this.clears} clears instead of ${times}`);
  }

  /** Asks for a pass and waits for its end: whatever was known before has been considered then. */
  async considered(): Promise<void> {
    this.#passes += 1;
    const asked = `pass-${this.#passes}`;
    await this.kubectl("annotate", "--overwrite", "wafinstance", "waf", `wafsync.dev/requested-at=${asked}`);
    await this.world.eventually(`the pass ${asked}`, async () => {
      const status = (await this.world.read("WafInstance", this.namespace, "waf"))?.status;
      return status?.["lastHandledRequest"] === asked;
    });
    await this.world.allReady(this.namespace);
  }
}

await describeOperator("clears after rollouts", (world) => {
  const standIns: NodeStandIn[] = [];

  beforeAll(async () => {
    await world().startOperator();
    await world().requests.expect({
      method: "POST",
      path: "/api/v1/nodes",
      body: { apiVersion: "v1", kind: "Node", metadata: { name: "node-1" } },
    });
  });

  afterEach(async () => {
    await Promise.all(standIns.splice(0).map(async (standIn) => await standIn.end()));
  });

  async function newShop(prefix: string, cacheClear: object): Promise<Shop> {
    const shop = new Shop(world(), await world().newInstance(prefix, { cacheClear }));
    standIns.push(startNodeStandIn(world().requests, shop.namespace));
    return shop;
  }

  /** A workload that was rolled out before the instance has ever seen it. */
  async function newShopWith(prefix: string, kind: WorkloadKind, spec: object = {}): Promise<Shop> {
    const shop = await newShop(prefix, {});
    await world().apply(workload(kind, shop.namespace, "web", { ...spec }));
    await shop.rolledOut(`${kind.toLowerCase()}/web`);
    await shop.kubectl("patch", "wafinstance", "waf", "--type=merge", "-p", listing(kind));
    await shop.isIn("web", "Handled");
    expect(shop.clears).toBe(0);
    return shop;
  }

  function listing(kind: WorkloadKind): string {
    return JSON.stringify({ spec: { cacheClear: { afterRolloutOf: [{ kind, name: "web" }], minInterval: "0s" } } });
  }

  test("a Deployment clears once for each revision, and neither for the one it had before, a scale nor a restart of the operator", async () => {
    const shop = await newShopWith("deployment", "Deployment");
    await shop.kubectl("set", "image", "deployment/web", "main=two");
    await shop.rolledOut("deployment/web");
    await shop.hasCleared(1);
    expect(await shop.isIn("web", "Handled")).toMatchObject({ message: expect.stringContaining("Revision 2") });
    const events = await world().events(shop.namespace);
    expect(events.filter(({ reason }) => reason === "CacheCleared").map(({ message }) => message)).toStrictEqual([
      expect.stringContaining(`Deployment ${shop.namespace}/web`),
    ]);

    await shop.kubectl("scale", "deployment/web", "--replicas=4");
    await shop.rolledOut("deployment/web");
    await shop.considered();
    expect(await shop.isIn("web", "Handled")).toMatchObject({ message: expect.stringContaining("Revision 2") });
    expect(shop.clears).toBe(1);

    await world().operator.end();
    await world().startOperator();
    await shop.considered();
    expect(shop.clears).toBe(1);
  });

  describe("a workload of another namespace", () => {
    test("is followed only if it agrees, and nobody can tell one that does not from none", async () => {
      const elsewhere = await world().newNamespace("elsewhere");
      const deployment = workload("Deployment", elsewhere, "web", { replicas: 0 });
      await world().apply(deployment);
      const wait = ["rollout", "status", "-n", elsewhere, "deployment/web", `--timeout=${slow(60)}s`];
      await world().cluster.expectKubectl(wait);
      const afterRolloutOf = ["web", "none"].map((name) => ({ kind: "Deployment", name, namespace: elsewhere }));
      const shop = await newShop("neighbour", { afterRolloutOf, minInterval: "0s" });
      const refused = await shop.isIn("web", "NotSeen");
      const missing = await shop.isIn("none", "NotSeen");
      expect(refused.message.replaceAll("web", "none")).toBe(missing.message);
      const consent = { "wafsync.dev/clears-cache-of": `other/waf, ${shop.namespace}/waf` };
      await world().patch(deployment, { metadata: { annotations: consent } });
      await shop.isIn("web", "Handled");
      expect(shop.clears).toBe(0);
    });
  });
});
