// The Helm chart on a real API server: every manifest is valid and admitted, it gives what kustomize gives, and install,
// upgrade and uninstall leave alone what teams declared.
// Long: `npm run test:deploy` runs it.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createNamespace, installDefinitions, waitFor } from "../../support/builders/cluster-objects.ts";
import type { ClusterAccess } from "../../support/control-plane/cluster-access.ts";
import { chartFolder, createHelm, type Helm, objectsIn, type RenderedObject, valueSets } from "./chart.ts";
import { describeWithOwnControlPlane } from "../../support/control-plane/suite.ts";
import { withToolsIn } from "./tools-suite.ts";

const deploy = join(import.meta.dirname, "..", "..", "..", "deploy");
const sets = await valueSets();
const setMs = 60_000;
const helmLabels = [
  "helm.sh/chart",
  "app.kubernetes.io/managed-by",
  "app.kubernetes.io/instance",
  "app.kubernetes.io/version",
];

/** The object without what only one of the two ways writes: labels of Helm, and the annotation that keeps definitions. */
function comparable(object: RenderedObject): unknown {
  return JSON.parse(
    JSON.stringify(object, (name, value: unknown) => {
      if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
      const entries = Object.entries(value).filter(
        ([field, inner]) =>
          !helmLabels.includes(field) &&
          field !== "imagePullPolicy" &&
          !(field === "namespace" && name === "metadata") &&
          inner !== undefined,
      );
      const kept = Object.fromEntries(entries) as { labels?: object; annotations?: object };
      if (name === "metadata") {
        if (object.kind === "CustomResourceDefinition") delete kept.annotations;
        if (object.kind !== "Deployment") delete kept.labels;
      }
      return kept;
    }),
  ) as unknown;
}

function nameOf({ kind, metadata }: RenderedObject): string {
  return `${kind} ${metadata.name}`;
}

function byName(objects: readonly RenderedObject[]): Record<string, unknown> {
  return Object.fromEntries(objects.map((object) => [nameOf(object), comparable(object)]));
}

/** All manifests that others apply: examples for Argo CD and Flux, and the alerts. */
const otherManifests = ["argocd", "flux", "monitoring"];

const wafInstance = {
  apiVersion: "wafsync.dev/v1alpha1",
  kind: "WafInstance",
  metadata: { name: "shop" },
  spec: { baseUrl: "https://waf.example.com", apiKeySecretRef: { name: "shop-key" } },
};

await withToolsIn(describeWithOwnControlPlane, "the chart on a cluster", (tools, cluster) => {
  let helm: Helm;
  beforeAll(async () => {
    helm = await createHelm(tools.files.helm);
    await cluster.expectKubectl(["apply", "--server-side", "-f", tools.definitionsDirectory]);
    await installDefinitions(cluster);
    await named(cluster, "wafsync-system", { "pod-security.kubernetes.io/warn": "restricted" });
    await named(cluster, "argocd");
    await named(cluster, "flux-system");
    await named(cluster, "shop");
  });
  afterAll(async () => await helm.end());

  async function kustomized(overlay: string): Promise<RenderedObject[]> {
    return objectsIn(await cluster.expectKubectl(["kustomize", join(deploy, "kustomize", "overlays", overlay)]));
  }

  describe.each(sets)("with %s", (title, values) => {
    test("every manifest is what the API server wants, without a warning", async () => {
      const text = await helm.render(values);
      const file = join(helm.folder, `${title.replaceAll(/\W+/g, "-")}.yaml`);
      await writeFile(file, text);
      const apply = ["apply", "--server-side", "--force-conflicts", "--dry-run=server", "-o", "name", "-f", file];
      const ended = await cluster.runKubectl(apply);
      // A pod that is less than restricted would be a warning here, and an unknown field is an error.
      expect([ended.code, ended.stderr]).toStrictEqual([0, ""]);
      expect(ended.stdout.trim().split("\n")).toHaveLength(objectsIn(text).length);
    });
  });

  test.each(otherManifests)("the server admits all of deploy/%s", async (folder) => {
    const apply = ["apply", "--server-side", "--force-conflicts", "--dry-run=server", "-R", "-o", "name"];
    const namespace = folder === "monitoring" ? ["-n", "wafsync-system"] : [];
    const files = folder === "monitoring" ? join(deploy, folder, "prometheus-rule.yaml") : join(deploy, folder);
    const admitted = await cluster.expectKubectl([...apply, ...namespace, "-f", files]);
    expect(admitted.trim()).not.toBe("");
  });

  test("the defaults are what the cluster overlay of kustomize gives, but for the Service of the metrics", async () => {
    const { "Service wafsync-metrics": service, ...chart } = byName(objectsIn(await helm.render({})));
    const { "Namespace wafsync-system": namespace, ...overlay } = byName(await kustomized("cluster"));
    expect([service, namespace]).not.toContain(undefined);
    expect(chart).toStrictEqual(overlay);
  });

  test("the scope namespaced is what the namespaced overlay gives", async () => {
    const values = { scope: "namespaced", crds: { install: false }, metrics: { service: { enabled: false } } };
    expect(byName(objectsIn(await helm.render(values)))).toStrictEqual(byName(await kustomized("namespaced")));
  });
});

await withToolsIn(describeWithOwnControlPlane, "the chart from install to uninstall", (tools, cluster) => {
  let helm: Helm;
  const release = ["wafsync", chartFolder, "--namespace", "wafsync-system"];
  beforeAll(async () => {
    helm = await createHelm(tools.files.helm);
  });
  afterAll(async () => await helm.end());

  async function expectHelm(...args: string[]): Promise<string> {
    const ended = await helm.run(args, cluster.kubeconfig);
    if (ended.code !== 0) throw new Error(`helm ${args.join(" ")} ended with ${ended.code}: ${ended.stderr}`);
    return ended.stdout;
  }

  test("what was declared survives an upgrade and an uninstall, and a second install takes it over", async () => {
    await expectHelm("install", ...release, "--create-namespace");
    const namespace = await createNamespace(cluster, "team");
    const apply = ["apply", "--server-side", "-n", namespace, "-f", "-"];
    await waitFor("the kinds", setMs, async () => {
      const applied = await cluster.runKubectl(apply, { input: JSON.stringify(wafInstance) });
      return applied.code === 0 ? true : undefined;
    });
    const uid = async (): Promise<string> =>
      cluster.expectKubectl(["get", "wafinstance", "shop", "-n", namespace, "-o", "jsonpath={.metadata.uid}"]);
    const first = await uid();

    await expectHelm("upgrade", ...release, "--set", "replicaCount=3", "--set", "metrics.dashboard.enabled=true");
    expect(await uid()).toBe(first);
    const replicas = ["get", "deployment", "wafsync", "-n", "wafsync-system", "-o", "jsonpath={.spec.replicas}"];
    expect(await cluster.expectKubectl(replicas)).toBe("3");

    const said = await expectHelm("uninstall", "wafsync", "--namespace", "wafsync-system");
    expect(said).toContain("kept due to the resource policy");
    expect(await uid()).toBe(first);
    const left = ["get", "clusterrole,deployment", "-A", "-o", "name", "-l", "app.kubernetes.io/instance=wafsync"];
    expect(await cluster.expectKubectl(left)).toBe("");

    await expectHelm("install", ...release);
    expect(await uid()).toBe(first);
  });

  test("the running release has nothing that differs from the chart", async () => {
    const manifest = await expectHelm("get", "manifest", "wafsync", "--namespace", "wafsync-system");
    const diff = await cluster.runKubectl(["diff", "--server-side", "--force-conflicts", "-f", "-"], {
      input: manifest,
    });
    expect([diff.stdout, diff.code]).toStrictEqual(["", 0]);
  });
});

async function named(
  cluster: ClusterAccess,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): Promise<void> {
  await cluster.request({ method: "POST", path: "/api/v1/namespaces", body: { metadata: { name, labels } } });
}
