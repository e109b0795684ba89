// What pipelines use, as it stands: the manifests of deploy/cache-clear with the rights that they bring, and
// `wafsync clear-cache --instance`.
// Long: `npm run test:deploy` runs it.
import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { instance, keySecret } from "../support/builders/manifests.ts";
import { slow } from "../support/processes/slowness.ts";
import { type FinishedProcess, runWafsync } from "../support/processes/wafsync-process.ts";
import { describeOperator } from "../support/worlds/operator-suite.ts";
import type { TestWaf } from "../support/worlds/operator-world.ts";
import { scratchDirectory } from "../support/worlds/scratch-directory.ts";

interface JobPod {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: {
    readonly serviceAccountName: string;
    readonly containers: readonly {
      readonly args?: readonly string[];
      readonly command?: readonly string[];
      readonly env?: readonly {
        readonly name: string;
        readonly value?: string;
        readonly valueFrom?: { readonly fieldRef?: { readonly fieldPath: string } };
      }[];
    }[];
  };
}

/** @param kubeconfig with the token of the pod's service account */
async function runContainer(pod: JobPod, kubeconfig: string): Promise<FinishedProcess> {
  const [container, ...more] = pod.spec.containers;
  if (container === undefined || more.length > 0) throw new Error("the pod has not exactly one container");
  if (container.command !== undefined) throw new Error("the container does not use the entry point of the image");
  const environment: Record<string, string> = {};
  for (const { name, value, valueFrom } of container.env ?? []) {
    environment[name] = value ?? fieldOf(pod, valueFrom?.fieldRef?.fieldPath ?? "");
  }
  const parameters = (container.args ?? []).map((argument) =>
    argument.replaceAll(/\$\(([A-Z_]+)\)/g, (whole, name: string) => environment[name] ?? whole),
  );
  return await runWafsync(parameters, { environment: { ...environment, KUBECONFIG: kubeconfig } });
}

/** The value from the downward API; empty for a missing annotation. */
function fieldOf({ metadata }: JobPod, path: string): string {
  if (path === "metadata.namespace") return metadata.namespace;
  const annotation = /^metadata\.annotations\['(.+)'\]$/.exec(path)?.[1];
  if (annotation === undefined) throw new Error(`the field ${path} is not provided for`);
  return metadata.annotations?.[annotation] ?? "";
}

const manifests = join(import.meta.dirname, "../../deploy/cache-clear");
const namespace = "shop";
const serviceAccount = "wafsync-clear-cache";
const revision = "f913b6cbf58aa5ae5ca1f8a2b149477aebcbd9d8";

await describeOperator("jobs and pipelines", (world) => {
  let waf: TestWaf;
  let kubeconfig: string;
  let before: number;

  beforeAll(async () => {
    await world().startOperator();
    const strict = { "pod-security.kubernetes.io/enforce": "restricted" };
    const body = { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace, labels: strict } };
    await world().requests.expect({ method: "POST", path: "/api/v1/namespaces", body });
    waf = world().newWaf();
    const shop = instance(namespace, world().simulator.baseUrl);
    await world().apply(keySecret(namespace, waf.key), { ...shop, metadata: { name: "shop", namespace } });
    await world().cluster.expectKubectl(["apply", "-n", namespace, "-k", join(manifests, "rights")]);
    kubeconfig = await world().cluster.kubeconfigFor(namespace, serviceAccount);
    await world().allReady(namespace);
  });

  beforeEach(() => {
    before = waf.view.counters.cacheClears;
  });

  function clears(): number {
    return waf.view.counters.cacheClears - before;
  }

  async function podOf(job: string): Promise<JobPod> {
    const path = `/api/v1/namespaces/${namespace}/pods?labelSelector=batch.kubernetes.io%2Fjob-name%3D${job}`;
    let found: JobPod | undefined;
    await world().eventually(`the pod of the job ${job}`, async () => {
      [found] = ((await world().requests.expect({ path })) as { items: readonly JobPod[] }).items;
      return found !== undefined;
    });
    return found as JobPod;
  }

  /** As a kubelet does when the container has ended well. */
  async function succeed({ metadata: { name } }: JobPod): Promise<void> {
    const path = `/api/v1/namespaces/${namespace}/pods/${name}/status`;
    const contentType = "application/merge-patch+json";
    const now = new Date().toISOString();
    const condition = { type: "Ready", status: "False", reason: "PodCompleted", lastTransitionTime: now };
    const body = { status: { phase: "Succeeded", startTime: now, conditions: [condition] } };
    await world().requests.expect({ method: "PATCH", path, contentType, body });
  }

  async function objects() {
    return (await world().objects(namespace)).filter(({ kind }) => kind === "WafCacheClear");
  }

  /** Applies the manifest as Argo CD does at a sync, and runs the container of the resulting pod. */
  async function sync(annotations: Readonly<Record<string, string>>) {
    const { cluster } = world();
    await using scratch = await scratchDirectory({});
    await cp(manifests, scratch.path, { recursive: true });
    const folder = join(scratch.path, "argocd-post-sync");
    const file = join(folder, "kustomization.yaml");
    const addition = Object.keys(annotations).length === 0 ? "" : `commonAnnotations: ${JSON.stringify(annotations)}\n`;
    await writeFile(file, `${await readFile(file, "utf8")}${addition}`);
    await cluster.expectKubectl(["delete", "-n", namespace, "job", "clear-cache", "--ignore-not-found", "--wait"]);
    await cluster.expectKubectl(["apply", "-k", folder]);
    const pod = await podOf("clear-cache");
    expect(pod.spec.serviceAccountName).toBe(serviceAccount);
    const finished = await runContainer(pod, kubeconfig);
    if (finished.code === 0) {
      await succeed(pod);
      await cluster.expectKubectl([
        "wait",
        "-n",
        namespace,
        "--for=condition=Complete",
        "job/clear-cache",
        `--timeout=${slow(60)}s`,
      ]);
    }
    return finished;
  }

  test("the Argo CD hook clears once for each revision, which is the trigger", async () => {
    const first = await sync({ "wafsync.dev/revision": revision });
    expect(first).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("The cache of WafInstance shop/shop is cleared"),
    });
    expect(clears()).toBe(1);
    expect((await objects()).map(({ spec }) => spec["trigger"])).toStrictEqual([revision]);
    expect((await sync({ "wafsync.dev/revision": revision })).code).toBe(0);
    expect(clears()).toBe(1);
    expect((await sync({ "wafsync.dev/revision": "another" })).code).toBe(0);
    expect(clears()).toBe(2);
  });

  test("the rights of the manifests are to create and get cache clears and to get instances, and nothing else", async () => {
    const { cluster } = world();
    const as = ["-n", namespace, `--as=system:serviceaccount:${namespace}:${serviceAccount}`];
    const list = await cluster.expectKubectl(["auth", "can-i", "--list", "--no-headers", ...as]);
    const rights = list.split("\n").filter((line) => /^\S+/.test(line) && !/^\S*\.k8s\.io/.test(line));
    expect(rights.toSorted()).toStrictEqual([
      expect.stringMatching(/^wafcacheclears\.wafsync\.dev .* \[create get\]$/),
      expect.stringMatching(/^wafinstances\.wafsync\.dev .* \[get\]$/),
    ]);
    for (const right of [
      ["get", "secrets"],
      ["list", "wafcacheclears"],
      ["patch", "wafcacheclears"],
      ["list", "wafinstances"],
      ["patch", "wafinstances"],
    ]) {
      expect((await cluster.runKubectl(["auth", "can-i", ...right, ...as])).stdout.trim()).toBe("no");
    }
  });

  describe("wafsync clear-cache --instance", () => {
    const run = async (...parameters: readonly string[]) =>
      await runWafsync(["clear-cache", "--kubeconfig", kubeconfig, ...parameters]);

    test("tells how the clear ended, as text and as JSON, and finds the object of the same trigger again", async () => {
      const parameters = ["--instance", "shop", "--trigger", "v1", "--wait", "-o", "json"];
      const first = await run(...parameters);
      expect(first.code).toBe(0);
      const outcome = JSON.parse(first.stdout) as { object: string };
      expect(outcome).toMatchObject({ state: "Cleared", attempts: 1 });
      expect(outcome.object).toMatch(/^shop\/shop-clear-[0-9a-f]{10}$/);
      const second = await run(...parameters);
      expect(second.code).toBe(0);
      expect(JSON.parse(second.stdout)).toMatchObject({ state: "AlreadyHandled", object: outcome.object });
      const inWords = await run("--instance", "shop/shop", "--trigger", "v1");
      expect(inWords.stdout).toContain('was already cleared for trigger "v1"');
      expect(inWords.stdout).toContain("nothing was done");
      await world().requests.expect({
        method: "DELETE",
        path: `/apis/wafsync.dev/v1alpha1/namespaces/${outcome.object.replace("/", "/wafcacheclears/")}`,
      });
      const third = await run("--instance", "shop/shop", "--trigger", "v1", "--wait");
      expect(third).toMatchObject({ code: 0, stdout: expect.stringContaining("nothing was done") });
      expect(clears()).toBe(1);
    });

    test("says what is missing: rights, an instance, an answer in time, a cluster", async () => {
      const forbidden = await run("--instance", "default/shop");
      expect(forbidden).toMatchObject({ code: 2, stdout: "" });
      expect(forbidden.stderr).toMatch(/^error: the WafCacheClear was not created: .*forbidden/);
      expect(forbidden.stderr).toContain(
        "This command needs permission to create and get wafcacheclears in namespace default.",
      );
      const before = (await objects()).length;
      for (const more of [[], ["--wait"]]) {
        const missing = await run("--instance", "shop/shopp", ...more);
        expect(missing).toMatchObject({ code: 2, stdout: "" });
        expect(missing.stderr).toContain("there is no WafInstance shop/shopp");
      }
      expect(await objects()).toHaveLength(before);
      const nowhere = await runWafsync(["clear-cache", "--kubeconfig", "/none", "--instance", "shop/shop"]);
      expect(nowhere).toMatchObject({ code: 2, stderr: expect.stringContaining("cannot reach the cluster") });
      expect(await run("--instance", "a/b/c")).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("NAMESPACE/NAME"),
      });
      expect(await run()).toMatchObject({ code: 2, stderr: expect.stringContaining("--instance NAMESPACE/NAME") });
      const both = await run("--instance", "shop/shop", "--base-url", "https://waf.example");
      expect(both).toMatchObject({ code: 2, stderr: expect.stringContaining("cannot be used with") });
      expect(clears()).toBe(0);
    });
  });
});
