// A status that was derived from an old copy of the object, on a real API server.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { ApiServer } from "../../../src/kube/api-server.ts";
import { getObject } from "../../../src/kube/verbs.ts";
import { ClusterStatus } from "../../../src/source/cluster/cluster-records.ts";
import { type ClusterObject, typeOfKind } from "../../../src/source/cluster/cluster-object.ts";
import { createNamespace, installDefinitions } from "../../support/builders/cluster-objects.ts";
import { aMeta } from "../../support/builders/declare.ts";
import { rule } from "../../support/builders/manifests.ts";
import { describeWithControlPlane } from "../../support/control-plane/suite.ts";
import { apiClient, createAll, patchObject } from "../../support/fakes/api-clients.ts";

await describeWithControlPlane("the status of an object in a cluster", (cluster) => {
  let api: ApiServer;

  beforeAll(async () => {
    api = apiClient(cluster);
    await installDefinitions(cluster);
  });
  afterAll(async () => api.close());

  function accepted(status: "True" | "False", lastTransitionTime: string): Readonly<Record<string, unknown>> {
    return {
      observedGeneration: 1,
      conditions: [
        { type: "Accepted", status, reason: "Accepted", message: "It is.", lastTransitionTime, observedGeneration: 1 },
      ],
    };
  }

  /** An object, how to read it, and a process that writes its status and sees only the first version of it. */
  async function lagging(name: string) {
    const namespace = await createNamespace(cluster, name);
    const manifest = rule(namespace, name, ["192.0.2.1"]);
    await createAll(cluster, manifest);
    const read = async (): Promise<ClusterObject> => {
      const found = await getObject<ClusterObject>(api, typeOfKind("WafIpRule"), { namespace, name });
      if (!found.ok) throw new Error(found.fault.message);
      return found.value;
    };
    const old = await read();
    const events = { record: () => undefined };
    const status = new ClusterStatus({ api, objectOf: () => old, events, mayWrite: () => true });
    const meta = aMeta("WafIpRule", `${namespace}/${name}`, { uid: old.metadata.uid });
    return { manifest, read, status, meta };
  }

  test("keeps the transition time of a condition that a process writes again based on an old copy", async () => {
    const { manifest, read, status, meta } = await lagging("status");
    await patchObject(cluster, manifest, { status: accepted("True", "2026-01-01T00:00:00Z") }, "/status");
    const next = { ...accepted("True", "2026-01-01T01:00:00Z"), progress: "1/1" };
    expect(await status.write(meta, next)).toBeUndefined();
    expect((await read()).status).toMatchObject({ ...accepted("True", "2026-01-01T00:00:00Z"), progress: "1/1" });
    expect(await status.write(meta, accepted("False", "2026-01-01T02:00:00Z"))).toBeUndefined();
    expect((await read()).status).toMatchObject(accepted("False", "2026-01-01T02:00:00Z"));
  });

  test("never goes back to an older generation while the watch lags", async () => {
    const { manifest, read, status, meta } = await lagging("behind");
    await patchObject(cluster, manifest, { spec: { addresses: ["192.0.2.2"] } });
    for (const observedGeneration of [2, 1]) {
      const next = { ...accepted("True", "2026-01-01T00:00:00Z"), observedGeneration };
      expect(await status.write(meta, next)).toBeUndefined();
    }
    expect((await read()).status).toMatchObject({ observedGeneration: 2 });
  });
});
