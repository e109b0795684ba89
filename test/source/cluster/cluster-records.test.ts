// The writes of wafsync to a cluster: none without permission, the finalizer before the first call, status and events.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { realClock } from "../../../src/async/clock.ts";
import { emptyInventory } from "../../../src/model/inventory.ts";
import type { ResourceMeta } from "../../../src/model/resource.ts";
import { ClusterRecords } from "../../../src/source/cluster/cluster-records.ts";
import { createAll } from "../../support/fakes/api-clients.ts";
import { createNamespace, waitFor } from "../../support/builders/cluster-objects.ts";
import { describeWithControlPlane } from "../../support/control-plane/suite.ts";
import { collectionOf, instance, keySecret } from "../../support/builders/manifests.ts";
import { type WatchingSource, watchingSource } from "./watching-source.ts";

await describeWithControlPlane("records in a cluster", (cluster) => {
  let world: WatchingSource;
  let records: ClusterRecords;
  let meta: ResourceMeta;
  let mayWrite = false;

  beforeAll(async () => {
    const namespace = await createNamespace(cluster, "records");
    world = await watchingSource(cluster, namespace);
    await createAll(cluster, keySecret(namespace, "made-up-key-0123"), instance(namespace, "https://waf.example"));
    await world.seen(instance(namespace, "https://waf.example"));
    records = new ClusterRecords({
      clock: realClock,
      random: Math.random,
      namespace,
      api: world.client,
      source: world.source,
      podName: "pod-1",
      mayWrite: () => mayWrite,
      mayRecord: () => mayWrite,
      onEventDropped: () => undefined,
      onInventoryDeleted: () => undefined,
    });
    ({ meta } = (await world.gather({ namespace, name: "waf" })).instance);
  });
  afterAll(() => world.close());

  const writes = (): string[] => world.client.sent.filter((request) => !request.startsWith("GET"));

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
    records.status.event(meta, { type: "Normal", reason: "OriginAdded", message: "Added origin b.example." });
    expect(writes()).toStrictEqual([]);
  });

  test("with permission, the finalizer is added first, needs no second request, and can be removed", async () => {
    mayWrite = true;
    expect(await records.lifecycle.ensureFinalizer(meta)).toBeUndefined();
    expect((await stored()).metadata.finalizers).toStrictEqual(["wafsync.dev/release-entries"]);
    await waitFor("the watch", 30_000, async () =>
      world.source.objectOf(meta)?.metadata.finalizers === undefined ? undefined : true,
    );
    const before = world.client.sent.length;
    expect(await records.lifecycle.ensureFinalizer(meta)).toBeUndefined();
    expect(world.client.sent.length).toBe(before);
    expect(await records.lifecycle.removeFinalizer(meta)).toBeUndefined();
    expect((await stored()).metadata.finalizers).toBeUndefined();
  });

  test("a status exists when the write resolves, is read back immediately, and is not written twice", async () => {
    const status = { observedGeneration: 1, domain: "shop.example" };
    expect(await records.status.write(meta, status)).toBeUndefined();
    expect((await stored()).status.domain).toBe("shop.example");
    expect(records.status.read(meta)).toMatchObject(status);
    const before = world.client.sent.length;
    await records.status.write(meta, status);
    expect(world.client.sent.length).toBe(before);
    const other = { ...meta, uid: "00000000-0000-4000-8000-000000000000" };
    expect(await records.status.write(other, { ...status, domain: "other.example" })).toBeUndefined();
    expect((await stored()).status.domain).toBe("shop.example");
  });
});
