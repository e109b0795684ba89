// Records in WafRecords on a real API server: the contract, deletions by others, owners that change, and the limits of the server.
// Long: `npm run test:deploy` runs it.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { ApiServer } from "../../src/kube/api-server.ts";
import type { ObjectName } from "../../src/model/resource.ts";
import {
  ClusterRecordStore,
  type ClusterRecordStoreOptions,
  type RecordOwner,
} from "../../src/records/cluster-record-store.ts";
import { historyLimits } from "../../src/history/history.ts";
import type { RecordKey } from "../../src/records/record-store.ts";
import { createNamespace, installDefinitions, waitFor } from "../support/builders/cluster-objects.ts";
import { collectionOf, instance } from "../support/builders/manifests.ts";
import { describeWithControlPlane } from "../support/control-plane/suite.ts";
import { apiClient, crashingClient, createAll, watchedClient } from "../support/fakes/api-clients.ts";
import { aText, saveText, testRecordStore, textLengthMax, textOf } from "./test-record-store.ts";

interface StoredRecord {
  readonly metadata: {
    readonly name: string;
    readonly finalizers?: readonly string[];
    readonly ownerReferences?: readonly { readonly uid: string }[];
  };
}

await describeWithControlPlane("records in WafRecords", (cluster) => {
  const client = apiClient(cluster);
  let namespace: string;
  /** Of the instances, by name. No operator attends to them. */
  const uids = new Map<string, string>();
  beforeAll(async () => {
    await installDefinitions(cluster);
    namespace = await createNamespace(cluster, "record-store");
  });
  afterAll(() => client.close());

  const collection = (): string => `/apis/wafsync.dev/v1alpha1/namespaces/${namespace}/wafrecords`;
  const contentType = "application/merge-patch+json";
  const retaining = { ownerOf: ({ name }: ObjectName): RecordOwner => ({ uid: uids.get(name) ?? "", retains: true }) };

  /** Like an instance with `deletionPolicy: Delete`. */
  function ownerOf({ name }: ObjectName): RecordOwner | undefined {
    const uid = uids.get(name);
    return uid === undefined ? undefined : { uid, retains: false };
  }

  function open(api: ApiServer = client, options: Partial<ClusterRecordStoreOptions> = {}): ClusterRecordStore {
    return new ClusterRecordStore({ api, namespace, ownerOf, mayWrite: () => true, textLengthMax, ...options });
  }

  /** Creates an instance with a new name. */
  async function newKey(type: RecordKey["type"] = "Inventory"): Promise<RecordKey> {
    const name = `shop-${uids.size + 1}`;
    const { metadata, ...rest } = instance(namespace, "https://waf.example");
    const manifest = { ...rest, metadata: { ...metadata, name } };
    await createAll(cluster, manifest);
    const answer = await cluster.request({ path: `${collectionOf(manifest)}/${name}` });
    uids.set(name, (answer.body as { metadata: { uid: string } }).metadata.uid);
    return { namespace, name, type };
  }

  async function stored({ name }: ObjectName): Promise<StoredRecord[]> {
    const path = `${collection()}?labelSelector=${encodeURIComponent(`wafsync.dev/instance=${name}`)}`;
    return ((await cluster.request({ path })).body as { items: StoredRecord[] }).items;
  }

  async function deleteAll(key: RecordKey): Promise<void> {
    for (const { metadata } of await stored(key)) {
      await cluster.request({ method: "DELETE", path: `${collection()}/${metadata.name}` });
    }
  }

  /** The number of owners and finalizers of each object, without duplicates. */
  async function tiesOf(key: RecordKey): Promise<readonly string[]> {
    const ties = (await stored(key)).map(
      ({ metadata: { ownerReferences = [], finalizers = [] } }) => `${ownerReferences.length} ${finalizers.length}`,
    );
    return [...new Set(ties)];
  }

  describe("follow the contract", () => {
    testRecordStore(() => ({
      open: (writesLeft) => open(writesLeft === undefined ? client : crashingClient(client, writesLeft)),
      newKey,
      count: async (key) => (await stored(key)).length,
      damage: async (key) => {
        const path = `${collection()}/${key.name}-inventory`;
        await cluster.request({ method: "PATCH", path, body: { spec: { text: "192.0.2.1\n" } }, contentType });
      },
    }));
  });

  test("are not written without permission or for an owner that no longer exists", async () => {
    const key = await newKey();
    expect(await open(client, { mayWrite: () => false }).save(key, aText(1), "")).toMatchObject({
      state: "NotAllowed",
    });
    expect(await open().save({ ...key, name: "nobody" }, aText(1), "")).toMatchObject({ state: "NotAllowed" });
    expect(await stored(key)).toStrictEqual([]);
  });

  test("are taken over by an instance that is restored with another UID, unless nothing may be written", async () => {
    const key = await newKey();
    const formerUid = "00000000-0000-4000-8000-000000000000";
    const ownersOf = async () =>
      new Set((await stored(key)).flatMap(({ metadata }) => metadata.ownerReferences?.map(({ uid }) => uid)));
    // The garbage collector deletes the objects of a former instance; the finalizer keeps them.
    await saveText(open(client, { ownerOf: () => ({ uid: formerUid, retains: false }) }), key, aText(300));
    expect(await textOf(open(client, { mayWrite: () => false }), key)).toBe(aText(300));
    expect(await ownersOf()).toStrictEqual(new Set([formerUid]));
    // A busy API server may refuse one attempt; the next load repeats it.
    await waitFor("the take-over", 30_000, async () => {
      expect(await textOf(open(), key)).toBe(aText(300));
      return (await ownersOf()).has(formerUid) ? undefined : true;
    });
    expect(await ownersOf()).toStrictEqual(new Set([uids.get(key.name)]));
  });

  describe("with the policy Retain", () => {
    test("have neither owner nor finalizer, and only an inventory has a finalizer with another policy", async () => {
      for (const [type, ties] of [
        ["Inventory", "1 1"],
        ["LogForwarding", "1 0"],
      ] as const) {
        const key = await newKey(type);
        await saveText(open(), key, aText(300));
        expect(await tiesOf(key)).toStrictEqual([ties]);
        await saveText(open(client, retaining), key, aText(301));
        expect(await tiesOf(key)).toStrictEqual(["0 0"]);
        await deleteAll(key);
        expect(await textOf(open(), key)).toBeUndefined();
      }
    });

    test("are kept as they are if they are damaged", async () => {
      const key = await newKey();
      await saveText(open(), key, aText(300));
      const path = `${collection()}/${key.name}-inventory`;
      await cluster.request({ method: "PATCH", path, body: { spec: { text: "192.0.2.1\n" } }, contentType });
      expect(await open().detach(key)).toBeUndefined();
      expect(await tiesOf(key)).toStrictEqual(["0 0"]);
    });

    test("a load applies a change of the policy, in both directions, and then writes nothing more", async () => {
      const key = await newKey();
      await saveText(open(), key, aText(300));
      for (const [options, ties] of [
        [retaining, "0 0"],
        [{}, "1 1"],
        [retaining, "0 0"],
      ] as const) {
        expect(await textOf(open(client, options), key)).toBe(aText(300));
        expect(await tiesOf(key)).toStrictEqual([ties]);
        const watched = watchedClient(client);
        await open(watched, options).load(key);
        expect(watched.sent.filter((request) => !request.startsWith("GET"))).toStrictEqual([]);
      }
    });
  });

  describe("that disappeared with their CRD", () => {
    const uninstalled = { wasUninstalled: () => true };

    async function vanish(key: RecordKey): Promise<void> {
      await open().detach(key);
      await deleteAll(key);
      expect(await stored(key)).toStrictEqual([]);
    }

    /** A client that can lose its connection. */
    function connection() {
      const lost = { afterWrites: Number.POSITIVE_INFINITY };
      const request: ApiServer["request"] = async (sent) => {
        const isLost = sent.method !== "GET" && (lost.afterWrites -= 1) < 0;
        return await (isLost ? crashingClient(client, 0) : client).request(sent);
      };
      return { lost, api: { ...client, request } satisfies ApiServer };
    }

    test("are written again by the process that knows them, also after a crash halfway", async () => {
      const key = await newKey();
      const { lost, api } = connection();
      const store = open(api, uninstalled);
      await saveText(store, key, aText(300));
      for (const writes of [0, 1, 2]) {
        await vanish(key);
        lost.afterWrites = writes;
        expect((await store.load(key)).state).toBe("Unreachable");
        lost.afterWrites = Number.POSITIVE_INFINITY;
        expect(await textOf(store, key)).toBe(aText(300));
        expect(await textOf(open(), key)).toBe(aText(300));
      }
    });

    test("are written as they were if a save failed because the CRD was being deleted", async () => {
      const key = await newKey();
      const { lost, api } = connection();
      const store = open(api, uninstalled);
      await saveText(store, key, aText(3));
      const loaded = await store.load(key);
      await vanish(key);
      lost.afterWrites = 0;
      const revision = loaded.state === "Loaded" ? loaded.revision : "";
      expect((await store.save(key, aText(4), revision)).state).not.toBe("Saved");
      lost.afterWrites = Number.POSITIVE_INFINITY;
      expect(await textOf(store, key)).toBe(aText(3));
    });

    test("are not written again if another writer deleted them, if they were removed, or by a process that does not know them", async () => {
      const [deleted, removed, unknown] = [await newKey(), await newKey(), await newKey()];
      const store = open(client, uninstalled);
      const careful = open();
      await saveText(careful, deleted, aText(3));
      for (const key of [removed, unknown]) await saveText(store, key, aText(3));
      await store.remove(removed);
      for (const key of [deleted, unknown]) await vanish(key);
      expect(await textOf(careful, deleted)).toBeUndefined();
      expect(await textOf(store, removed)).toBeUndefined();
      expect(await textOf(open(client, uninstalled), unknown)).toBeUndefined();
    });
  });

  test("of any size are accepted by the API server, in objects that stay far below its limit", async () => {
    const key = await newKey();
    const store = open(client, { textLengthMax: 256 * 1024 });
    const text = aText(120_000).replaceAll("id", "1f03c9a2be");
    expect(await saveText(store, key, text)).toBe("Saved");
    const sizes = (await stored(key)).map((object) => JSON.stringify(object).length);
    expect(Math.max(...sizes)).toBeLessThan(700 * 1024);
    expect(await textOf(open(), key)).toBe(text);
    const history = await newKey("History");
    expect(await saveText(store, history, '"\n'.repeat(historyLimits.bytesMax / 2))).toBe("Saved");
    expect(await stored(history)).toHaveLength(1);
  });

  test("the sweep removes only the remains of deleted instances", async () => {
    const [gone, alive] = [await newKey(), await newKey()];
    const ownerOfLiving = (key: ObjectName) => (key.name === gone.name ? undefined : ownerOf(key));
    for (const key of [gone, alive]) {
      await saveText(open(), key, aText(300));
      await deleteAll(key);
    }
    const { name } = gone;
    expect(await open(client, { ownerOf: ownerOfLiving }).sweep()).toStrictEqual([{ namespace, name }]);
    expect(await stored(gone)).toStrictEqual([]);
    expect(await textOf(open(), alive)).toBe(aText(300));
  });
});
