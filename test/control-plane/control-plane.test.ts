// Long: `npm run test:deploy` runs it.
import { beforeAll, expect, test } from "@jest/globals";
import { createNamespace, waitFor } from "../support/builders/cluster-objects.ts";
import { describeWithOwnControlPlane } from "../support/control-plane/suite.ts";
import { slow } from "../support/processes/slowness.ts";

const definition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "probes.example.wafsync.dev" },
  spec: {
    group: "example.wafsync.dev",
    names: { kind: "Probe", plural: "probes" },
    scope: "Namespaced",
    versions: [
      { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object", properties: {} } } },
    ],
  },
};

await describeWithOwnControlPlane("the control plane of the tests", (controlPlane) => {
  const probesIn = (namespace: string): string => `/apis/example.wafsync.dev/v1/namespaces/${namespace}/probes`;

  async function createProbe(namespace: string, metadata: object): Promise<void> {
    const body = { apiVersion: "example.wafsync.dev/v1", kind: "Probe", metadata };
    const answer = await controlPlane.request({ method: "POST", path: probesIn(namespace), body });
    expect(answer).toMatchObject({ status: 201 });
  }

  async function isGone(path: string): Promise<true | undefined> {
    return (await controlPlane.request({ path })).status === 404 ? true : undefined;
  }

  beforeAll(async () => {
    await controlPlane.expectKubectl(["apply", "-f", "-"], { input: JSON.stringify(definition) });
    await controlPlane.expectKubectl(["wait", "--for=condition=Established", `crd/${definition.metadata.name}`]);
  });

  test("the server names its version", async () => {
    const answer = await controlPlane.request({ path: "/version" });
    expect(answer.body).toMatchObject({ major: "1", gitVersion: expect.stringMatching(/^v1\.\d+\.\d+/) });
  });

  test("a service account may do nothing until a role says so", async () => {
    const namespace = await createNamespace(controlPlane, "rights");
    // The account is made by kube-controller-manager, a moment after its namespace.
    const kubeconfig = await waitFor("the service account", 60_000, async () => {
      return await controlPlane.kubeconfigFor(namespace, "default").catch(() => undefined);
    });
    const denied = await controlPlane.runKubectl(["get", "configmaps"], { kubeconfig });
    expect(denied).toMatchObject({ code: 1, stderr: expect.stringContaining("Forbidden") });
    const subject = `--serviceaccount=${namespace}:default`;
    await controlPlane.expectKubectl(["create", "rolebinding", "view", "--clusterrole=view", subject, "-n", namespace]);
    const allowed = await waitFor("the right to read", 60_000, async () => {
      const ended = await controlPlane.runKubectl(["get", "configmaps", "-o", "name"], { kubeconfig });
      return ended.code === 0 ? ended.stdout : undefined;
    });
    expect(allowed).toContain("configmap/");
  });

  test("a namespace with objects in it is deleted to the end", async () => {
    const namespace = await createNamespace(controlPlane, "leaving");
    await createProbe(namespace, { name: "probe" });
    await controlPlane.expectKubectl(["delete", "namespace", namespace, `--timeout=${slow(60)}s`]);
    expect(await isGone(`/api/v1/namespaces/${namespace}`)).toBe(true);
  });

  test("what a deleted object owned is collected", async () => {
    const namespace = await createNamespace(controlPlane, "owner");
    const configMaps = `/api/v1/namespaces/${namespace}/configmaps`;
    const owner = await controlPlane.request({
      method: "POST",
      path: configMaps,
      body: { metadata: { name: "owner" } },
    });
    const { uid } = (owner.body as { metadata: { uid: string } }).metadata;
    const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "owner", uid }];
    await controlPlane.request({
      method: "POST",
      path: configMaps,
      body: { metadata: { name: "owned", ownerReferences } },
    });
    await controlPlane.request({ method: "DELETE", path: `${configMaps}/owner` });
    await waitFor("the collection", 60_000, () => isGone(`${configMaps}/owned`));
  });

  test("the data is still there after the API server was killed", async () => {
    const namespace = await createNamespace(controlPlane, "staying");
    await createProbe(namespace, { name: "probe" });
    await controlPlane.stopApiServer("SIGKILL");
    await expect(controlPlane.request({ path: "/readyz" })).rejects.toMatchObject({ code: "ECONNREFUSED" });
    await controlPlane.startApiServer();
    const answer = await controlPlane.request({ path: `${probesIn(namespace)}/probe` });
    expect(answer.status).toBe(200);
  });

  test("a watch from before a compaction ends with 410 once the server was restarted", async () => {
    const namespace = await createNamespace(controlPlane, "old");
    const before = await controlPlane.request({ path: probesIn(namespace) });
    const { resourceVersion } = (before.body as { metadata: { resourceVersion: string } }).metadata;
    await createProbe(namespace, { name: "probe" });
    await controlPlane.compactEtcd();
    await controlPlane.restartApiServer("SIGKILL");
    const path = `${probesIn(namespace)}?watch=1&resourceVersion=${resourceVersion}&timeoutSeconds=5`;
    // The first answers may be 429, while the server fills its cache, or come to an end before the server gets to it.
    const answer = await waitFor("a watch", 60_000, async () => {
      const { status, body } = await controlPlane.request({ path });
      return status === 429 || body === "" ? undefined : body;
    });
    expect(answer).toMatchObject({ type: "ERROR", object: { code: 410 } });
  });

  test("kubectl reaches the server", async () => {
    const ended = await controlPlane.runKubectl(["version", "-o", "json"]);
    expect(JSON.parse(ended.stdout)).toMatchObject({ serverVersion: { major: "1" } });
  });
});
