// Argo CD deploys the operator and the WAFs of a team from Git, with the files of deploy/argocd: docs/guides/argocd.md.
import { cp, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Simulator } from "../../src/simulator/start-simulator.ts";
import { waitFor } from "../support/builders/cluster-objects.ts";
import type { Supervisor } from "../support/control-plane/supervisor.ts";
import type { ApplicationStatus } from "./argocd-processes.ts";
import { applicationStatus, readManifests, refresh, startArgocd } from "./argocd-processes.ts";
import type { GitRepository } from "./git-repository.ts";
import { createGitRepository } from "./git-repository.ts";
import {
  apiKey,
  applyObjects,
  blocked,
  operatorNamespace,
  operatorPods,
  removeOperator,
  replaceKey,
  shopObjects,
  startWaf,
  waitUntilBlocked,
} from "./steps.ts";
import { describeInWorld } from "./world.ts";

const deploy = join(import.meta.dirname, "..", "..", "deploy");
const stepMs = 240_000;
/** By default, refreshes are three minutes apart: this many correspond to nine minutes. */
const resyncCount = 3;

await describeInWorld("Argo CD", (world) => {
  const { cluster } = world;
  let argocd: Supervisor;
  let waf: Simulator;
  let repository: GitRepository;
  let shop: string;

  beforeAll(async () => {
    waf = await startWaf(world);
    repository = await createGitRepository(join(cluster.directory, "platform.git"));
    await cp(join(deploy, "helm"), join(repository.folder, "deploy", "helm"), { recursive: true });
    await cp(join(deploy, "cache-clear"), join(repository.folder, "deploy", "cache-clear"), { recursive: true });
    const example = await readFile(join(deploy, "argocd", "example", "shop.yaml"), "utf8");
    shop = example.replace("https://waf.example.com", waf.baseUrl);
    await repository.commit({ "shop/shop.yaml": shop });
    argocd = await startArgocd(world);
  });
  afterAll(async () => {
    await argocd?.endAll();
    await removeOperator(cluster, "shop", "blue", "red");
    await waf.close();
  });

  const source = (): string => `file://${repository.folder}`;
  async function waitForApplication(
    name: string,
    what: string,
    isSo: (status: ApplicationStatus) => boolean,
  ): Promise<ApplicationStatus> {
    let last: ApplicationStatus = {};
    try {
      return await waitFor(`${name} ${what}`, stepMs, async () => {
        last = await applicationStatus(world, name);
        return isSo(last) ? last : undefined;
      });
    } catch (error) {
      const found = `${JSON.stringify(last, undefined, 2)}\n${await argocd.describeLogs()}`;
      throw new Error(`${String(error)}\n${found}`, { cause: error });
    }
  }

  const healthy = ({ sync, health }: ApplicationStatus): boolean =>
    sync?.status === "Synced" && health?.status === "Healthy";

  async function commit(files: Readonly<Record<string, string | undefined>>): Promise<string> {
    const revision = await repository.commit(files);
    await refresh(world, "wafs");
    return revision;
  }

  const rule = (name: string, addresses: readonly string[]): string =>
    JSON.stringify({
      apiVersion: "wafsync.dev/v1alpha1",
      kind: "WafIpRule",
      metadata: { name, namespace: "shop", annotations: { "argocd.argoproj.io/sync-wave": "2" } },
      spec: { instanceRef: { name: "shop" }, action: "Block", addresses },
    });

  test("the operator's Application becomes Synced and Healthy, in a namespace that it labels", async () => {
    const [operator] = await readManifests("applications/application.yaml", source());
    const spec = operator?.spec as {
      source: Record<string, unknown> & { targetRevision: string; helm: Record<string, unknown> };
    };
    spec.source.targetRevision = "main";
    spec.source.helm["valuesObject"] = {
      image: { repository: world.imageName, tag: world.imageTag },
      operator: { allowInsecureHttp: true, allowPrivateNetworks: true },
    };
    await applyObjects(cluster, operator);
    await waitForApplication("wafsync", "Healthy", healthy);
    expect(await operatorPods(cluster)).toHaveLength(2);
    const labels = ["get", "namespace", operatorNamespace, "-o", "jsonpath={.metadata.labels}"];
    expect(JSON.parse(await cluster.expectKubectl(labels))).toMatchObject({
      "pod-security.kubernetes.io/enforce": "restricted",
    });
  });

  test("the Application of the WAFs is Healthy when everything is on the WAF, in the order of its sync waves", async () => {
    const [namespace, secret] = shopObjects("shop", waf);
    await applyObjects(cluster, namespace, secret);
    const [, wafs] = await readManifests("applications/application.yaml", source());
    await applyObjects(cluster, {
      ...wafs,
      metadata: { ...wafs?.metadata, finalizers: ["resources-finalizer.argocd.argoproj.io"] },
    });
    const { resources = [] } = await waitForApplication("wafs", "Healthy", healthy);
    expect(resources.map(({ kind, name, health }) => `${kind} ${name} ${health?.status}`).toSorted()).toEqual([
      "WafInstance shop Healthy",
      "WafIpRule offices Healthy",
      "WafIpRule scanners Healthy",
      "WafOrigin spare Healthy",
    ]);
    expect(blocked(waf)).toEqual(["198.51.100.0/24", "203.0.113.7"]);
    const writes = waf
      .requests()
      .filter(({ method }) => method === "POST")
      .map(({ path }) => path);
    const firstBlock = writes.findIndex((path) => path.includes("blocklist"));
    const lastAllow = writes.findLastIndex((path) => path.includes("allowlist") || path.includes("whitelist"));
    const lastOrigin = writes.findLastIndex((path) => path.includes("origin"));
    expect(lastAllow).toBeGreaterThanOrEqual(0);
    expect(lastOrigin).toBeGreaterThanOrEqual(0);
    expect(firstBlock).toBeGreaterThan(Math.max(lastAllow, lastOrigin));
  });

  test("an invalid key is shown as Degraded with the reason, and a valid one as Healthy", async () => {
    await replaceKey(cluster, "shop", "not-the-key-of-this-waf");
    const { resources = [] } = await waitForApplication(
      "wafs",
      "Degraded",
      ({ health }) => health?.status === "Degraded",
    );
    expect(resources.find(({ kind }) => kind === "WafInstance")?.health?.message).toMatch(/^BadApiKey: /);
    await replaceKey(cluster, "shop", apiKey);
    await waitForApplication("wafs", "Healthy", healthy);
  });

  test("a commit reaches the WAF, and a rule deleted by hand comes back", async () => {
    await commit({ "shop/more.yaml": rule("more", ["192.0.2.200"]) });
    await waitUntilBlocked(waf, "192.0.2.200");
    await waitForApplication("wafs", "Healthy", healthy);
    await cluster.expectKubectl(["delete", "wafiprule", "more", "-n", "shop"]);
    await waitForApplication(
      "wafs",
      "Healthy again",
      (status) => healthy(status) && (status.resources ?? []).some(({ name }) => name === "more"),
    );
    await waitUntilBlocked(waf, "192.0.2.200");
  });

  test("a rejected entry is shown as Degraded, with the name of the entry", async () => {
    await commit({ "shop/more.yaml": rule("more", ["192.0.2.200", "192.0.2.5"]) });
    const degraded = ({ resources = [] }: ApplicationStatus): boolean =>
      resources.some(({ name, health }) => name === "more" && health?.status === "Degraded");
    const { resources = [] } = await waitForApplication("wafs", "Degraded", degraded);
    expect(resources.find(({ name }) => name === "more")?.health?.message).toContain("192.0.2.5");
    await commit({ "shop/more.yaml": rule("more", ["192.0.2.200"]) });
    await waitForApplication("wafs", "Healthy", healthy);
  });

  test("removals on hold are shown as Suspended, and the action's annotation approves them", async () => {
    const addresses = Array.from({ length: 120 }, (_, index) => `203.0.113.${index + 100}`);
    await commit({ "shop/more.yaml": rule("more", addresses) });
    await waitUntilBlocked(waf, "203.0.113.219");
    await waitForApplication("wafs", "Healthy", healthy);
    await commit({ "shop/more.yaml": undefined });
    await waitForApplication(
      "wafs",
      "Suspended",
      ({ sync, health }) => sync?.status === "Synced" && health?.status === "Suspended",
    );
    expect(blocked(waf)).toContain("203.0.113.219");
    const hash = await cluster.expectKubectl([
      "get",
      "wafinstance",
      "shop",
      "-n",
      "shop",
      "-o",
      "jsonpath={.status.heldPlan}",
    ]);
    await cluster.expectKubectl([
      "annotate",
      "wafinstance",
      "shop",
      "-n",
      "shop",
      `wafsync.dev/approve-removals=${hash}`,
    ]);
    await waitUntilBlocked(waf, "203.0.113.219", false);
    await waitForApplication("wafs", "Healthy", healthy);
  });

  test("the PostSync Job clears the cache once for each commit", async () => {
    const clears = (): number => waf.waf(apiKey).counters.cacheClears;
    const before = clears();
    const kustomization = (
      await readFile(join(deploy, "cache-clear", "argocd-post-sync", "kustomization.yaml"), "utf8")
    ).replace("newTag:", `newName: ${world.imageName}\n    newTag:`);
    await repository.commit({ "deploy/cache-clear/argocd-post-sync/kustomization.yaml": kustomization });
    await applyObjects(cluster, {
      apiVersion: "argoproj.io/v1alpha1",
      kind: "Application",
      metadata: { name: "clears", namespace: "argocd" },
      spec: {
        project: "default",
        destination: { server: "https://kubernetes.default.svc", namespace: "shop" },
        sources: [
          {
            repoURL: source(),
            targetRevision: "main",
            path: "deploy/cache-clear/argocd-post-sync",
            kustomize: {
              commonAnnotationsEnvsubst: true,
              commonAnnotations: { "wafsync.dev/revision": "$ARGOCD_APP_REVISION" },
            },
          },
        ],
        syncPolicy: { automated: {} },
      },
    });
    const { operationState } = await waitForApplication(
      "clears",
      "synced",
      (status) => status.operationState?.phase === "Succeeded",
    );
    expect(operationState?.message).toContain("success");
    expect(clears()).toBe(before + 1);
    const trigger = ["get", "wafcacheclear", "-n", "shop", "-o", "jsonpath={.items[*].spec.trigger}"];
    expect(await cluster.expectKubectl(trigger)).toMatch(/[0-9a-f]{40}/);
  });

  test("the ApplicationSet creates an Application for each team, and a deleted folder leaves its objects in place", async () => {
    for (const name of ["red", "blue"])
      await applyObjects(cluster, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
    const config = (team: string): string =>
      JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "of-the-team", namespace: team } });
    await repository.commit({ "teams/red/config.yaml": config("red"), "teams/blue/config.yaml": config("blue") });
    const [set] = await readManifests("applications/application-set.yaml", source());
    const spec = { ...set?.spec } as { generators: { git: Record<string, unknown> }[] };
    for (const generator of spec.generators) generator.git["requeueAfterSeconds"] = 5;
    await applyObjects(cluster, set);
    await waitForApplication("waf-red", "Healthy", healthy);
    await waitForApplication("waf-blue", "Healthy", healthy);
    await repository.commit({ "teams/blue": undefined });
    await waitFor("the end of waf-blue", stepMs, async () => {
      const gone = await cluster.runKubectl(["get", "application", "waf-blue", "-n", "argocd"]);
      return gone.code === 0 ? undefined : true;
    });
    await cluster.expectKubectl(["get", "configmap", "of-the-team", "-n", "blue"]);
  });

  test("nothing drifts: both Applications stay Synced over several resyncs", async () => {
    const syncEnd = async (name: string): Promise<string | undefined> =>
      (await applicationStatus(world, name)).operationState?.finishedAt;
    for (const name of ["wafs", "wafsync"]) {
      const before = await syncEnd(name);
      expect(before).toBeDefined();
      for (let resync = 0; resync < resyncCount; resync += 1) {
        const seen = (await applicationStatus(world, name)).reconciledAt;
        await refresh(world, name);
        await waitForApplication(
          name,
          "Healthy after a resync",
          (status) => healthy(status) && status.reconciledAt !== seen,
        );
      }
      // Self-healing would have corrected drift with another sync.
      expect(await syncEnd(name)).toBe(before);
    }
  });

  test("deleting the Application with its finalizer removes the entries of its rules from the WAF", async () => {
    await cluster.expectKubectl(["delete", "application", "wafs", "-n", "argocd", "--timeout=120s"]);
    await waitFor("the end of the instance", stepMs, async () => {
      const gone = await cluster.runKubectl(["get", "wafinstance", "shop", "-n", "shop"]);
      return gone.code === 0 ? undefined : true;
    });
  });
});
