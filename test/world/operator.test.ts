// The operator as users run it: two pods of deploy/kustomize on a real node, in a namespace with restricted Pod Security.
import { existsSync } from "node:fs";
import { kill } from "node:process";
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
} from "./steps.ts";
import { followObjects } from "./drift.ts";
import { kernelStatus, memoryOf, processesOfPod, recordMeasurement } from "./measurements.ts";
import { describeInWorld } from "./world.ts";

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

  test("the overlay creates two ready pods, and the entries of a rule are on the WAF", async () => {
    const pods = await operatorPods(cluster);
    expect(pods).toHaveLength(2);
    expect(pods.map(({ status }) => status.containerStatuses?.[0]?.ready)).toStrictEqual([true, true]);
    expect(pods.map(({ spec }) => spec.containers[0]?.image)).toStrictEqual(
      Array(2).fill(`${world.imageName}:${world.imageTag}`),
    );
    expect(blocked(waf)).toStrictEqual(["192.0.2.17"]);
  });

  test("the process has user 65532, no capability, no new privileges, a seccomp filter and a read-only root", async () => {
    const [pod] = await operatorPods(cluster);
    const [id = 0] = await processesOfPod(pod?.metadata.uid ?? "");
    const status = await kernelStatus(id);
    expect(status["Uid"]).toBe(["65532", "65532", "65532", "65532"].join("\t"));
    expect([status["CapBnd"], status["CapEff"]]).toStrictEqual(Array(2).fill("0".repeat(16)));
    expect([status["NoNewPrivs"], status["Seccomp"]]).toStrictEqual(["1", "2"]);
    const write = 'require("node:fs").writeFileSync("/tmp/x","")';
    const exec = ["exec", "-n", operatorNamespace, pod?.metadata.name ?? "", "--", "/nodejs/bin/node", "-e", write];
    expect((await cluster.runKubectl(exec)).stderr).toContain("EROFS");
  });

  test("a new leader takes over when the leader is killed, and writes pending changes", async () => {
    const leader = await leaderPod(cluster);
    const [held] = await processesOfPod(leader.metadata.uid);
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
    const frozen = await processesOfPod(leader.metadata.uid);
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
    expect(blocked(waf)).toStrictEqual(["192.0.2.17"]);
    expect(waf.waf(apiKey).overlaps).toBe(0);
    await rolledOut(cluster, operatorNamespace);
  });

  test("a leader that loses the API server exits, restarts, and continues when the API server is back", async () => {
    const before = await operatorPods(cluster);
    const count = (pods: typeof before): number =>
      pods.reduce((sum, { status }) => sum + (status.containerStatuses?.[0]?.restartCount ?? 0), 0);
    const [leader = 0] = await processesOfPod((await leaderPod(cluster)).metadata.uid);
    const servers = await processesWith("kube-apiserver --etcd-servers");
    expect(servers).toHaveLength(1);
    for (const id of servers) kill(id, "SIGSTOP");
    await waitFor("the end of the leader", stepMs, async () => (existsSync(`/proc/${leader}`) ? undefined : true));
    for (const id of servers) kill(id, "SIGCONT");
    await waitFor("the restart of the leader", stepMs, async () =>
      count(await operatorPods(cluster).catch(() => [])) > count(before) ? true : undefined,
    );
    await applyObjects(cluster, blockRule("shop", "scanners", ["192.0.2.17", "192.0.2.20"]));
    await waitUntilBlocked(waf, "192.0.2.20");
    await rolledOut(cluster, operatorNamespace);
  });

  test("a rolling restart replaces pods one by one, hands the Lease over, and loses no change", async () => {
    const before = (await operatorPods(cluster)).map(({ metadata }) => metadata.uid);
    const of = ["-n", operatorNamespace];
    const ready = await followObjects(cluster, ["deployment", "wafsync", ...of], "{.status.readyReplicas}");
    const holders = await followObjects(
      cluster,
      ["lease", "wafsync-operator", ...of],
      "held by <{.spec.holderIdentity}>",
    );
    await cluster.expectKubectl(["rollout", "restart", "deployment/wafsync", ...of]);
    await applyObjects(cluster, blockRule("shop", "scanners", ["192.0.2.17", "192.0.2.21"]));
    await rolledOut(cluster, operatorNamespace);
    await waitUntilBlocked(waf, "192.0.2.21");
    const after = await waitFor("two pods", stepMs, async () => {
      const pods = await operatorPods(cluster);
      return pods.length === 2 ? pods : undefined;
    });
    expect(after.filter(({ metadata }) => before.includes(metadata.uid))).toStrictEqual([]);
    // The former leader may still be shutting down when the rollout is complete.
    const leader = await leaderPod(cluster);
    expect(after.map(({ metadata }) => metadata.uid)).toContain(leader.metadata.uid);
    expect((await ready.end()).filter((count) => Number(count) < 2)).toStrictEqual([]);
    // The leader releases the Lease, so nobody waits until it expires.
    expect(await holders.end()).toContain("held by <>");
  });

  test("an image that no registry has gives ImagePullBackOff and leaves both pods running, and a rollback ends it", async () => {
    const deployment = ["deployment/wafsync", "-n", operatorNamespace];
    await cluster.expectKubectl(["set", "image", ...deployment, "operator=wafsync:0.1.0"]);
    await waitFor("a pod of the new image", stepMs, async () =>
      (await operatorPods(cluster)).length === 3 ? true : undefined,
    );
    const reasons = ["get", "pods", "-n", operatorNamespace, "-o", "jsonpath={..state.waiting.reason}"];
    await waitFor("ImagePullBackOff", stepMs, async () =>
      (await cluster.expectKubectl(reasons)) === "ImagePullBackOff" ? true : undefined,
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
      metadata: { name: "large", namespace: "shop" },
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
    const [id = 0] = await processesOfPod((await leaderPod(cluster)).metadata.uid);
    await recordMeasurement("Memory with 20,000 entries", `at most ${(await memoryOf(id)).peakMiB} MiB`);
    const ended = (await operatorPods(cluster)).map(
      ({ status }) => status.containerStatuses?.[0]?.lastState?.terminated,
    );
    expect(ended.filter((last) => last?.reason === "OOMKilled")).toStrictEqual([]);
  });
});
