// The operator as users run it: two pods of deploy/kustomize on a real node, in a namespace with restricted Pod Security.
import { kill } from "node:process";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Simulator } from "../../src/simulator/start-simulator.ts";
import { waitFor } from "../support/builders/cluster-objects.ts";
import {
  apiKey,
  applyObjects,
  applyOverlay,
  blocked,
  blockRule,
  leaderPod,
  operatorNamespace,
  operatorPods,
  processesWith,
  removeOperator,
  rolledOut,
  shopObjects,
  simulatorArguments,
  startWaf,
  waitUntilBlocked,
  waitUntilReady,
  withArguments,
  writeKustomization,
} from "./steps.ts";
import { describeInWorld } from "./world.ts";

const deploy = join(import.meta.dirname, "..", "..", "deploy");
const stepMs = 180_000;

await describeInWorld("the operator on a node", (world) => {
  const { cluster } = world;
  let waf: Simulator;

  beforeAll(async () => {
    waf = await startWaf(world);
    await applyOverlay(world, "kustomize/overlays/cluster", withArguments(...simulatorArguments));
    await rolledOut(cluster, operatorNamespace);
    await applyObjects(cluster, ...shopObjects("shop", waf), blockRule("shop", "scanners", ["192.0.2.17"]));
    await waitUntilReady(cluster, "shop", "wafinstance/shop", "wafiprule/scanners");
  });
  afterAll(async () => {
    await removeOperator(cluster, "shop");
    await waf.close();
  });

  /** The kernel's status of the first process in a pod's container. */
  async function kernelStatus(): Promise<Record<string, string>> {
    const [id = 0] = await processesWith("/wafsync/wafsync.mjs operator");
    const { readFile } = await import("node:fs/promises");
    const lines = (await readFile(`/proc/${id}/status`, "utf8")).split("\n");
    return Object.fromEntries(lines.map((line) => line.split(":\t") as [string, string]));
  }

  test("the overlay creates two ready pods, and the entries of a rule are on the WAF", async () => {
    const pods = await operatorPods(cluster);
    expect(pods).toHaveLength(2);
    expect(pods.map(({ status }) => status.containerStatuses?.[0]?.ready)).toEqual([true, true]);
    expect(pods.map(({ spec }) => spec.containers[0]?.image)).toEqual(
      Array(2).fill(`${world.imageName}:${world.imageTag}`),
    );
    expect(blocked(waf)).toEqual(["192.0.2.17"]);
  });

  test("the process has user 65532, no capability, no new privileges, a seccomp filter and a read-only root", async () => {
    const status = await kernelStatus();
    expect(status["Uid"]).toBe(["65532", "65532", "65532", "65532"].join("\t"));
    expect([status["CapBnd"], status["CapEff"]]).toEqual(Array(2).fill("0".repeat(16)));
    expect([status["NoNewPrivs"], status["Seccomp"]]).toEqual(["1", "2"]);
    const [pod] = await operatorPods(cluster);
    const write = 'require("node:fs").writeFileSync("/tmp/x","")';
    const exec = ["exec", "-n", operatorNamespace, pod?.metadata.name ?? "", "--", "/nodejs/bin/node", "-e", write];
    expect((await cluster.runKubectl(exec)).stderr).toContain("EROFS");
  });

  test("a new leader takes over when the leader is killed, and writes pending changes", async () => {
    const leader = await leaderPod(cluster);
    const [held] = await leaderProcess(leader.metadata.uid);
    kill(held ?? 0, "SIGKILL");
    await applyObjects(cluster, blockRule("shop", "scanners", ["192.0.2.17", "192.0.2.18"]));
    await waitUntilBlocked(waf, "192.0.2.18");
    const restarts = async (): Promise<number> =>
      (await operatorPods(cluster)).reduce(
        (sum, { status }) => sum + (status.containerStatuses?.[0]?.restartCount ?? 0),
        0,
      );
    await waitFor("a restart of the container", stepMs, async () => ((await restarts()) > 0 ? true : undefined));
    await rolledOut(cluster, operatorNamespace);
  });

  test("a new leader takes over when the leader is frozen, and the frozen one does not write when it wakes up", async () => {
    const leader = await leaderPod(cluster);
    const frozen = await leaderProcess(leader.metadata.uid);
    for (const id of frozen) kill(id, "SIGSTOP");
    await applyObjects(cluster, blockRule("shop", "scanners", ["192.0.2.17", "192.0.2.19"]));
    await waitUntilBlocked(waf, "192.0.2.19");
    expect((await leaderPod(cluster)).metadata.name).not.toBe(leader.metadata.name);
    // kubelet's liveness probe may have ended it already.
    for (const id of frozen) {
      try {
        kill(id, "SIGCONT");
      } catch {}
    }
    await applyObjects(cluster, blockRule("shop", "scanners", ["192.0.2.17"]));
    await waitUntilBlocked(waf, "192.0.2.19", false);
    expect(blocked(waf)).toEqual(["192.0.2.17"]);
    expect(waf.waf(apiKey).overlaps).toBe(0);
    await rolledOut(cluster, operatorNamespace);
  });

  test("a leader that loses the API server exits, restarts, and continues when the API server is back", async () => {
    const before = await operatorPods(cluster);
    const count = (pods: typeof before): number =>
      pods.reduce((sum, { status }) => sum + (status.containerStatuses?.[0]?.restartCount ?? 0), 0);
    const servers = await processesWith("kube-apiserver --etcd-servers");
    expect(servers).toHaveLength(1);
    for (const id of servers) kill(id, "SIGSTOP");
    const { promise, resolve } = Promise.withResolvers<void>();
    setTimeout(resolve, 40_000);
    await promise;
    for (const id of servers) kill(id, "SIGCONT");
    await waitFor("the restart of the leader", stepMs, async () =>
      count(await operatorPods(cluster).catch(() => [])) > count(before) ? true : undefined,
    );
    await applyObjects(cluster, blockRule("shop", "scanners", ["192.0.2.17", "192.0.2.20"]));
    await waitUntilBlocked(waf, "192.0.2.20");
    await rolledOut(cluster, operatorNamespace);
  });

  test("a rolling restart replaces both pods without losing a change", async () => {
    const before = (await operatorPods(cluster)).map(({ metadata }) => metadata.uid);
    await cluster.expectKubectl(["rollout", "restart", "deployment/wafsync", "-n", operatorNamespace]);
    await applyObjects(cluster, blockRule("shop", "scanners", ["192.0.2.17", "192.0.2.21"]));
    await rolledOut(cluster, operatorNamespace);
    await waitUntilBlocked(waf, "192.0.2.21");
    const after = await waitFor("two pods", stepMs, async () => {
      const pods = await operatorPods(cluster);
      return pods.length === 2 ? pods : undefined;
    });
    expect(after.filter(({ metadata }) => before.includes(metadata.uid))).toEqual([]);
  });

  test("an update to an image that does not exist leaves both pods running, and a rollback undoes it", async () => {
    const deployment = ["deployment/wafsync", "-n", operatorNamespace];
    await cluster.expectKubectl(["set", "image", ...deployment, "operator=localhost/no-such-image:1"]);
    await waitFor("a pod of the new image", stepMs, async () =>
      (await operatorPods(cluster)).length === 3 ? true : undefined,
    );
    const ready = (await operatorPods(cluster)).filter(({ status }) => status.containerStatuses?.[0]?.ready === true);
    expect(ready).toHaveLength(2);
    await applyObjects(cluster, blockRule("shop", "scanners", ["192.0.2.17", "192.0.2.22"]));
    await waitUntilBlocked(waf, "192.0.2.22");
    await cluster.expectKubectl(["rollout", "undo", ...deployment]);
    await rolledOut(cluster, operatorNamespace);
  });

  test("a rule of 20,000 entries is applied below the memory limit", async () => {
    const addresses = Array.from({ length: 20_000 }, (_, index) => `10.${index >> 8}.${index & 255}.1`);
    const feed = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "large", namespace: "shop", labels: { "wafsync.dev/watch": "true" } },
      data: { "addresses.txt": addresses.map((address) => address.replace(/^10\./, "198.")).join("\n") },
    };
    const rule = {
      apiVersion: "wafsync.dev/v1alpha1",
      kind: "WafIpRule",
      metadata: { name: "large", namespace: "shop" },
      spec: {
        instanceRef: { name: "shop" },
        action: "Block",
        addressesFrom: [{ configMapKeyRef: { name: "large", key: "addresses.txt" } }],
      },
    };
    await applyObjects(cluster, feed, rule);
    await cluster.expectKubectl(["wait", "--for=condition=Ready", "--timeout=400s", "-n", "shop", "wafiprule/large"]);
    expect(blocked(waf).length).toBeGreaterThan(20_000);
    const ended = (await operatorPods(cluster)).map(
      ({ status }) => status.containerStatuses?.[0]?.lastState?.terminated,
    );
    expect(ended.filter((last) => last?.reason === "OOMKilled")).toEqual([]);
    await cluster.expectKubectl(["annotate", "wafinstance", "shop", "-n", "shop", "wafsync.dev/note=large"]);
  });

  test("a Job clears the cache once, as the pipeline's Job and the nightly CronJob do", async () => {
    const nightly = await writeKustomization(world, join(deploy, "cache-clear", "nightly"));
    await cluster.expectKubectl(["apply", "--server-side", "-k", nightly]);
    const clears = waf.waf(apiKey).counters.cacheClears;
    await cluster.expectKubectl(["create", "job", "by-hand", "--from=cronjob/clear-cache-nightly", "-n", "shop"]);
    await cluster.expectKubectl(["wait", "--for=condition=Complete", "--timeout=120s", "job/by-hand", "-n", "shop"]);
    expect(waf.waf(apiKey).counters.cacheClears).toBe(clears + 1);

    const postSync = await writeKustomization(world, join(deploy, "cache-clear", "argocd-post-sync"));
    await cluster.expectKubectl(["apply", "--server-side", "--force-conflicts", "-k", postSync]);
    await cluster.expectKubectl([
      "wait",
      "--for=condition=Complete",
      "--timeout=120s",
      "job/clear-cache",
      "-n",
      "shop",
    ]);
    expect(waf.waf(apiKey).counters.cacheClears).toBe(clears + 2);
  });

  async function leaderProcess(podUid: string): Promise<number[]> {
    const { readFile } = await import("node:fs/promises");
    const ids = await processesWith("/wafsync/wafsync.mjs operator");
    const groups = await Promise.all(
      ids.map(async (id) => [id, await readFile(`/proc/${id}/cgroup`, "utf8").catch(() => "")] as const),
    );
    return groups.filter(([, group]) => group.includes(podUid)).map(([id]) => id);
  }
});
