// Clears that follow rollouts, with workloads that a real kube-controller-manager rolls out.
// Long: `npm run test:deploy` runs it.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { realClock } from "../../src/async/clock.ts";
import type { Manifest } from "../support/builders/manifests.ts";
import { slow } from "../support/processes/slowness.ts";
import type { KubeRequests } from "../support/worlds/kube-requests.ts";
import { describeOperator } from "../support/worlds/operator-suite.ts";
import type { TestWaf } from "../support/worlds/operator-world.ts";

/** The Deployment `web`, whose image identifies the revision. */
function deployment(namespace: string): Manifest {
  const labels = { app: "web" };
  const template = {
    metadata: { labels },
    spec: { automountServiceAccountToken: false, containers: [{ name: "main", image: "one" }] },
  };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web", namespace },
    spec: { selector: { matchLabels: labels }, replicas: 2, template },
  };
}

const pollMs = 100;

interface Pod {
  readonly metadata: { readonly name: string; readonly deletionTimestamp?: string };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

/** Makes the pods of one namespace ready until the signal aborts, like a node. */
async function beNode(requests: KubeRequests, namespace: string, signal: AbortSignal): Promise<void> {
  const pods = `/api/v1/namespaces/${namespace}/pods`;
  const makeReady = async (): Promise<void> => {
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
  while (!signal.aborted) {
    await makeReady().catch(() => undefined);
    await realClock.sleep(pollMs, signal);
  }
}

function isWaiting({ metadata, status }: Pod): boolean {
  if (metadata.deletionTimestamp !== undefined) return false;
  return status?.conditions?.some(({ type, status: value }) => type === "Ready" && value === "True") !== true;
}

await describeOperator("clears after rollouts", (world) => {
  const ending = new AbortController();
  let node: Promise<void> | undefined;
  let namespace: string;
  let waf: TestWaf;

  beforeAll(async () => {
    await world().startOperator();
    const body = { apiVersion: "v1", kind: "Node", metadata: { name: "node-1" } };
    await world().requests.expect({ method: "POST", path: "/api/v1/nodes", body });
    ({ namespace, waf } = await world().newInstance("deployment", { cacheClear: {} }));
    node = beNode(world().requests, namespace, ending.signal);
  });

  afterAll(async () => {
    ending.abort();
    await node;
  });

  const kubectl = async (...parameters: readonly string[]): Promise<string> =>
    await world().cluster.expectKubectl(["-n", namespace, ...parameters]);
  const clears = (): number => waf.view.counters.cacheClears;

  async function rolledOut(): Promise<void> {
    await kubectl("rollout", "status", "deployment/web", `--timeout=${slow(60)}s`);
  }

  /** The message about the Deployment, once its rollout is handled. */
  async function handled(): Promise<string> {
    let message = "";
    await world().eventually("the rollout is handled", async () => {
      const rollouts = (await world().read("WafInstance", namespace, "waf"))?.status?.["rollouts"];
      const [web] = (rollouts ?? []) as readonly { readonly state: string; readonly message: string }[];
      message = web?.message ?? "";
      return web?.state === "Handled";
    });
    return message;
  }

  /** Asks for a run and waits for its end: whatever was known before has been considered then. */
  async function considered(request: string): Promise<void> {
    await kubectl("annotate", "--overwrite", "wafinstance", "waf", `wafsync.dev/requested-at=${request}`);
    await world().eventually(`the run ${request}`, async () => {
      const status = (await world().read("WafInstance", namespace, "waf"))?.status;
      return status?.["lastHandledRequest"] === request;
    });
    await world().allReady(namespace);
  }

  test("a Deployment clears once for each revision, and neither for the one it had before, a scale nor a restart of the operator", async () => {
    await world().apply(deployment(namespace));
    await rolledOut();
    const cacheClear = { afterRolloutOf: [{ kind: "Deployment", name: "web" }], minInterval: "0s" };
    await kubectl("patch", "wafinstance", "waf", "--type=merge", "-p", JSON.stringify({ spec: { cacheClear } }));
    await handled();
    expect(clears()).toBe(0);

    await kubectl("set", "image", "deployment/web", "main=two");
    await rolledOut();
    await world().eventually("the clear", () => clears() > 0);
    expect(await handled()).toContain("Revision 2");
    const events = await world().events(namespace);
    expect(events.filter(({ reason }) => reason === "CacheCleared").map(({ message }) => message)).toStrictEqual([
      expect.stringContaining(`Deployment ${namespace}/web`),
    ]);

    await kubectl("scale", "deployment/web", "--replicas=4");
    await rolledOut();
    await considered("scaled");
    expect(await handled()).toContain("Revision 2");
    expect(clears()).toBe(1);

    await world().operator.end();
    await world().startOperator();
    await considered("restarted");
    expect(clears()).toBe(1);
  });
});
