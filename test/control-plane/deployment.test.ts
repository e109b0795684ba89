// The manifests of deploy/kustomize, as kubectl renders them and as a real API server takes them.
// Long: `npm run test:deploy` runs it.
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "@jest/globals";
import { parseAllDocuments } from "yaml";
import { createNamespace, waitFor } from "../support/builders/cluster-objects.ts";
import { describeWithControlPlane } from "../support/control-plane/suite.ts";

interface PolicyRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly rules?: readonly PolicyRule[];
}

const kustomize = join(import.meta.dirname, "..", "..", "deploy", "kustomize");
const clusterOverlay = join(kustomize, "overlays", "cluster");
const namespacedOverlay = join(kustomize, "overlays", "namespaced");
const operatorNamespace = "wafsync-system";
const clusterScoped = new Set(["Namespace", "ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition"]);

/** Every right as one line, such as "get secrets.". */
function rightsOf(manifest: Manifest | undefined): string[] {
  const rules = manifest?.rules ?? [];
  return rules
    .flatMap(({ apiGroups, resources, verbs }) =>
      apiGroups.flatMap((group) => resources.flatMap((name) => verbs.map((verb) => `${verb} ${name}.${group}`))),
    )
    .sort();
}

await describeWithControlPlane("deploy/kustomize", (cluster) => {
  async function render(overlay: string): Promise<Manifest[]> {
    const text = await cluster.expectKubectl(["kustomize", overlay]);
    return parseAllDocuments(text).map((document) => document.toJS() as Manifest);
  }

  function find(manifests: readonly Manifest[], kind: string, name: string): Manifest | undefined {
    return manifests.find((manifest) => manifest.kind === kind && manifest.metadata.name === name);
  }

  async function may(user: string, verb: string, resource: string, namespace: string): Promise<boolean> {
    const args = ["auth", "can-i", verb, resource, `--namespace=${namespace}`, `--as=${user}`];
    return (await cluster.runKubectl(args)).stdout.trim() === "yes";
  }

  test("the operator of one namespace has Roles only, with the rights of the other except those for namespaces", async () => {
    const namespaced = await render(namespacedOverlay);
    expect(namespaced.filter(({ kind }) => clusterScoped.has(kind))).toStrictEqual([]);
    const role = rightsOf(find(namespaced, "Role", "wafsync-operator"));
    const clusterRole = rightsOf(find(await render(clusterOverlay), "ClusterRole", "wafsync-operator"));
    expect(role).toStrictEqual(clusterRole.filter((right) => !right.endsWith(" namespaces.")));
  });

  describe("applied", () => {
    let elsewhere: string;

    beforeAll(async () => {
      await cluster.expectKubectl(["apply", "--server-side", "--force-conflicts", "-k", clusterOverlay]);
      elsewhere = await createNamespace(cluster, "elsewhere");
    });

    test("the pods pass the restricted Pod Security of their namespace", async () => {
      const path = `/api/v1/namespaces/${operatorNamespace}/pods`;
      const pods = await waitFor("the pods of both replicas", 60_000, async () => {
        const { items } = (await cluster.request({ path })).body as { items: unknown[] };
        return items.length >= 2 ? items : undefined;
      });
      expect(pods).toHaveLength(2);
    });

    test("people with the role edit write rules, and only admins write instances", async () => {
      for (const role of ["view", "edit", "admin"]) {
        const binding = ["create", "rolebinding", role, `--clusterrole=${role}`, `--user=${role}`, "-n", elsewhere];
        await cluster.expectKubectl(binding);
      }
      await waitFor("the aggregated roles", 20_000, async () =>
        (await may("admin", "create", "wafinstances.wafsync.dev", elsewhere)) ? true : undefined,
      );
      expect(await may("view", "get", "wafinstances.wafsync.dev", elsewhere)).toBe(true);
      expect(await may("view", "create", "wafiprules.wafsync.dev", elsewhere)).toBe(false);
      expect(await may("edit", "create", "wafiprules.wafsync.dev", elsewhere)).toBe(true);
      expect(await may("edit", "create", "wafinstances.wafsync.dev", elsewhere)).toBe(false);
      for (const role of ["view", "edit", "admin"]) {
        for (const verb of ["get", "list", "create", "update", "patch", "delete", "deletecollection"]) {
          expect([role, verb, await may(role, verb, "wafrecords.wafsync.dev", elsewhere)]).toStrictEqual([
            role,
            verb,
            false,
          ]);
        }
      }
    });
  });
});
