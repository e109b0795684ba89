// Records of wafsync 0.1 in ConfigMaps, on a real API server: which are moved into WafRecords, and which are ignored.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { createHash } from "node:crypto";
import { parseAllDocuments } from "yaml";
import type { ApiServer } from "../../../src/kube/api-server.ts";
import { emptyInventory } from "../../../src/model/inventory.ts";
import type { ObjectName } from "../../../src/model/resource.ts";
import {
  findFormerInventories,
  formerInventories,
  formerLogRecords,
} from "../../../src/source/cluster/config-map-records.ts";
import type { FormerRecordsOptions } from "../../../src/source/cluster/config-map-records.ts";
import { createInventoryRecords } from "../../../src/source/cluster/inventory-records.ts";
import { LogRecords } from "../../../src/source/cluster/log-records.ts";
import { crashingClient } from "../../support/fakes/api-clients.ts";
import { describeWithControlPlane } from "../../support/control-plane/suite.ts";
import { UnattendedInstances } from "../../support/worlds/unattended-instances.ts";

const fixture = join(import.meta.dirname, "../../fixtures/inventory-format-1/config-maps.yaml");
const managedBy = { "app.kubernetes.io/managed-by": "wafsync" };

interface Stored {
  readonly metadata: { readonly name: string };
  readonly data: Readonly<Record<string, string>>;
}

await describeWithControlPlane("records of wafsync 0.1", (cluster) => {
  const instances = new UnattendedInstances(cluster, "former");
  beforeAll(() => instances.start());
  afterAll(() => instances.close());

  const collection = (): string => `/api/v1/namespaces/${instances.namespace}/configmaps`;

  async function create(body: object): Promise<void> {
    const answer = await cluster.request({ method: "POST", path: collection(), body });
    if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
  }

  /** The ConfigMaps of 0.1 next to the instance, with a change. */
  async function leave(name: ObjectName, change: object = {}): Promise<void> {
    const documents = parseAllDocuments(await readFile(fixture, "utf8")).map((document) => document.toJS() as Stored);
    for (const { metadata, data } of documents) {
      await create({
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: {
          name: metadata.name.replace("main", name.name),
          labels: { ...managedBy, "wafsync.dev/instance": name.name },
          finalizers: ["wafsync.dev/keep-inventory"],
          ownerReferences: [owner(name, instances.uidOf(name) ?? "")],
          ...change,
        },
        data,
      });
    }
  }

  function owner({ name }: ObjectName, uid: string): object {
    return { apiVersion: "wafsync.dev/v1alpha1", kind: "WafInstance", name, uid };
  }

  async function configMaps({ name }: ObjectName): Promise<string[]> {
    const { items } = (await cluster.request({ path: collection() })).body as { items: Stored[] };
    return items.map(({ metadata }) => metadata.name).filter((each) => each.startsWith(`${name}-`));
  }

  const former = (
    over: ApiServer = instances.api,
    changes: Partial<FormerRecordsOptions> = {},
  ): FormerRecordsOptions => ({
    api: over,
    wasSynced: () => true,
    onKept: () => undefined,
    ...changes,
  });

  function inventories(over: ApiServer, options: FormerRecordsOptions | undefined) {
    return createInventoryRecords({
      api: over,
      namespace: instances.namespace,
      holderOf: instances.holderOf,
      former: options === undefined ? undefined : formerInventories(options),
      shardBytesMax: 700,
    });
  }

  async function load(name: ObjectName, options: FormerRecordsOptions | undefined, over = instances.api) {
    return await inventories(over, options).load(name);
  }

  test("an inventory is moved, and its ConfigMaps are removed together with their finalizers", async () => {
    const name = await instances.create();
    await leave(name);
    const moved = await load(name, former());
    expect(moved.state === "Loaded" && moved.inventory.entries.blocklist.size).toBe(42);
    expect(moved).toMatchObject({ inventory: { domain: "shop.example", approval: { hash: "0123456789ab" } } });
    expect(await configMaps(name)).toStrictEqual([]);
    expect(await load(name, undefined)).toStrictEqual(moved);
  });

  test("a crash after any write loses nothing, and the next load continues", async () => {
    for (let writes = 0; ; writes += 1) {
      const name = await instances.create();
      await leave(name);
      const client = crashingClient(instances.api, writes);
      const broken = await load(name, former(client), client);
      if (broken.state === "Loaded") expect(broken.inventory.entries.blocklist.size).toBe(42);
      else expect(broken.state).toBe("Unreachable");
      const again = await load(name, former());
      expect(again.state === "Loaded" && again.inventory.entries.blocklist.size).toBe(42);
      if (client.sent.filter((sent) => !sent.startsWith("GET")).length < writes) break;
      expect(writes).toBeLessThan(30);
    }
  });

  test.each([
    ["the migration was not requested", undefined, {}],
    ["no earlier version has synced the instance", { wasSynced: () => false }, {}],
    ["they have no finalizer", {}, { finalizers: [] }],
    ["they belong to no instance", {}, { ownerReferences: [] }],
  ])("ConfigMaps are ignored if %s", async (_why, options, change) => {
    const name = await instances.create();
    await leave(name, change);
    const loaded = await load(name, options === undefined ? undefined : former(instances.api, options));
    expect(loaded).toStrictEqual({ state: "Loaded", inventory: emptyInventory, revision: "" });
    expect(await configMaps(name)).toHaveLength(2);
  });

  test("ConfigMaps of a former instance with the same name are ignored", async () => {
    const name = await instances.create();
    await leave(name, { ownerReferences: [owner(name, "00000000-0000-4000-8000-000000000000")] });
    expect(await load(name, former())).toMatchObject({ inventory: emptyInventory });
  });

  test("ConfigMaps next to an instance that already has a record are ignored", async () => {
    const name = await instances.create();
    const records = inventories(instances.api, former());
    await records.save(name, { ...emptyInventory, domain: "shop.example" }, "");
    await leave(name);
    expect(await load(name, former())).toMatchObject({
      inventory: { domain: "shop.example", entries: emptyInventory.entries },
    });
  });

  test("without permission to change ConfigMaps, the inventory is moved, and a message says that they stay", async () => {
    const name = await instances.create();
    await leave(name);
    const kept: string[] = [];
    const readOnly: ApiServer = {
      ...instances.api,
      request: async (request) =>
        await (
          request.method !== "GET" && request.path.includes("/configmaps/")
            ? crashingClient(instances.api, 0)
            : instances.api
        ).request(request),
    };
    const options = former(readOnly, { onKept: (instance, problem) => kept.push(`${instance.name}: ${problem}`) });
    const moved = await load(name, options, readOnly);
    expect(moved.state === "Loaded" && moved.inventory.entries.blocklist.size).toBe(42);
    expect(kept).toStrictEqual([expect.stringContaining(name.name)]);
    expect(await configMaps(name)).toHaveLength(2);
    expect(await findFormerInventories(instances.api, instances.namespace)).toContainEqual(name);
  });

  test("damaged ConfigMaps are not moved, and are named in the problem", async () => {
    const name = await instances.create();
    await leave(name);
    const body = { data: { format: "99" } };
    const path = `${collection()}/${name.name}-wafsync-inventory-1`;
    await cluster.request({ method: "PATCH", path, body, contentType: "application/merge-patch+json" });
    expect(await load(name, former())).toMatchObject({
      state: "Unreadable",
      problem: expect.stringContaining(`${name.name}-wafsync-inventory-1`),
    });
    expect(await configMaps(name)).toHaveLength(2);
  });

  test("the record of forwarded logs is also moved", async () => {
    const name = await instances.create();
    const text = JSON.stringify({ forwarded: 7, text: "x".repeat(40) });
    const digest = createHash("sha256").update(text).digest("hex");
    const metadata = { ownerReferences: [owner(name, instances.uidOf(name) ?? "")] };
    const common = { apiVersion: "v1", kind: "ConfigMap" };
    const head = { set: "b", parts: "2", digest };
    await create({ ...common, metadata: { ...metadata, name: `${name.name}-wafsync-logs` }, data: head });
    for (const [index, part] of [text.slice(0, 30), text.slice(30)].entries()) {
      const partName = `${name.name}-wafsync-logs-b-${index + 1}`;
      await create({ ...common, metadata: { ...metadata, name: partName }, data: { part } });
    }
    const open = (options: FormerRecordsOptions | undefined) =>
      new LogRecords({
        api: instances.api,
        holderOf: instances.holderOf,
        mayWrite: () => true,
        former: options === undefined ? undefined : formerLogRecords(options),
      });
    expect(await open(undefined).load(name)).toMatchObject({ record: undefined });
    expect(await open(former(instances.api, { wasSynced: () => false })).load(name)).toMatchObject({
      record: undefined,
    });
    expect(await open(former()).load(name)).toMatchObject({ state: "Loaded", record: JSON.parse(text) as object });
    expect(await configMaps(name)).toStrictEqual([]);
    expect(await open(undefined).load(name)).toMatchObject({ record: { forwarded: 7 } });
  });
});
