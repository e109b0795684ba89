// The example controller of docs/contributing/kube.md, on a real API server.
import { expect, test } from "@jest/globals";
import { realClock } from "../../src/async/clock.ts";
import { mergePatchObject } from "../../src/kube/verbs.ts";
import { atTestEnd } from "../support/builders/at-test-end.ts";
import { createNamespace, waitFor } from "../support/builders/cluster-objects.ts";
import { describeWithControlPlane } from "../support/control-plane/suite.ts";
import { apiClient } from "../support/fakes/api-clients.ts";
import { copyLabels } from "./example-controller.ts";

const namespaceType = { group: "", version: "v1", plural: "namespaces", namespaced: false };

await describeWithControlPlane("the example controller", (cluster) => {
  test("copies the labels of a Namespace to its ConfigMaps, and follows every change", async () => {
    const namespace = await createNamespace(cluster, "labels", { "example.org/team": "shop" });
    const path = `/api/v1/namespaces/${namespace}/configmaps`;
    const create = async (name: string, labels: Readonly<Record<string, string>>): Promise<void> => {
      const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name, labels } };
      expect(await cluster.request({ method: "POST", path, body })).toMatchObject({ status: 201 });
    };
    const becomes = async (name: string, labels: Readonly<Record<string, string>>): Promise<void> => {
      await waitFor(`the labels of ${name}`, 10_000, async () => {
        const { body } = await cluster.request({ path: `${path}/${name}` });
        const is = (body as { readonly metadata: { readonly labels?: object } }).metadata.labels ?? {};
        return JSON.stringify(is) === JSON.stringify(labels) ? true : undefined;
      });
    };
    await create("before", { app: "cart" });
    const [api, stop] = [apiClient(cluster), new AbortController()];
    const running = copyLabels({ api, clock: realClock, random: Math.random }, stop.signal);
    atTestEnd(async () => {
      stop.abort();
      await running;
      api.close();
    });
    await becomes("before", { app: "cart", "example.org/team": "shop" });
    await create("after", { "example.org/old": "yes" });
    await becomes("after", { "example.org/team": "shop" });
    const labels = { "example.org/team": null, "example.org/tier": "1" };
    await mergePatchObject(api, namespaceType, { name: namespace }, { metadata: { labels } });
    await becomes("before", { app: "cart", "example.org/tier": "1" });
    await becomes("after", { "example.org/tier": "1" });
  });
});
