// Flux deploys the operator and the WAFs of a team from Git, with the files of deploy/flux: docs/guides/flux.md.
import { cp, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { parse } from "yaml";
import type { Simulator } from "../../src/simulator/start-simulator.ts";
import { waitFor } from "../support/builders/cluster-objects.ts";
import type { Supervisor } from "../support/control-plane/supervisor.ts";
import { driftDuringAnHour, followObjects, shortResync } from "./drift.ts";
import { startFlux } from "./flux-processes.ts";
import type { GitRepository } from "./git-repository.ts";
import { createGitRepository } from "./git-repository.ts";
import type { GitServer } from "./git-server.ts";
import { serveGit } from "./git-server.ts";
import {
  apiKey,
  applyObjects,
  approveHeldPlan,
  blocked,
  blockRule,
  fieldOf,
  operatorPods,
  removeOperator,
  replaceKey,
  shopObjects,
  simulatorArguments,
  startWaf,
  waitUntilBlocked,
  withArguments,
} from "./steps.ts";
import { describeInWorld } from "./world.ts";

const root = join(import.meta.dirname, "..", "..");
const stepMs = 240_000;
/** Ten minutes apart in deploy/flux/wafs.yaml. */
const intervalsOfAnHour = 6;
type Manifest = { readonly metadata: { readonly name: string }; readonly spec: Record<string, unknown> };

await describeInWorld("Flux", (world) => {
  const { cluster } = world;
  let flux: Supervisor;
  let waf: Simulator;
  let repository: GitRepository;
  let server: GitServer;

  beforeAll(async () => {
    waf = await startWaf(world);
    repository = await createGitRepository(join(cluster.directory, "fleet"));
    for (const folder of ["deploy/kustomize", "crds"])
      await cp(join(root, folder), join(repository.folder, folder), { recursive: true });
    await repository.commit({
      "wafs/instance.yaml": JSON.stringify(instance("30s")),
      "wafs/scanners.yaml": rule(["198.51.100.7"]),
    });
    server = await serveGit(repository.folder);
    flux = await startFlux(world);
  });
  afterAll(async () => {
    // Flux has to remove its finalizers.
    const fluxObjects = ["kustomizations.kustomize.toolkit.fluxcd.io", "gitrepositories.source.toolkit.fluxcd.io"];
    for (const kind of fluxObjects) await cluster.runKubectl(["delete", kind, "--all", "-A", "--timeout=60s"]);
    await flux?.endAll();
    await removeOperator(cluster, "shop", "flux-system");
    server?.close();
    await waf.close();
  });

  const rule = (addresses: readonly string[]): string => JSON.stringify(blockRule("shop", "scanners", addresses));

  function instance(resyncInterval: string): unknown {
    const guards = { maxRemovals: 50, neverBlock: ["192.0.2.0/28"] };
    return shopObjects("shop", waf, { guards, resyncInterval })[2];
  }

  async function readManifest(name: string): Promise<Manifest> {
    return parse(await readFile(join(root, "deploy", "flux", name), "utf8")) as Manifest;
  }

  /** Commits, and asks Flux to read the repository now, as `flux reconcile source git fleet` does. */
  async function commit(files: Readonly<Record<string, string | undefined>>): Promise<void> {
    await repository.commit(files);
    const request = `reconcile.fluxcd.io/requestedAt=${process.hrtime.bigint()}`;
    await cluster.expectKubectl(["annotate", "--overwrite", "gitrepository", "fleet", "-n", "flux-system", request]);
  }

  /** Waits until `Ready` of a Kustomization has the wanted status for the newest commit. Returns its message. */
  async function waitForReady(name: string, status: string, reason: string): Promise<string> {
    const revision = await repository.head();
    let last: unknown;
    try {
      return await waitFor(`${name}: ${status}, ${reason}`, stepMs, async () => {
        const path = `/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/flux-system/kustomizations/${name}`;
        const { status: found } = (await cluster.request({ path })).body as {
          status?: {
            lastAttemptedRevision?: string;
            conditions?: { type: string; status: string; reason: string; message: string }[];
          };
        };
        last = found;
        if (found?.lastAttemptedRevision?.endsWith(revision) !== true) return undefined;
        const ready = found.conditions?.find(({ type }) => type === "Ready");
        return ready?.status === status && ready.reason === reason ? ready.message : undefined;
      });
    } catch (error) {
      const found = `${JSON.stringify(last, undefined, 2)}\n${await flux.describeLogs()}`;
      throw new Error(`${String(error)}\n${found}`, { cause: error });
    }
  }

  /** As `flux reconcile kustomization NAME` does it. */
  async function reconcileNow(name: string): Promise<void> {
    const time = String(process.hrtime.bigint());
    const of = ["kustomization", name, "-n", "flux-system"];
    await cluster.expectKubectl(["annotate", "--overwrite", ...of, `reconcile.fluxcd.io/requestedAt=${time}`]);
    const handled = `--for=jsonpath={.status.lastHandledReconcileAt}=${time}`;
    await cluster.expectKubectl(["wait", handled, "--timeout=180s", ...of]);
  }

  /** `MESSAGE COUNT` of the events by which Flux reports what an apply created or changed. */
  async function changesByFlux(): Promise<string[]> {
    const format = '{range .items[?(@.reason=="Progressing")]}{.message} {.count}{"\\n"}{end}';
    const events = await cluster.expectKubectl(["get", "events", "-n", "flux-system", "-o", `jsonpath=${format}`]);
    return events.split("\n").toSorted();
  }

  test("both Kustomizations become Ready, the operator first, and then the rule is on the WAF", async () => {
    const operator = await readManifest("operator.yaml");
    const wafs = await readManifest("wafs.yaml");
    const { patches } = withArguments(...simulatorArguments);
    const [namespace, secret] = shopObjects("shop", waf);
    await applyObjects(cluster, namespace, secret);
    await applyObjects(
      cluster,
      {
        apiVersion: "source.toolkit.fluxcd.io/v1",
        kind: "GitRepository",
        metadata: { name: "fleet", namespace: "flux-system" },
        spec: { url: `${server.url}/.git`, ref: { branch: "main" }, interval: "10m" },
      },
      {
        ...operator,
        spec: {
          ...operator.spec,
          images: [{ name: "wafsync", newName: world.imageName, newTag: world.imageTag }],
          patches,
        },
      },
      { ...wafs, spec: { ...wafs.spec, timeout: "1m" } },
    );
    await waitForReady("wafsync", "True", "ReconciliationSucceeded");
    const waits = "--field-selector=reason=DependencyNotReady,involvedObject.name=wafs";
    expect(await cluster.expectKubectl(["get", "events", "-n", "flux-system", waits, "-o", "name"])).not.toBe("");
    expect(await operatorPods(cluster)).toHaveLength(2);
    await waitForReady("wafs", "True", "ReconciliationSucceeded");
    expect(blocked(waf)).toStrictEqual(["198.51.100.7"]);
  });

  test("a rejected entry fails the health check early, with the name of the rule", async () => {
    await commit({ "wafs/scanners.yaml": rule(["198.51.100.7", "192.0.2.5"]) });
    expect(await waitForReady("wafs", "False", "HealthCheckFailed")).toContain("WafIpRule/shop/scanners");
    await commit({ "wafs/scanners.yaml": rule(["198.51.100.7"]) });
    await waitForReady("wafs", "True", "ReconciliationSucceeded");
  });

  test("an invalid key fails the health check, and a valid one passes it", async () => {
    await replaceKey(cluster, "shop", "not-the-key-of-this-waf");
    const notReady = '--for=jsonpath={.status.conditions[?(@.type=="Ready")].status}=False';
    await cluster.expectKubectl(["wait", notReady, "--timeout=120s", "wafinstance/shop", "-n", "shop"]);
    await reconcileNow("wafs");
    expect(await waitForReady("wafs", "False", "HealthCheckFailed")).toContain("WafInstance/shop/shop");
    await replaceKey(cluster, "shop", apiKey);
    await cluster.expectKubectl(["wait", "--for=condition=Ready", "--timeout=120s", "wafinstance/shop", "-n", "shop"]);
    await reconcileNow("wafs");
    await waitForReady("wafs", "True", "ReconciliationSucceeded");
  });

  test("removals on hold pass the health check with healthCheckExprs, and Flux can remove the approval's annotation", async () => {
    const addresses = Array.from({ length: 120 }, (_, index) => `203.0.113.${index + 100}`);
    await commit({ "wafs/scanners.yaml": rule(["198.51.100.7", ...addresses]) });
    await waitForReady("wafs", "True", "ReconciliationSucceeded");
    await commit({ "wafs/scanners.yaml": rule(["198.51.100.7"]) });
    await waitForReady("wafs", "True", "ReconciliationSucceeded");
    expect(blocked(waf)).toContain("203.0.113.219");
    await approveHeldPlan(cluster);
    await reconcileNow("wafs");
    const annotations = await fieldOf(cluster, ["wafinstance", "shop", "-n", "shop"], ".metadata.annotations");
    expect(annotations).not.toContain("approve-removals");
    await waitUntilBlocked(waf, "203.0.113.219", false);
  });

  test("what kubectl changed by hand is undone, and what another field manager added stays", async () => {
    const instance = ["wafinstance", "shop", "-n", "shop"];
    const suspend = ["patch", ...instance, "--type=merge", "--patch", '{"spec":{"suspend":true}}'];
    await cluster.expectKubectl(suspend);
    await cluster.expectKubectl(["annotate", ...instance, "example.com/note=by-hand"]);
    await reconcileNow("wafs");
    expect(await fieldOf(cluster, instance, ".spec.suspend")).not.toBe("true");
    expect(await fieldOf(cluster, instance, ".metadata.annotations.example\\.com/note")).toBe("");

    await cluster.expectKubectl([...suspend, "--field-manager=responder"]);
    await reconcileNow("wafs");
    expect(await fieldOf(cluster, instance, ".spec.suspend")).toBe("true");
    const resume = ["--type=json", "--patch", '[{"op":"remove","path":"/spec/suspend"}]'];
    await cluster.expectKubectl(["patch", ...instance, ...resume, "--field-manager=responder"]);
    await reconcileNow("wafs");
  });

  test("kubectl installs the overlay from the Git repository", async () => {
    const rendered = await cluster.expectKubectl([
      "kustomize",
      `${server.url}/.git//deploy/kustomize/overlays/cluster?ref=main`,
    ]);
    const local = await cluster.expectKubectl(["kustomize", join(root, "deploy", "kustomize", "overlays", "cluster")]);
    expect(rendered).toBe(local);
  });

  test("nothing drifts in an hour of resyncs: no Kustomization fails or changes an object, and nothing is written", async () => {
    await commit({ "wafs/instance.yaml": JSON.stringify(instance(shortResync)) });
    await waitForReady("wafs", "True", "ReconciliationSucceeded");
    const names = ["wafs", "wafsync"];
    const before = await changesByFlux();
    expect(before).not.toStrictEqual([]);
    const format = '{.metadata.name} {.status.conditions[?(@.type=="Ready")].status}';
    const follower = await followObjects(cluster, ["kustomizations", "-n", "flux-system"], format);
    const drift = await driftDuringAnHour(cluster, waf, "shop", async () => {
      for (let resync = 0; resync < intervalsOfAnHour; resync += 1) for (const name of names) await reconcileNow(name);
    });
    expect((await follower.end()).filter((line) => !/ (?:True|Unknown)$/.test(line))).toStrictEqual([]);
    expect(drift.writes).toBe(0);
    expect(drift.generations.after).toBe(drift.generations.before);
    expect(await changesByFlux()).toStrictEqual(before);
  });

  test("a rule that is deleted in Git is removed from the WAF", async () => {
    await commit({ "wafs/scanners.yaml": undefined });
    await waitUntilBlocked(waf, "198.51.100.7", false);
    await waitForReady("wafs", "True", "ReconciliationSucceeded");
  });
});
