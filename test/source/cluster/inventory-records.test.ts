// Inventories in WafRecords, on a real API server: the results of crashes between two writes, of concurrent writers, and of
// deletions by others.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { localFault } from "../../../src/kube/api-result.ts";
import type { ApiRequest, ApiServer } from "../../../src/kube/api-server.ts";
import { readObservedEntry } from "../../../src/model/entry.ts";
import type { Inventory } from "../../../src/model/inventory.ts";
import { emptyInventory } from "../../../src/model/inventory.ts";
import type { ObjectName } from "../../../src/model/resource.ts";
import { createInventoryRecords } from "../../../src/source/cluster/inventory-records.ts";
import type { InventoryRecords } from "../../../src/source/cluster/inventory-records.ts";
import { crashingClient, watchedClient } from "../../support/fakes/api-clients.ts";
import { waitFor } from "../../support/builders/cluster-objects.ts";
import { UnattendedInstances } from "../../support/worlds/unattended-instances.ts";
import { describeWithControlPlane } from "../../support/control-plane/suite.ts";
import { addresses } from "../../support/builders/manifests.ts";
import { anOwnedEntry } from "../../support/builders/owned.ts";

const shardBytesMax = 1_500;

interface StoredRecord {
  readonly metadata: {
    readonly name: string;
    readonly finalizers?: readonly string[];
    readonly ownerReferences?: readonly { readonly uid: string; readonly kind: string }[];
    readonly deletionTimestamp?: string;
    readonly resourceVersion: string;
  };
}

await describeWithControlPlane("inventories in WafRecords", (cluster) => {
  const instances = new UnattendedInstances(cluster, "inventories");
  beforeAll(() => instances.start());
  afterAll(() => instances.close());

  const collection = (): string => `/apis/wafsync.dev/v1alpha1/namespaces/${instances.namespace}/wafrecords`;

  const open = (over: ApiServer = instances.api, overrides = {}): InventoryRecords =>
    createInventoryRecords({
      api: over,
      namespace: instances.namespace,
      holderOf: instances.holderOf,
      shardBytesMax,
      ...overrides,
    });

  async function stored({ name }: ObjectName): Promise<StoredRecord[]> {
    const selector = encodeURIComponent(`wafsync.dev/instance=${name}`);
    const path = `${collection()}?labelSelector=${selector}`;
    return ((await cluster.request({ path })).body as { items: StoredRecord[] }).items;
  }

  async function save(inventories: InventoryRecords, name: ObjectName, inventory: Inventory): Promise<string> {
    const loaded = await inventories.load(name);
    if (loaded.state !== "Loaded") throw new Error(loaded.problem);
    const { state } = await inventories.save(name, inventory, loaded.revision);
    return state;
  }

  async function load(name: ObjectName): Promise<Inventory> {
    const loaded = await open().load(name);
    if (loaded.state !== "Loaded") throw new Error(loaded.problem);
    return loaded.inventory;
  }

  test("an inventory of any size is loaded as it was saved, and has no unneeded objects", async () => {
    const name = await instances.create();
    expect(await load(name)).toStrictEqual(emptyInventory);
    for (const [count, isSharded] of [
      [400, true],
      [2, false],
      [0, false],
    ] as const) {
      expect(await save(open(), name, owning(count))).toBe("Saved");
      expect(await load(name)).toStrictEqual(owning(count));
      expect((await stored(name)).length > 1).toBe(isSharded);
    }
    expect((await stored(name)).map(({ metadata }) => metadata.name)).toStrictEqual([`${name.name}-inventory-1`]);
  });

  test("a save that changes one entry writes the shard that contains it, and the first one", async () => {
    const name = await instances.create();
    const client = watchedClient(instances.api);
    const inventories = open(client);
    await save(inventories, name, owning(400));
    const before = client.sent.length;
    await save(inventories, name, owning(401));
    const written = client.sent.slice(before).filter((request) => request.startsWith("PUT"));
    expect(written.length).toBeLessThanOrEqual(2);
    expect(written.at(-1)).toContain(`${name.name}-inventory-1`);
  });

  test.each([
    { change: "grows from nothing", from: 0, until: 300, start: 0 },
    { change: "grows", from: 60, until: 300, start: 0 },
    { change: "shrinks", from: 300, until: 40, start: 0 },
    { change: "holds other entries", from: 200, until: 200, start: 100 },
  ])(
    "a crash after any write of a save that $change loses no entry, and the next save repairs it",
    async ({ from, until, start }) => {
      for (let writes = 0; ; writes += 1) {
        const name = await instances.create();
        const [before, after] = [owning(from), owning(until, start)];
        if (from > 0) await save(open(), name, before);
        const client = crashingClient(instances.api, writes);
        const outcome = await save(open(client), name, after);
        const found = await load(name);
        const [old, wanted, now] = [entriesOf(before), entriesOf(after), entriesOf(found)];
        expect([...old.keys()].filter((entry) => wanted.has(entry) && !now.has(entry))).toStrictEqual([]);
        expect([...now.keys()].filter((entry) => !old.has(entry) && !wanted.has(entry))).toStrictEqual([]);
        expect(await save(open(), name, after)).toBe("Saved");
        expect(await load(name)).toStrictEqual(after);
        if (outcome === "Saved" && client.sent.filter((sent) => !sent.startsWith("GET")).length < writes) break;
        expect(writes).toBeLessThan(60);
      }
    },
  );

  test("one of two writers with the same version succeeds, and the other gets a conflict", async () => {
    const name = await instances.create();
    const [left, right] = [open(), open()];
    await save(left, name, owning(300));
    const [seenLeft, seenRight] = [await left.load(name), await right.load(name)];
    if (seenLeft.state !== "Loaded" || seenRight.state !== "Loaded") throw new Error("not loaded");
    expect(await left.save(name, owning(301), seenLeft.revision)).toMatchObject({ state: "Saved" });
    const lost = await right.save(name, owning(299), seenRight.revision);
    expect(lost).toMatchObject({ state: "Conflict" });
    const kept = entriesOf(await load(name));
    expect([...entriesOf(owning(300)).keys()].filter((entry) => !kept.has(entry))).toStrictEqual([]);
  });

  test("two writers that find no inventory can't both create one", async () => {
    const name = await instances.create();
    const [left, right] = [open(), open()];
    const [before, same] = [await left.load(name), await right.load(name)];
    if (before.state !== "Loaded" || same.state !== "Loaded") throw new Error("both find nothing");
    const outcomes = await Promise.all([
      left.save(name, owning(1), before.revision),
      right.save(name, owning(2), same.revision),
    ]);
    expect(outcomes.map(({ state }) => state).sort()).toStrictEqual(["Conflict", "Saved"]);
  });

  test("a save with the same content still makes older versions stale", async () => {
    const name = await instances.create();
    const [left, right] = [open(), open()];
    await save(left, name, owning(5));
    const seen = await right.load(name);
    await save(left, name, owning(5));
    if (seen.state !== "Loaded") throw new Error(seen.problem);
    expect(await right.save(name, owning(6), seen.revision)).toMatchObject({ state: "Conflict" });
  });

  test.each([
    ["a shard is missing", (index: number) => (index === 2 ? "delete" : undefined)],
    [
      "a line is damaged",
      (index: number) => (index === 2 ? { data: { blocklist: "not an address at all\n" } } : undefined),
    ],
    ["it was written by a newer wafsync", (index: number) => (index === 1 ? { format: 99 } : undefined)],
    ["a shard has another number", (index: number) => (index === 1 ? { part: 2 } : undefined)],
  ])("an inventory is unusable and the problem says why if %s", async (_what, damage) => {
    const name = await instances.create();
    await save(open(), name, owning(300));
    for (const { metadata } of await stored(name)) {
      const index = Number(metadata.name.split("-").at(-1));
      const path = `${collection()}/${metadata.name}`;
      const contentType = "application/merge-patch+json";
      const act = damage(index);
      if (act === "delete") {
        await cluster.request({ method: "PATCH", path, body: { metadata: { finalizers: null } }, contentType });
        await cluster.request({ method: "DELETE", path });
      } else if (act !== undefined) await cluster.request({ method: "PATCH", path, body: { spec: act }, contentType });
    }
    const loaded = await open().load(name);
    expect(loaded).toMatchObject({ state: "Unreadable", problem: expect.stringContaining(`${name.name}-inventory`) });
  });

  test("it survives its deletion by others until it is released", async () => {
    const name = await instances.create();
    await save(open(), name, owning(300));
    for (const { metadata } of await stored(name)) {
      const path = `${collection()}/${metadata.name}`;
      await cluster.request({ method: "DELETE", path });
    }
    expect((await stored(name)).every(({ metadata }) => metadata.deletionTimestamp !== undefined)).toBe(true);
    expect(await load(name)).toStrictEqual(owning(300));
    expect(await save(open(), name, owning(40))).toBe("Saved");
    expect(await load(name)).toStrictEqual(owning(40));
    expect(await open().remove(name)).toBeUndefined();
    expect(await stored(name)).toStrictEqual([]);
  });

  test("after a crash during the release, it can be released again", async () => {
    for (let writes = 0; ; writes += 1) {
      const name = await instances.create();
      await save(open(), name, owning(300));
      const problem = await open(crashingClient(instances.api, writes)).remove(name);
      const loaded = await open().load(name);
      expect(loaded.state).toBe("Loaded");
      expect(await open().remove(name)).toBeUndefined();
      expect(await stored(name)).toStrictEqual([]);
      if (problem === undefined) break;
    }
  });

  test("an instance that is restored with another UID takes over its inventory, unless nothing may be written", async () => {
    const name = await instances.create();
    const formerUid = "00000000-0000-4000-8000-000000000000";
    const former = { holderOf: () => ({ uid: formerUid, retains: false }) };
    const ownerOf = async () => (await stored(name))[0]?.metadata.ownerReferences?.map((owner) => owner.uid);
    // The garbage collector deletes the objects of a former instance; the finalizer keeps them.
    await save(open(instances.api, former), name, owning(3));
    const readOnly = open(instances.api, { mayWrite: () => false });
    expect((await readOnly.load(name)).state).toBe("Loaded");
    expect(await ownerOf()).toStrictEqual([formerUid]);
    // A busy API server may refuse one attempt; the next load repeats it.
    await waitFor("the take-over", 30_000, async () => {
      expect(await load(name)).toStrictEqual(owning(3));
      return (await ownerOf())?.some((uid) => uid === instances.uidOf(name)) === true ? true : undefined;
    });
    expect(await ownerOf()).toStrictEqual([instances.uidOf(name)]);
  });

  describe("with the policy Retain", () => {
    const retaining = (name: ObjectName) => ({ uid: instances.uidOf(name) ?? "", retains: true });
    const kept = { holderOf: retaining };

    async function ties(name: ObjectName): Promise<{ owners: number; finalizers: number }[]> {
      return (await stored(name)).map(({ metadata }) => ({
        owners: metadata.ownerReferences?.length ?? 0,
        finalizers: metadata.finalizers?.length ?? 0,
      }));
    }

    test("it has neither owner nor finalizer, and a deletion takes effect immediately", async () => {
      const name = await instances.create();
      expect(await save(open(instances.api, kept), name, owning(300))).toBe("Saved");
      expect(new Set((await ties(name)).map((tie) => JSON.stringify(tie)))).toStrictEqual(
        new Set(['{"owners":0,"finalizers":0}']),
      );
      await cluster.expectKubectl([
        "delete",
        "wafrec",
        "-n",
        name.namespace,
        "-l",
        `wafsync.dev/instance=${name.name}`,
      ]);
      expect(await load(name)).toStrictEqual(emptyInventory);
    });

    test("a load applies a change of the policy, in both directions, and then writes nothing more", async () => {
      const name = await instances.create();
      await save(open(), name, owning(3));
      for (const [overrides, tie] of [
        [kept, { owners: 0, finalizers: 0 }],
        [{}, { owners: 1, finalizers: 1 }],
        [kept, { owners: 0, finalizers: 0 }],
      ] as const) {
        await open(instances.api, overrides).load(name);
        expect(await ties(name)).toStrictEqual([tie]);
        const client = watchedClient(instances.api);
        await open(client, overrides).load(name);
        expect(client.sent.filter((request) => !request.startsWith("GET"))).toStrictEqual([]);
      }
      expect(await load(name)).toStrictEqual(owning(3));
    });

    test("an earlier deletion does not cause its loss when the policy changes", async () => {
      const name = await instances.create();
      await save(open(), name, owning(300));
      const selected = ["-n", name.namespace, "-l", `wafsync.dev/instance=${name.name}`];
      await cluster.expectKubectl(["delete", "wafrec", ...selected, "--wait=false"]);
      const first = open(instances.api, kept);
      const loaded = await first.load(name);
      if (loaded.state !== "Loaded") throw new Error(loaded.problem);
      expect(loaded.inventory).toStrictEqual(owning(300));
      // Another process knows only the revision.
      const saved = await open(instances.api, kept).save(name, owning(301), loaded.revision);
      expect(saved).toMatchObject({ state: "Saved" });
      expect(await load(name)).toStrictEqual(owning(301));
      expect(await first.remove(name)).toBeUndefined();
      expect(await stored(name)).toStrictEqual([]);
    });

    test("an instance with the same name finds it", async () => {
      const name = await instances.create();
      const former = { holderOf: () => ({ uid: "00000000-0000-4000-8000-000000000000", retains: true }) };
      await save(open(instances.api, former), name, owning(3));
      const loaded = await open(instances.api, kept).load(name);
      expect(loaded).toMatchObject({ state: "Loaded", inventory: owning(3) });
    });
  });

  test("it can be detached to outlive its instance, unless it was already deleted", async () => {
    const [kept, deleted] = [await instances.create(), await instances.create()];
    for (const name of [kept, deleted]) await save(open(), name, owning(300));
    const ofDeleted = ["-n", deleted.namespace, "-l", `wafsync.dev/instance=${deleted.name}`];
    await cluster.expectKubectl(["delete", "wafrec", ...ofDeleted, "--wait=false"]);
    for (const name of [kept, deleted]) expect(await open().detach(name)).toBeUndefined();
    const ties = (await stored(kept)).flatMap(({ metadata }) => [metadata.finalizers, metadata.ownerReferences]);
    expect(ties.filter((tie) => tie !== undefined)).toStrictEqual([]);
    expect(await load(kept)).toStrictEqual(owning(300));
    expect(await stored(deleted)).toStrictEqual([]);
  });

  describe("that disappeared with its CRD", () => {
    const uninstalled = { wasUninstalled: () => true };

    async function vanish(name: ObjectName): Promise<void> {
      await open().detach(name);
      await cluster.request({
        method: "DELETE",
        path: `${collection()}?labelSelector=wafsync.dev/instance=${name.name}`,
      });
      expect(await stored(name)).toStrictEqual([]);
    }

    test("it is written again by the process that knows it, also after a crash halfway", async () => {
      const name = await instances.create();
      let writesLeft = Number.POSITIVE_INFINITY;
      const client: ApiServer = {
        ...instances.api,
        request: async (request) => {
          const isLost = request.method !== "GET" && writesLeft <= 0;
          if (request.method !== "GET") writesLeft -= 1;
          return await (isLost ? crashingClient(instances.api, 0) : instances.api).request(request);
        },
      };
      const inventories = open(client, uninstalled);
      await save(inventories, name, owning(300));
      for (const writes of [0, 1, 2]) {
        await vanish(name);
        writesLeft = writes;
        expect((await inventories.load(name)).state).toBe("Unreachable");
        writesLeft = Number.POSITIVE_INFINITY;
        expect(await inventories.load(name)).toMatchObject({ state: "Loaded", inventory: owning(300) });
        expect(await load(name)).toStrictEqual(owning(300));
      }
    });

    test("it is also written again if a save failed because the CRD was being deleted", async () => {
      const name = await instances.create();
      let isRefused = false;
      const client: ApiServer = {
        ...instances.api,
        request: async (request) => {
          const isLost = isRefused && request.method !== "GET";
          return await (isLost ? crashingClient(instances.api, 0) : instances.api).request(request);
        },
      };
      const inventories = open(client, uninstalled);
      await save(inventories, name, owning(3));
      const loaded = await inventories.load(name);
      if (loaded.state !== "Loaded") throw new Error(loaded.problem);
      await vanish(name);
      isRefused = true;
      expect((await inventories.save(name, owning(4), loaded.revision)).state).not.toBe("Saved");
      isRefused = false;
      expect(await inventories.load(name)).toMatchObject({ state: "Loaded", inventory: owning(3) });
    });

    test("it is not written again if another writer deleted it, if it was released, or by a process that does not know it", async () => {
      const [deleted, released, unknown] = [
        await instances.create(),
        await instances.create(),
        await instances.create(),
      ];
      const inventories = open(instances.api, uninstalled);
      const careful = open();
      await save(careful, deleted, owning(3));
      for (const name of [released, unknown]) await save(inventories, name, owning(3));
      await inventories.remove(released);
      for (const name of [deleted, unknown]) await vanish(name);
      expect(await careful.load(deleted)).toMatchObject({ inventory: emptyInventory });
      expect(await inventories.load(released)).toMatchObject({ inventory: emptyInventory });
      expect(await open(instances.api, uninstalled).load(unknown)).toMatchObject({ inventory: emptyInventory });
    });
  });

  test("a shard with the maximum size is accepted by the API server, and so is a large inventory", async () => {
    const name = await instances.create();
    const inventory = owning(120_000);
    const whole = open(instances.api, { shardBytesMax: undefined });
    expect(await save(whole, name, inventory)).toBe("Saved");
    const sizes = (await stored(name)).map((object) => JSON.stringify(object).length);
    expect(sizes.length).toBeGreaterThan(1);
    expect(Math.max(...sizes)).toBeGreaterThan(800 * 1024);
    const loaded = await whole.load(name);
    expect(loaded).toMatchObject({ state: "Loaded" });
    expect(loaded.state === "Loaded" && entriesOf(loaded.inventory).size).toBe(120_000);
  });

  test("without its CRD, it is unreachable, not empty", async () => {
    const name = await instances.create();
    const withoutKind: ApiServer = {
      ...watchedClient(instances.api),
      request: async <T>(request: ApiRequest) =>
        request.path.endsWith("/wafrecords")
          ? ({ ok: false, fault: localFault("NotFound", "the server could not find the requested resource") } as const)
          : await instances.api.request<T>(request),
    };
    expect(await open(withoutKind).load(name)).toMatchObject({
      state: "Unreachable",
      problem: expect.stringContaining("Install the CRDs"),
    });
  });

  test("the sweep removes only the remains of deleted instances", async () => {
    const [gone, alive] = [await instances.create(), await instances.create()];
    const holderOf = (name: ObjectName) => (name.name === gone.name ? undefined : instances.holderOf(name));
    await save(open(), gone, owning(300));
    await save(open(), alive, owning(3));
    for (const { metadata } of [...(await stored(gone)), ...(await stored(alive))]) {
      const path = `${collection()}/${metadata.name}`;
      await cluster.request({ method: "DELETE", path });
    }
    expect(await open(instances.api, { holderOf }).sweep()).toStrictEqual([gone]);
    expect(await stored(gone)).toStrictEqual([]);
    expect(await load(alive)).toStrictEqual(owning(3));
  });
});

function owning(count: number, start = 0): Inventory {
  const entries = addresses(count, start).map((address) => [readObservedEntry(address), anOwnedEntry()] as const);
  return { ...emptyInventory, domain: "shop.example", entries: { blocklist: new Map(entries), allowlist: new Map() } };
}

function entriesOf({ entries }: Inventory): Inventory["entries"]["blocklist"] {
  return entries.blocklist;
}
