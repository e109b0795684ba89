// Records in WafRecords on a real API server: the contract, deletions by others, owners that change, and the limits of the server.
// Long: `npm run test:deploy` runs it.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { ApiServer } from "../../src/kube/api-server.ts";
import type { ObjectName } from "../../src/model/resource.ts";
import { ClusterRecordStore, type ClusterRecordStoreOptions } from "../../src/records/cluster-record-store.ts";
import { historyLimits } from "../../src/history/history.ts";
import type { RecordOwner } from "../../src/records/record-object.ts";
import type { RecordKey } from "../../src/records/record-store.ts";
import { createNamespace, installDefinitions, waitFor } from "../support/builders/cluster-objects.ts";
import { collectionOf, instance } from "../support/builders/manifests.ts";
import type { ClusterAccess } from "../support/control-plane/cluster-access.ts";
import { describeWithControlPlane } from "../support/control-plane/suite.ts";
import { apiClient, crashingClient, createAll, watchedClient } from "../support/fakes/api-clients.ts";
import { aText, saveText, testRecordStore, textLengthMax, textOf } from "./test-record-store.ts";

/** Instances on a real API server without an operator, in a separate namespace. */
class UnattendedInstances {
  readonly api: ApiServer;
  readonly #cluster: ClusterAccess;
  readonly #prefix: string;
  readonly #uids = new Map<string, string>();
  #namespace = "";
  #serial = 0;

  /** @param prefix the prefix of the namespace's name */
  constructor(cluster: ClusterAccess, prefix: string) {
    this.api = apiClient(cluster);
    this.#cluster = cluster;
    this.#prefix = prefix;
  }

  /** Await it before calling any other method. */
  async start(): Promise<void> {
    await installDefinitions(this.#cluster);
    this.#namespace = await createNamespace(this.#cluster, this.#prefix);
  }

  close(): void {
    this.api.close();
  }

  get namespace(): string {
    return this.#namespace;
  }

  /** Creates an instance with a new name. */
  async create(): Promise<ObjectName> {
    this.#serial += 1;
    const name = `shop-${this.#serial}`;
    const { metadata, ...rest } = instance(this.#namespace, "https://waf.example");
    const manifest = { ...rest, metadata: { ...metadata, name } };
    await createAll(this.#cluster, manifest);
    const answer = await this.#cluster.request({ path: `${collectionOf(manifest)}/${name}` });
    this.#uids.set(name, (answer.body as { metadata: { uid: string } }).metadata.uid);
    return { namespace: this.#namespace, name };
  }

  readonly uidOf = ({ name }: ObjectName): string | undefined => this.#uids.get(name);

  /** Like an instance with `deletionPolicy: Delete`. */
  readonly ownerOf = (name: ObjectName): RecordOwner | undefined => {
    const uid = this.uidOf(name);
    return uid === undefined ? undefined : { uid, retains: false };
  };
}

interface StoredRecord {
  readonly metadata: {
    readonly name: string;
    readonly finalizers?: readonly string[];
    readonly ownerReferences?: readonly { readonly uid: string }[];
  };
}

await describeWithControlPlane("records in WafRecords", (cluster) => {
  const instances = new UnattendedInstances(cluster, "record-store");
  beforeAll(() => instances.start());
  afterAll(() => instances.close());

  const collection = (): string => `/apis/wafsync.dev/v1alpha1/namespaces/${instances.namespace}/wafrecords`;
  const contentType = "application/merge-patch+json";
  const retaining = {
    ownerOf: (name: ObjectName): RecordOwner => ({ uid: instances.uidOf(name) ?? "", retains: true }),
  };

  function open(api: ApiServer = instances.api, options: Partial<ClusterRecordStoreOptions> = {}): ClusterRecordStore {
    const { namespace, ownerOf } = instances;
    return new ClusterRecordStore({ api, namespace, ownerOf, mayWrite: () => true, textLengthMax, ...options });
  }

  async function newKey(type: RecordKey["type"] = "Inventory"): Promise<RecordKey> {
    return { ...(await instances.create()), type };
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
      open: (writesLeft) => open(writesLeft === undefined ? instances.api : crashingClient(instances.api, writesLeft)),
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
    expect(await open(instances.api, { mayWrite: () => false }).save(key, aText(1), "")).toMatchObject({
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
    await saveText(open(instances.api, { ownerOf: () => ({ uid: formerUid, retains: false }) }), key, aText(300));
    expect(await textOf(open(instances.api, { mayWrite: () => false }), key)).toBe(aText(300));
    expect(await ownersOf()).toStrictEqual(new Set([formerUid]));
    // A busy API server may refuse one attempt; the next load repeats it.
    await waitFor("the take-over", 30_000, async () => {
      expect(await textOf(open(), key)).toBe(aText(300));
      return (await ownersOf()).has(formerUid) ? undefined : true;
    });
    expect(await ownersOf()).toStrictEqual(new Set([instances.uidOf(key)]));
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
        await saveText(open(instances.api, retaining), key, aText(301));
        expect(await tiesOf(key)).toStrictEqual(["0 0"]);
        await deleteAll(key);
        expect(await textOf(open(), key)).toBeUndefined();
      }
    });

    test("a load applies a change of the policy, in both directions, and then writes nothing more", async () => {
      const key = await newKey();
      await saveText(open(), key, aText(300));
      for (const [options, ties] of [
        [retaining, "0 0"],
        [{}, "1 1"],
        [retaining, "0 0"],
      ] as const) {
        expect(await textOf(open(instances.api, options), key)).toBe(aText(300));
        expect(await tiesOf(key)).toStrictEqual([ties]);
        const client = watchedClient(instances.api);
        await open(client, options).load(key);
        expect(client.sent.filter((request) => !request.startsWith("GET"))).toStrictEqual([]);
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
        return await (isLost ? crashingClient(instances.api, 0) : instances.api).request(sent);
      };
      return { lost, api: { ...instances.api, request } satisfies ApiServer };
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
      const store = open(instances.api, uninstalled);
      const careful = open();
      await saveText(careful, deleted, aText(3));
      for (const key of [removed, unknown]) await saveText(store, key, aText(3));
      await store.remove(removed);
      for (const key of [deleted, unknown]) await vanish(key);
      expect(await textOf(careful, deleted)).toBeUndefined();
      expect(await textOf(store, removed)).toBeUndefined();
      expect(await textOf(open(instances.api, uninstalled), unknown)).toBeUndefined();
    });
  });

  test("of any size are accepted by the API server, in objects that stay far below its limit", async () => {
    const key = await newKey();
    const store = open(instances.api, { textLengthMax: 256 * 1024 });
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
    const ownerOf = (key: ObjectName) => (key.name === gone.name ? undefined : instances.ownerOf(key));
    for (const key of [gone, alive]) {
      await saveText(open(), key, aText(300));
      await deleteAll(key);
    }
    const { namespace, name } = gone;
    expect(await open(instances.api, { ownerOf }).sweep()).toStrictEqual([{ namespace, name }]);
    expect(await stored(gone)).toStrictEqual([]);
    expect(await textOf(open(), alive)).toBe(aText(300));
  });
});
