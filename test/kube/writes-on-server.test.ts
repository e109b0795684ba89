// The effects of the Lease, events, statuses and finalizers on a real API server.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { realClock } from "../../src/async/clock.ts";
import type { Clock } from "../../src/async/clock.ts";
import { createApiServer } from "../../src/kube/api-server.ts";
import type { ApiServer } from "../../src/kube/api-server.ts";
import { clusterCredentials } from "../support/builders/cluster-credentials.ts";
import { EventRecorder } from "../../src/kube/event-recorder.ts";
import { addFinalizer, removeFinalizer } from "../../src/kube/finalizer.ts";
import type { KubeObject } from "../../src/kube/kube-object.ts";
import { defaultLeaseTimings } from "../../src/kube/lease-decision.ts";
import type { LeaseTimings } from "../../src/kube/lease-decision.ts";
import { LeaseElector } from "../../src/kube/lease.ts";
import { StatusWriter } from "../../src/kube/status-writer.ts";
import type { StatusObject } from "../../src/kube/status-writer.ts";
import { createObject, deleteObject, getObject, listObjects } from "../../src/kube/verbs.ts";
import { createNamespace, installDefinitions, waitFor } from "../support/builders/cluster-objects.ts";
import { describeWithControlPlane } from "../support/control-plane/suite.ts";
import { slowness } from "../support/processes/slowness.ts";
import type { StoredEvent } from "../support/fakes/fake-api-server.ts";

const configMaps = { group: "", version: "v1", plural: "configmaps", namespaced: true };
const events = { group: "", version: "v1", plural: "events", namespaced: true };
const instances = { group: "wafsync.dev", version: "v1alpha1", plural: "wafinstances", namespaced: true };
const mine = "test.dev/mine";
const waitMs = 20_000;

await describeWithControlPlane("on a real API server", (cluster) => {
  let api: ApiServer;
  let namespace: string;

  beforeAll(async () => {
    const { url, caFile, adminToken } = cluster;
    api = createApiServer({
      credentials: clusterCredentials({ server: url, caFile, token: adminToken }),
      clock: realClock,
    });
    namespace = await createNamespace(cluster, "writes");
    await installDefinitions(cluster);
  });
  afterAll(() => api.close());

  async function configMap(name: string, metadata: object = {}): Promise<KubeObject> {
    const created = await createObject(api, configMaps, namespace, { metadata: { name, ...metadata } });
    if (!created.ok) throw new Error(created.fault.message);
    return created.value;
  }

  function makeRecorder(dropped: string[], clock: Clock = realClock): EventRecorder {
    const onDropped = (reason: string, message: string): void => void dropped.push(`${reason} ${message}`);
    const words = { controller: "test.dev/controller", instance: "pod-1", onDropped };
    return new EventRecorder({ api, clock, random: Math.random, ...words });
  }

  test("two processes hand the Lease over", async () => {
    const lease = { namespace, name: "leader" };
    const factor = slowness();
    const stretched = Object.entries(defaultLeaseTimings).map(([name, ms]) => [name, ms * factor]);
    const timings = { ...(Object.fromEntries(stretched) as LeaseTimings), retryPeriodMs: 100 };
    const make = (identity: string): LeaseElector => {
      const shared = { api, clock: realClock, random: Math.random, lease, timings };
      return new LeaseElector({ ...shared, identity, onFailure: (message) => failures.push(message) });
    };
    const failures: string[] = [];
    const [first, second] = [make("pod-1_a"), make("pod-2_b")];
    void first.run();
    expect(await first.whenLeading()).toBe(true);
    void second.run();
    await waitFor("a renewal", waitMs, async () => {
      const { stdout } = await cluster.runKubectl(["get", "lease", "leader", "-n", namespace, "-o", "yaml"]);
      return stdout.includes("holderIdentity: pod-1_a") ? true : undefined;
    });
    expect(await first.release(async () => undefined)).toBe("Released");
    expect(await second.whenLeading()).toBe(true);
    expect(second.mayWrite()).toBe(true);
    expect(first.mayWrite()).toBe(false);
    expect(await second.release(async () => undefined)).toBe("Released");
    expect(failures).toStrictEqual([]);
  });

  test("events are counted, and kubectl describe shows them in chronological order", async () => {
    const { metadata } = await configMap("told");
    const object = { apiVersion: "v1", kind: "ConfigMap", namespace, name: "told", uid: metadata.uid };
    const listed = async (): Promise<readonly StoredEvent[]> => {
      const found = await listObjects<KubeObject & StoredEvent>(api, events, { namespace });
      if (!found.ok) throw new Error(found.fault.message);
      return found.value.items.filter(({ involvedObject }) => involvedObject.name === "told");
    };
    const dropped: string[] = [];
    let laterMs = 0;
    const recorder = makeRecorder(dropped, { ...realClock, nowMs: () => Date.now() + laterMs });
    let recorded = 0;
    const written = async (): Promise<void> => {
      recorded += 1;
      await waitFor("the event", waitMs, async () => {
        const counts = (await listed()).map(({ count }) => count);
        return counts.reduce((sum, count) => sum + count, 0) === recorded ? true : undefined;
      });
    };
    for (const reason of ["Once", "Twice", "Then", "Twice"]) {
      recorder.record({ object, type: "Warning", reason, message: `${reason} ${"é".repeat(2_000)}` });
      await written();
      laterMs += 5_000;
    }
    await recorder.stop(waitMs);
    expect(dropped).toStrictEqual([]);
    expect(Object.fromEntries((await listed()).map(({ reason, count }) => [reason, count]))).toStrictEqual({
      Once: 1,
      Then: 1,
      Twice: 2,
    });
    const described = await cluster.expectKubectl(["describe", "configmap", "told", "-n", namespace]);
    expect(
      [...described.matchAll(/Warning +(\w+) .*test\.dev\/controller/g)].map(([, reason]) => reason),
    ).toStrictEqual(["Once", "Then", "Twice"]);
  });

  test("a terminating namespace refuses events, which causes no error", async () => {
    const ending = await createNamespace(cluster, "ending");
    const holder = { metadata: { name: "holder", finalizers: [mine] } };
    const created = await createObject(api, configMaps, ending, holder);
    if (!created.ok) throw new Error(created.fault.message);
    await cluster.expectKubectl(["delete", "namespace", ending, "--wait=false"]);
    const dropped: string[] = [];
    const recorder = makeRecorder(dropped);
    const { uid } = created.value.metadata;
    const object = { apiVersion: "v1", kind: "ConfigMap", namespace: ending, name: "holder", uid };
    recorder.record({ object, type: "Normal", reason: "Late", message: "Too late" });
    await recorder.stop(waitMs);
    expect(dropped).toStrictEqual([]);
    const target = { type: configMaps, object: created.value, finalizer: mine };
    expect(await removeFinalizer(api, target)).toMatchObject({ kind: "Done" });
  });

  test("a finalizer is added once, next to others, and removed once", async () => {
    const bare = await configMap("bare");
    expect(await addFinalizer(api, { type: configMaps, object: bare, finalizer: mine })).toMatchObject({
      kind: "Done",
      object: { metadata: { finalizers: [mine] } },
    });
    const other = await configMap("other", { finalizers: ["test.dev/other"] });
    const added = await addFinalizer(api, { type: configMaps, object: other, finalizer: mine });
    expect(added).toMatchObject({ object: { metadata: { finalizers: ["test.dev/other", mine] } } });
    // The state that a lagging cache would still show.
    expect(await addFinalizer(api, { type: configMaps, object: other, finalizer: mine })).toMatchObject({
      kind: "Done",
    });
    await deleteObject(api, configMaps, { namespace, name: "other" });
    const late = { type: configMaps, object: other, finalizer: "test.dev/late" };
    expect(await addFinalizer(api, late)).toMatchObject({ kind: "Deleting" });
    const read = await getObject(api, configMaps, { namespace, name: "other" });
    if (!read.ok) throw new Error(read.fault.message);
    const object = read.value;
    expect(await removeFinalizer(api, { type: configMaps, object, finalizer: mine })).toMatchObject({
      kind: "Done",
    });
    const last = { type: configMaps, object, finalizer: "test.dev/other" };
    expect(await removeFinalizer(api, last)).toMatchObject({ kind: "Done" });
    expect(await removeFinalizer(api, last)).toStrictEqual({ kind: "Gone" });
  });

  test("a status is written when it differs, and a default does not cause endless writes", async () => {
    const body = {
      apiVersion: "wafsync.dev/v1alpha1",
      kind: "WafInstance",
      metadata: { name: "shop" },
      spec: { baseUrl: "https://waf.example.com", apiKeySecretRef: { name: "waf" } },
    };
    const created = await createObject<StatusObject>(api, instances, namespace, body);
    if (!created.ok) throw new Error(created.fault.message);
    const writer = new StatusWriter({ api, clock: realClock });
    const write = (object: StatusObject, status: Record<string, unknown>) =>
      writer.write({ type: instances, object, compute: () => status });
    const stale = created.value;
    expect(await write(stale, { domain: "a.example.com", primaryOrigin: "b.example.com" })).toStrictEqual({
      kind: "Written",
    });
    expect(await write(stale, { domain: "c.example.com" })).toStrictEqual({ kind: "Written" });
    const read = async (): Promise<StatusObject> => {
      const result = await getObject<StatusObject>(api, instances, { namespace, name: "shop" });
      if (!result.ok) throw new Error(result.fault.message);
      return result.value;
    };
    const now = await read();
    expect(now.status).toMatchObject({ domain: "c.example.com" });
    expect(now.status).not.toHaveProperty("primaryOrigin");
    expect(await write(now, { domain: "c.example.com" })).toStrictEqual({ kind: "Unchanged" });
    await cluster.expectKubectl(["annotate", "wafinstance", "shop", "-n", namespace, "test.dev/edited=yes"]);
    expect(await write(now, { domain: "d.example.com" })).toStrictEqual({ kind: "Written" });
    expect((await read()).status).toMatchObject({ domain: "d.example.com" });
    await deleteObject(api, instances, { namespace, name: "shop" });
    expect(await write(now, { domain: "e.example.com" })).toStrictEqual({ kind: "Gone" });
  });
});
