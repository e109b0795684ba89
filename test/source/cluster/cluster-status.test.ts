// A status that was derived from an old copy of the object, on a real API server.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { ApiServer } from "../../../src/kube/api-server.ts";
import { getObject } from "../../../src/kube/verbs.ts";
import { ClusterStatus } from "../../../src/source/cluster/cluster-status.ts";
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

  test("keeps the transition time of a condition that a process writes again based on an old copy", async () => {
    const namespace = await createNamespace(cluster, "status");
    const manifest = rule(namespace, "feed", ["192.0.2.1"]);
    await createAll(cluster, manifest);
    const read = async (): Promise<ClusterObject> => {
      const found = await getObject<ClusterObject>(api, typeOfKind("WafIpRule"), { namespace, name: "feed" });
      if (!found.ok) throw new Error(found.fault.message);
      return found.value;
    };
    const old = await read();
    await patchObject(cluster, manifest, { status: accepted("True", "2026-01-01T00:00:00Z") }, "/status");
    const status = new ClusterStatus({
      api,
      objectOf: () => old,
      events: { record: () => undefined },
      mayWrite: () => true,
    });
    const meta = aMeta("WafIpRule", `${namespace}/feed`, { uid: old.metadata.uid });
    const next = { ...accepted("True", "2026-01-01T01:00:00Z"), progress: "1/1" };
    expect(await status.write(meta, next)).toBeUndefined();
    expect((await read()).status).toMatchObject({ ...accepted("True", "2026-01-01T00:00:00Z"), progress: "1/1" });
    expect(await status.write(meta, accepted("False", "2026-01-01T02:00:00Z"))).toBeUndefined();
    expect((await read()).status).toMatchObject(accepted("False", "2026-01-01T02:00:00Z"));
  });

  test("never goes back to an older generation while the watch lags", async () => {
    const namespace = await createNamespace(cluster, "behind");
    const manifest = rule(namespace, "late", ["192.0.2.1"]);
    await createAll(cluster, manifest);
    const read = async (): Promise<ClusterObject> => {
      const found = await getObject<ClusterObject>(api, typeOfKind("WafIpRule"), { namespace, name: "late" });
      if (!found.ok) throw new Error(found.fault.message);
      return found.value;
    };
    const old = await read();
    await patchObject(cluster, manifest, { spec: { addresses: ["192.0.2.2"] } });
    const events = { record: () => undefined };
    const status = new ClusterStatus({ api, objectOf: () => old, events, mayWrite: () => true });
    const meta = aMeta("WafIpRule", `${namespace}/late`, { uid: old.metadata.uid });
    const ofGeneration = (observedGeneration: number) => ({
      ...accepted("True", "2026-01-01T00:00:00Z"),
      observedGeneration,
    });
    expect(await status.write(meta, ofGeneration(2))).toBeUndefined();
    expect(await status.write(meta, ofGeneration(1))).toBeUndefined();
    expect((await read()).status).toMatchObject({ observedGeneration: 2 });
  });
});
