// The operator of one namespace as pods, with the commands of docs/installation.md and docs/operations/operator.md; and what
// its image holds and takes.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Simulator } from "../../src/simulator/start-simulator.ts";
import { waitFor } from "../support/builders/cluster-objects.ts";
import { memoryOf, processesOfPod, recordMeasurement, secondsToReady } from "./measurements.ts";
import {
  apiKey,
  applyObjects,
  applyOverlay,
  blockRule,
  leaderPod,
  operatorNamespace,
  operatorPods,
  removeOperator,
  rolledOut,
  shopObjects,
  simulatorArguments,
  startWaf,
  waitUntilBlocked,
  waitUntilReady,
  withArguments,
} from "./steps.ts";
import { describeInWorld } from "./world.ts";

const crds = join(import.meta.dirname, "..", "..", "crds");
const stepMs = 180_000;

await describeInWorld("the operator of one namespace on a node", (world) => {
  const { cluster } = world;
  let waf: Simulator;

  beforeAll(async () => {
    waf = await startWaf(world);
    await cluster.expectKubectl(["apply", "--server-side", "--force-conflicts", "-k", crds]);
    await applyObjects(cluster, {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: operatorNamespace, labels: { "pod-security.kubernetes.io/enforce": "restricted" } },
    });
    await applyOverlay(world, "kustomize/overlays/namespaced", withArguments(...simulatorArguments));
    await rolledOut(cluster, operatorNamespace);
  });
  afterAll(async () => {
    await removeOperator(cluster, "elsewhere");
    await waf.close();
  });

  test("two pods become ready below restricted Pod Security, without a ClusterRole", async () => {
    expect(await operatorPods(cluster)).toHaveLength(2);
    const bindings = ["get", "clusterrolebindings", "-o", "jsonpath={.items[*].subjects[*].namespace}"];
    expect((await cluster.expectKubectl(bindings)).split(" ")).not.toContain(operatorNamespace);
  });

  test("an instance of the namespace is reconciled, and one of another namespace is left alone", async () => {
    // The older instance with a key would win.
    await applyObjects(cluster, ...shopObjects("elsewhere", waf), blockRule("elsewhere", "scanners", ["192.0.2.99"]));
    const [, , instance] = shopObjects(operatorNamespace, waf);
    // As docs/installation.md creates the Secret: an editor ends the file with a line break.
    const key = join(cluster.directory, "key.txt");
    await writeFile(key, `${apiKey}\n`);
    const secret = ["secret", "generic", "shop-waf-key", "-n", operatorNamespace, `--from-file=apiKey=${key}`];
    await cluster.expectKubectl(["create", ...secret]);
    await applyObjects(cluster, instance, blockRule(operatorNamespace, "scanners", ["192.0.2.17"]));
    await waitUntilReady(cluster, operatorNamespace, "wafinstance/shop", "wafiprule/scanners");
    await waitUntilBlocked(waf, "192.0.2.17");
    const elsewhere = ["get", "wafinstance/shop", "wafiprule/scanners", "-n", "elsewhere", "-o"];
    // What the API server sets on an object without a status.
    expect(await cluster.expectKubectl([...elsewhere, "jsonpath={.items[*].status.observedGeneration}"])).toBe("-1 -1");
    expect(await cluster.expectKubectl([...elsewhere, "jsonpath={.items[*].metadata.finalizers}"])).toBe("");
    await waitUntilBlocked(waf, "192.0.2.99", false);
  });

  test("a rule with 10,000 IPv6 addresses needs server-side apply", async () => {
    const addresses = Array.from(
      { length: 10_000 },
      (_, index) => `2001:db8:1234:5678:9abc:def0:${index.toString(16)}:1`,
    );
    const file = join(cluster.directory, "large.json");
    await writeFile(file, JSON.stringify(blockRule(operatorNamespace, "large", addresses)));
    const dryRun = ["apply", "--dry-run=server", "-f", file];
    expect((await cluster.runKubectl(dryRun)).stderr).toContain("metadata.annotations: Too long");
    await cluster.expectKubectl([...dryRun, "--server-side"]);
  });

  test("the image has the labels of OCI, and an SBOM of what is in it", async () => {
    const label = (name: string): string | undefined => world.imageLabels[`org.opencontainers.image.${name}`];
    expect([label("title"), label("version"), label("licenses")]).toStrictEqual([
      "wafsync",
      world.imageTag,
      "Apache-2.0",
    ]);
    expect(label("revision")).toMatch(/^[0-9a-f]{40}$/);
    expect(label("description")).not.toBe("");
    const print = 'process.stdout.write(require("node:fs").readFileSync("/wafsync/sbom.cdx.json"))';
    const [pod] = await operatorPods(cluster);
    const node = ["exec", "-n", operatorNamespace, pod?.metadata.name ?? "", "--", "/nodejs/bin/node", "-e", print];
    const sbom = JSON.parse(await cluster.expectKubectl(node)) as {
      readonly bomFormat: string;
      readonly components: readonly { readonly name: string }[];
    };
    expect(sbom.bomFormat).toBe("CycloneDX");
    expect(sbom.components.map(({ name }) => name)).toContain("zod");
  });

  test("a new pod becomes ready, and an idle one stays within the memory that it requests", async () => {
    const leader = await leaderPod(cluster);
    const before = await operatorPods(cluster);
    const standby = before.find(({ metadata }) => metadata.uid !== leader.metadata.uid);
    await cluster.expectKubectl([
      "delete",
      "pod",
      standby?.metadata.name ?? "",
      "-n",
      operatorNamespace,
      "--wait=false",
    ]);
    const known = new Set(before.map(({ metadata }) => metadata.uid));
    const fresh = await waitFor("a new pod", stepMs, async () =>
      (await operatorPods(cluster)).find(({ metadata }) => !known.has(metadata.uid)),
    );
    const seconds = await secondsToReady(fresh.metadata.uid);
    await recordMeasurement("Start of the operator", `${seconds.toFixed(1)} s until it is ready`);
    const [id = 0] = await processesOfPod(leader.metadata.uid);
    const { nowMiB } = await memoryOf(id);
    await recordMeasurement("Memory of the idle operator", `${nowMiB} MiB`);
    expect(nowMiB).toBeLessThanOrEqual(requestedMiB(leader));
    await rolledOut(cluster, operatorNamespace);
  });

  function requestedMiB(pod: Awaited<ReturnType<typeof leaderPod>>): number {
    return Number.parseInt(pod.spec.containers[0]?.resources.requests.memory ?? "", 10);
  }
});
