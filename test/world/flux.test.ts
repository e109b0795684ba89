// Flux deploys the operator and the WAFs of a team from Git, with the files of deploy/flux: docs/guides/flux.md.
import { cp, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { parse } from "yaml";
import type { Simulator } from "../../src/simulator/start-simulator.ts";
import { waitFor } from "../support/builders/cluster-objects.ts";
import type { Supervisor } from "../support/control-plane/supervisor.ts";
import { startFlux } from "./flux-processes.ts";
import type { GitRepository } from "./git-repository.ts";
import { createGitRepository } from "./git-repository.ts";
import type { GitServer } from "./git-server.ts";
import { serveGit } from "./git-server.ts";
import {
  apiKey,
  applyObjects,
  blocked,
  blockRule,
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
    const [, , instance] = shopObjects("shop", waf, { guards: { maxRemovals: 50, neverBlock: ["192.0.2.0/28"] } });
    await repository.commit({
      "wafs/instance.yaml": JSON.stringify(instance),
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

  async function checkAgain(): Promise<void> {
    const request = `reconcile.fluxcd.io/requestedAt=${process.hrtime.bigint()}`;
    await cluster.expectKubectl(["annotate", "--overwrite", "kustomization", "wafs", "-n", "flux-system", request]);
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
    expect(await operatorPods(cluster)).toHaveLength(2);
    await waitForReady("wafs", "True", "ReconciliationSucceeded");
    expect(blocked(waf)).toEqual(["198.51.100.7"]);
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
    await checkAgain();
    expect(await waitForReady("wafs", "False", "HealthCheckFailed")).toContain("WafInstance/shop/shop");
    await replaceKey(cluster, "shop", apiKey);
    await cluster.expectKubectl(["wait", "--for=condition=Ready", "--timeout=120s", "wafinstance/shop", "-n", "shop"]);
    await checkAgain();
    await waitForReady("wafs", "True", "ReconciliationSucceeded");
  });

  test("removals on hold pass the health check with healthCheckExprs", async () => {
    const addresses = Array.from({ length: 120 }, (_, index) => `203.0.113.${index + 100}`);
    await commit({ "wafs/scanners.yaml": rule(["198.51.100.7", ...addresses]) });
    await waitForReady("wafs", "True", "ReconciliationSucceeded");
    await commit({ "wafs/scanners.yaml": rule(["198.51.100.7"]) });
    await waitForReady("wafs", "True", "ReconciliationSucceeded");
    const held = ["get", "wafinstance", "shop", "-n", "shop", "-o", "jsonpath={.status.heldPlan}"];
    const hash = await waitFor("a plan on hold", stepMs, async () => {
      const found = await cluster.expectKubectl(held);
      return found === "" ? undefined : found;
    });
    expect(blocked(waf)).toContain("203.0.113.219");
    const approval = `wafsync.dev/approve-removals=${hash}`;
    await cluster.expectKubectl(["annotate", "wafinstance", "shop", "-n", "shop", approval]);
    await waitUntilBlocked(waf, "203.0.113.219", false);
  });

  test("a rule that is deleted in Git is removed from the WAF", async () => {
    await commit({ "wafs/scanners.yaml": undefined });
    await waitUntilBlocked(waf, "198.51.100.7", false);
    await waitForReady("wafs", "True", "ReconciliationSucceeded");
  });
});
