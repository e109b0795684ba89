// The chart on a real node, with the commands of docs/installation.md and docs/guides/helm.md.
import { cp, mkdtemp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Simulator } from "../../src/simulator/start-simulator.ts";
import { waitFor } from "../support/builders/cluster-objects.ts";
import { runToEnd } from "../support/control-plane/run-to-end.ts";
import {
  apiKey,
  applyObjects,
  blockRule,
  fieldOf,
  operatorPods,
  removeFinalizers,
  shopObjects,
  startWaf,
  waitUntilBlocked,
  waitUntilReady,
} from "./steps.ts";
import { describeInWorld } from "./world.ts";

const chart = join(import.meta.dirname, "..", "..", "deploy", "helm", "wafsync");
const namespace = "team-red";
const stepMs = 180_000;

await describeInWorld("the chart on a node", (world) => {
  const { cluster } = world;
  let waf: Simulator;
  const image = ["--set", `image.repository=${world.imageName}`, "--set", `image.tag=${world.imageTag}`];

  beforeAll(async () => {
    waf = await startWaf(world);
    await cluster.expectKubectl([
      "apply",
      "--server-side",
      "--force-conflicts",
      "-k",
      join(chart, "..", "..", "..", "crds"),
    ]);
  });
  afterAll(async () => {
    await helm("uninstall", "team-wafsync", "--namespace", namespace, "--ignore-not-found");
    // No operator is left that would remove the finalizer.
    await removeFinalizers(cluster, namespace, "wafinstance/shop");
    await cluster.runKubectl(["delete", "namespace", namespace, "--ignore-not-found", "--timeout=120s"]);
    await waf.close();
  });

  async function helm(...args: readonly string[]): Promise<string> {
    const ended = await runToEnd(join(world.helm ?? "", "helm"), args, {
      environment: { ...process.env, KUBECONFIG: cluster.kubeconfig, HOME: cluster.directory },
    });
    if (ended.code !== 0) throw new Error(`helm ${args.join(" ")}: ${ended.stdout}${ended.stderr}`);
    return ended.stdout;
  }

  const release = ["team-wafsync", chart, "--namespace", namespace];
  const scope = ["--set", "scope=namespaced", "--set", "crds.install=false"];
  const forSimulator = ["--set", "operator.allowInsecureHttp=true", "--set", "operator.allowPrivateNetworks=true"];

  test("a namespaced release becomes ready with Roles only, and works in its namespace", async () => {
    await helm(
      "upgrade",
      "--install",
      ...release,
      "--create-namespace",
      ...scope,
      ...image,
      ...forSimulator,
      "--wait",
      "--timeout",
      "3m",
    );
    expect(await operatorPods(cluster, namespace)).toHaveLength(2);
    await applyObjects(cluster, ...shopObjects(namespace, waf), blockRule(namespace, "scanners", ["192.0.2.17"]));
    await waitUntilReady(cluster, namespace, "wafinstance/shop", "wafiprule/scanners");
    await waitUntilBlocked(waf, "192.0.2.17");
  });

  test("an upgrade to an image that does not exist leaves both pods running, and a rollback undoes it", async () => {
    await helm("upgrade", ...release, "--reset-then-reuse-values", "--set", "image.tag=no-such-tag");
    await waitFor("a pod of the new image", stepMs, async () =>
      (await operatorPods(cluster, namespace)).length === 3 ? true : undefined,
    );
    const ready = (await operatorPods(cluster, namespace)).filter(
      ({ status }) => status.containerStatuses?.[0]?.ready === true,
    );
    expect(ready).toHaveLength(2);
    await applyObjects(cluster, blockRule(namespace, "scanners", ["192.0.2.18"]));
    await waitUntilBlocked(waf, "192.0.2.18");
    await helm("rollback", "team-wafsync", "--namespace", namespace, "--wait", "--timeout", "3m");
    expect(await operatorPods(cluster, namespace)).toHaveLength(2);
  });

  test("--reset-then-reuse-values keeps the values and takes the new chart's defaults; --reuse-values would not", async () => {
    const newer = join(await mkdtemp(join(cluster.directory, "chart-")), "wafsync");
    await cp(chart, newer, { recursive: true });
    const defaults = await readFile(join(newer, "values.yaml"), "utf8");
    expect(defaults).toContain("cpu: 50m");
    await writeFile(join(newer, "values.yaml"), defaults.replace("cpu: 50m", "cpu: 51m"));
    const upgrade = ["upgrade", "team-wafsync", newer, "--namespace", namespace];
    const reused = await helm(...upgrade, "--reuse-values", "--dry-run=client");
    expect([reused.includes("cpu: 50m"), reused.includes("cpu: 51m")]).toStrictEqual([true, false]);
    await helm(...upgrade, "--reset-then-reuse-values", "--set", "replicaCount=1", "--wait", "--timeout", "3m");
    const requests = ".spec.template.spec.containers[0].resources.requests.cpu";
    expect(await fieldOf(cluster, ["deployment/team-wafsync", "-n", namespace], requests)).toBe("51m");
    const values = JSON.parse(await helm("get", "values", "team-wafsync", "--namespace", namespace, "-o", "json")) as {
      replicaCount: number;
      scope: string;
    };
    expect([values.replicaCount, values.scope]).toStrictEqual([1, "namespaced"]);
  });

  test("uninstalling the release leaves the CRDs, the objects and the entries on the WAF", async () => {
    await helm("uninstall", "team-wafsync", "--namespace", namespace, "--wait");
    await cluster.expectKubectl(["get", "wafiprule", "scanners", "-n", namespace]);
    await cluster.expectKubectl(["get", "customresourcedefinition", "wafinstances.wafsync.dev"]);
    expect(waf.waf(apiKey).blocklist).toStrictEqual(["192.0.2.18"]);
  });
});
