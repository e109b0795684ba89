// Argo CD deploys the operator and the WAFs of a team from Git, with the files of deploy/argocd: docs/guides/argocd.md.
import { cp, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Simulator } from "../../src/simulator/start-simulator.ts";
import { waitFor } from "../support/builders/cluster-objects.ts";
import type { Supervisor } from "../support/control-plane/supervisor.ts";
import type { ApplicationStatus } from "./argocd-processes.ts";
import {
  applicationStatus,
  clearsApplication,
  installSettings,
  isHealthy,
  readManifests,
  refresh,
  resync,
  startArgocd,
  waitForStatus,
} from "./argocd-processes.ts";
import { driftDuringAnHour, followObjects, shortResync } from "./drift.ts";
import type { GitRepository } from "./git-repository.ts";
import { createGitRepository } from "./git-repository.ts";
import {
  apiKey,
  applyObjects,
  approveHeldPlan,
  blocked,
  blockRule,
  fieldOf,
  operatorNamespace,
  operatorPods,
  removeFinalizers,
  removeOperator,
  replaceKey,
  shopObjects,
  startWaf,
  waitForField,
  waitUntilBlocked,
} from "./steps.ts";
import { describeInWorld } from "./world.ts";

const deploy = join(import.meta.dirname, "..", "..", "deploy");
const stepMs = 240_000;
const instance = ["wafinstance", "shop", "-n", "shop"];
/** Three minutes apart by default. */
const resyncsOfAnHour = 20;

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
    await removeFinalizers(cluster, "shop", "job/clear-cache");
    await removeOperator(cluster, "shop", "blue", "red");
    await waf.close();
  });

  const source = (): string => `file://${repository.folder}`;
  const waitForApplication = (
    name: string,
    what: string,
    isSo: (status: ApplicationStatus) => boolean,
  ): Promise<ApplicationStatus> => waitForStatus(world, argocd, name, what, isSo);

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

  test("both Applications, applied together where the kinds do not exist yet, become Synced and Healthy", async () => {
    await cluster.expectKubectl(["delete", "--ignore-not-found", "-k", join(deploy, "..", "crds")]);
    await applyObjects(cluster, ...shopObjects("shop", waf).slice(0, 2));
    const [operator, wafs] = await readManifests("applications/application.yaml", source());
    const spec = operator?.spec as {
      source: Record<string, unknown> & { targetRevision: string; helm: Record<string, unknown> };
    };
    spec.source.targetRevision = "main";
    spec.source.helm["valuesObject"] = {
      image: { repository: world.imageName, tag: world.imageTag },
      operator: { allowInsecureHttp: true, allowPrivateNetworks: true },
    };
    const finalizers = ["resources-finalizer.argocd.argoproj.io"];
    await applyObjects(cluster, { ...wafs, metadata: { ...wafs?.metadata, finalizers } }, operator);
    await waitForApplication("wafsync", "Healthy", isHealthy);
    expect(await operatorPods(cluster)).toHaveLength(2);
    const labels = await fieldOf(cluster, ["namespace", operatorNamespace], ".metadata.labels");
    expect(JSON.parse(labels)).toMatchObject({
      "pod-security.kubernetes.io/enforce": "restricted",
    });
    await waitForApplication("wafs", "Healthy", isHealthy);
  });

  test("the Application of the WAFs is Healthy when everything is on the WAF, in the order of its sync waves", async () => {
    const { resources = [] } = await waitForApplication("wafs", "Healthy", isHealthy);
    expect(resources.map(({ kind, name, health }) => `${kind} ${name} ${health?.status}`).toSorted()).toStrictEqual([
      "WafInstance shop Healthy",
      "WafIpRule offices Healthy",
      "WafIpRule scanners Healthy",
      "WafOrigin spare Healthy",
    ]);
    expect(blocked(waf)).toStrictEqual(["198.51.100.0/24", "203.0.113.7"]);
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
    await waitForApplication("wafs", "Healthy", isHealthy);
  });

  test("a commit reaches the WAF, and a rule deleted by hand comes back", async () => {
    await commit({ "shop/more.yaml": rule("more", ["192.0.2.200"]) });
    await waitUntilBlocked(waf, "192.0.2.200");
    await waitForApplication("wafs", "Healthy", isHealthy);
    await cluster.expectKubectl(["delete", "wafiprule", "more", "-n", "shop"]);
    await waitForApplication(
      "wafs",
      "Healthy again",
      (status) => isHealthy(status) && (status.resources ?? []).some(({ name }) => name === "more"),
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
    await waitForApplication("wafs", "Healthy", isHealthy);
  });

  test("removals on hold are shown as Suspended, and the next sync waits for their approval, unlike kubectl", async () => {
    const addresses = Array.from({ length: 120 }, (_, index) => `203.0.113.${index + 100}`);
    await commit({ "shop/more.yaml": rule("more", addresses) });
    await waitUntilBlocked(waf, "203.0.113.219");
    await waitForApplication("wafs", "Healthy", isHealthy);
    await commit({ "shop/more.yaml": undefined });
    await waitForApplication(
      "wafs",
      "Suspended",
      ({ sync, health }) => sync?.status === "Synced" && health?.status === "Suspended",
    );
    expect(blocked(waf)).toContain("203.0.113.219");
    await commit({ "shop/late.yaml": rule("late", ["192.0.2.201"]) });
    const waits = /waiting for healthy state of wafsync.dev\/WafInstance\/shop/;
    await waitForApplication("wafs", "waiting", ({ operationState }) => waits.test(operationState?.message ?? ""));
    expect(blocked(waf)).not.toContain("192.0.2.201");
    await applyObjects(cluster, blockRule("shop", "urgent", ["192.0.2.202"]));
    await waitUntilBlocked(waf, "192.0.2.202");
    expect(blocked(waf)).not.toContain("192.0.2.201");
    await approveHeldPlan(cluster);
    await waitUntilBlocked(waf, "192.0.2.201");
    await waitUntilBlocked(waf, "203.0.113.219", false);
    await waitForApplication("wafs", "Healthy", isHealthy);
  });

  test("the PostSync Job clears the cache once for each commit", async () => {
    const clears = (): number => waf.waf(apiKey).counters.cacheClears;
    const before = clears();
    const kustomization = (
      await readFile(join(deploy, "cache-clear", "argocd-post-sync", "kustomization.yaml"), "utf8")
    ).replace("newTag:", `newName: ${world.imageName}\n    newTag:`);
    await repository.commit({ "deploy/cache-clear/argocd-post-sync/kustomization.yaml": kustomization });
    await applyObjects(cluster, clearsApplication(source()));
    const { operationState } = await waitForApplication(
      "clears",
      "synced",
      (status) => status.operationState?.phase === "Succeeded",
    );
    expect(operationState?.message).toContain("success");
    expect(clears()).toBe(before + 1);
    expect(await fieldOf(cluster, ["wafcacheclear", "-n", "shop"], ".items[*].spec.trigger")).toMatch(/[0-9a-f]{40}/);
    // Later commits would clear the cache too.
    await cluster.expectKubectl(["delete", "application", "clears", "-n", "argocd"]);
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
    await waitForApplication("waf-red", "Healthy", isHealthy);
    await waitForApplication("waf-blue", "Healthy", isHealthy);
    await repository.commit({ "teams/blue": undefined });
    await waitFor("the end of waf-blue", stepMs, async () => {
      const gone = await cluster.runKubectl(["get", "application", "waf-blue", "-n", "argocd"]);
      return gone.code === 0 ? undefined : true;
    });
    await cluster.expectKubectl(["get", "configmap", "of-the-team", "-n", "blue"]);
  });

  test("nothing drifts in an hour of resyncs: no Application leaves Synced and Healthy, and nothing is written", async () => {
    await commit({ "shop/shop.yaml": shop.replace("  guards:", `  resyncInterval: ${shortResync}\n  guards:`) });
    await waitForField(cluster, instance, ".spec.resyncInterval", shortResync);
    const names = ["wafs", "wafsync"];
    const syncEnds = async (): Promise<unknown[]> =>
      await Promise.all(names.map(async (name) => (await applicationStatus(world, name)).operationState?.finishedAt));
    const isDone = (status: ApplicationStatus): boolean =>
      isHealthy(status) && status.operationState?.phase === "Succeeded";
    for (const name of names) await waitForApplication(name, "Healthy, with no sync running", isDone);
    const before = await syncEnds();
    const format = "{.metadata.name} {.status.sync.status} {.status.health.status}";
    const follower = await followObjects(cluster, ["applications", "-n", "argocd"], format);
    const drift = await driftDuringAnHour(cluster, waf, "shop", async () => {
      for (let round = 0; round < resyncsOfAnHour; round += 1) for (const name of names) await resync(world, name);
    });
    // On a busy machine, a probe of the operator's pods may fail: that is no drift.
    const expected = ["wafs Synced Healthy", "wafsync Synced Healthy", "wafsync Synced Progressing"];
    expect((await follower.end()).filter((line) => line.startsWith("wafs") && !expected.includes(line))).toStrictEqual(
      [],
    );
    expect(drift.writes).toBe(0);
    expect(drift.generations.after).toBe(drift.generations.before);
    expect(await syncEnds()).toStrictEqual(before);
  });

  test("self-heal resumes an instance that was suspended by hand if Git sets spec.suspend", async () => {
    const revision = await commit({ "shop/shop.yaml": shop.replace("  guards:", "  suspend: false\n  guards:") });
    // Self-heal starts no sync while another one runs.
    const isDone = ({ sync, operationState }: ApplicationStatus): boolean =>
      sync?.revision === revision && sync.status === "Synced" && operationState?.phase === "Succeeded";
    await waitForApplication("wafs", "Synced to the commit", isDone);
    await cluster.expectKubectl(["patch", ...instance, "--type=merge", "--patch", '{"spec":{"suspend":true}}']);
    await waitForField(cluster, instance, ".spec.suspend", "false");
    await waitForApplication("wafs", "Healthy", isHealthy);
  });

  test("without the settings, an instance with a wrong key counts as healthy", async () => {
    const empty = JSON.stringify([{ op: "replace", path: "/data", value: {} }]);
    await cluster.expectKubectl(["patch", "configmap", "argocd-cm", "-n", "argocd", "--type=json", "--patch", empty]);
    await replaceKey(cluster, "shop", "not-the-key-of-this-waf");
    const notReady = '--for=jsonpath={.status.conditions[?(@.type=="Ready")].status}=False';
    await cluster.expectKubectl(["wait", notReady, "--timeout=180s", "wafinstance/shop", "-n", "shop"]);
    const assessed = ({ resources = [] }: ApplicationStatus): boolean => resources.some(({ health }) => health?.status);
    await waitForApplication("wafs", "Healthy without a check", (status) => isHealthy(status) && !assessed(status));
    await installSettings(cluster);
    await waitForApplication("wafs", "Degraded", ({ health }) => health?.status === "Degraded");
    await replaceKey(cluster, "shop", apiKey);
    await waitForApplication("wafs", "Healthy", isHealthy);
  });

  test("deleting the Application with its finalizer removes the entries of its rules from the WAF", async () => {
    await cluster.expectKubectl(["delete", "application", "wafs", "-n", "argocd", "--timeout=120s"]);
    await waitFor("the end of the instance", stepMs, async () => {
      const gone = await cluster.runKubectl(["get", "wafinstance", "shop", "-n", "shop"]);
      return gone.code === 0 ? undefined : true;
    });
  });
});
