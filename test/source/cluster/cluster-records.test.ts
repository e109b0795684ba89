// The writes of wafsync to a cluster: none without permission, the finalizer before the first call, status and events.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { realClock } from "../../../src/async/clock.ts";
import type { ApiServer } from "../../../src/kube/api-server.ts";
import { emptyInventory } from "../../../src/model/inventory.ts";
import type { ResourceMeta } from "../../../src/model/resource.ts";
import { ClusterRecords } from "../../../src/source/cluster/cluster-records.ts";
import { ClusterSource } from "../../../src/source/cluster/cluster-source.ts";
import { apiClient, createAll, watchedClient, type WatchedClient } from "../../support/fakes/api-clients.ts";
import { createNamespace, installDefinitions, waitFor } from "../../support/builders/cluster-objects.ts";
import { describeWithControlPlane } from "../../support/control-plane/suite.ts";
import { collectionOf, instance, keySecret } from "../../support/builders/manifests.ts";

const waitMs = 30_000;
const event = { type: "Normal", reason: "OriginsAdded", message: "Added 1 origin." } as const;

await describeWithControlPlane("records in a cluster", (cluster) => {
  let api: ApiServer;
  let client: WatchedClient;
  let source: ClusterSource;
  let records: ClusterRecords;
  let meta: ResourceMeta;
  let running: Promise<void>;
  let mayWrite = false;
  const end = new AbortController();

  beforeAll(async () => {
    api = apiClient(cluster);
    client = watchedClient(api);
    await installDefinitions(cluster);
    const namespace = await createNamespace(cluster, "records");
    await createAll(cluster, keySecret(namespace, "made-up-key-0123"), instance(namespace, "https://waf.example"));
    const common = { clock: realClock, random: Math.random, namespace };
    source = new ClusterSource({ ...common, api, onChange: () => undefined });
    records = new ClusterRecords({
      ...common,
      api: client,
      source,
      podName: "pod-1",
      mayWrite: () => mayWrite,
      onEventDropped: () => undefined,
      onInventoryDeleted: () => undefined,
    });
    running = source.run(end.signal);
    await source.watches.whenSynced();
    const gathered = await source.gather({ namespace, name: "waf" });
    if (gathered === undefined) throw new Error("no instance");
    ({ meta } = gathered.instance);
  });
  afterAll(async () => {
    end.abort();
    await running;
    api.close();
  });

  const writes = (): string[] => client.sent.filter((request) => !request.startsWith("GET"));

  async function stored(): Promise<{ metadata: { finalizers?: string[] }; status: { domain?: string } }> {
    const path = `${collectionOf(instance(meta.namespace, ""))}/waf`;
    return (await cluster.request({ path })).body as Awaited<ReturnType<typeof stored>>;
  }

  test("without permission, nothing is written, and the caller gets the reason", async () => {
    expect(await records.lifecycle.ensureFinalizer(meta)).toContain("must not write");
    expect(await records.lifecycle.removeFinalizer(meta)).toContain("must not write");
    expect(await records.inventory.load(meta)).toMatchObject({ state: "Loaded", revision: "" });
    expect(await records.inventory.save(meta, emptyInventory, "")).toMatchObject({ state: "Failed" });
    expect(await records.inventory.remove(meta)).toContain("must not write");
    await records.status.write(meta, { observedGeneration: 1, domain: "shop.example" });
    records.status.event(meta, event);
    expect(writes()).toStrictEqual([]);
  });

  test("with permission, the finalizer is added first, needs no second request, and can be removed", async () => {
    mayWrite = true;
    expect(await records.lifecycle.ensureFinalizer(meta)).toBeUndefined();
    expect((await stored()).metadata.finalizers).toStrictEqual(["wafsync.dev/release-entries"]);
    await waitFor("the watch", waitMs, async () =>
      source.objectOf(meta)?.metadata.finalizers === undefined ? undefined : true,
    );
    const before = client.sent.length;
    expect(await records.lifecycle.ensureFinalizer(meta)).toBeUndefined();
    expect(client.sent.length).toBe(before);
    expect(await records.lifecycle.removeFinalizer(meta)).toBeUndefined();
    expect((await stored()).metadata.finalizers).toBeUndefined();
  });

  test("a status exists when the write resolves, is read back immediately, and is not written twice", async () => {
    const status = { observedGeneration: 1, domain: "shop.example" };
    expect(await records.status.write(meta, status)).toBeUndefined();
    expect((await stored()).status.domain).toBe("shop.example");
    expect(records.status.read(meta)).toMatchObject(status);
    const before = client.sent.length;
    await records.status.write(meta, status);
    expect(client.sent.length).toBe(before);
    const other = { ...meta, uid: "00000000-0000-4000-8000-000000000000" };
    expect(await records.status.write(other, { ...status, domain: "other.example" })).toBeUndefined();
    expect((await stored()).status.domain).toBe("shop.example");
  });
});
