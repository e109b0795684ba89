// The record of forwarded logs in WafRecords, on a real API server: large records, crashes between two writes, two writers.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { ApiServer } from "../../../src/kube/api-server.ts";
import type { ObjectName } from "../../../src/model/resource.ts";
import { LogRecords, partsMax } from "../../../src/source/cluster/log-records.ts";
import { crashingClient } from "../../support/fakes/api-clients.ts";
import { UnattendedInstances } from "../../support/worlds/unattended-instances.ts";
import { describeWithControlPlane } from "../../support/control-plane/suite.ts";

const partLengthMax = 1_000;
const small = { forwarded: 1 };
/** Has about four parts, and is different for each number. */
const large = (number: number) => ({ forwarded: number, text: String(number).repeat(3_500) });

interface StoredRecord {
  readonly metadata: { readonly name: string; readonly ownerReferences?: readonly { readonly uid: string }[] };
}

await describeWithControlPlane("what was forwarded of logs, in WafRecords", (cluster) => {
  const instances = new UnattendedInstances(cluster, "log-records");
  beforeAll(() => instances.start());
  afterAll(() => instances.close());

  function open(over: ApiServer = instances.api, mayWrite = true): LogRecords {
    return new LogRecords({
      api: over,
      holderOf: instances.holderOf,
      mayWrite: () => mayWrite,
      partLengthMax,
    });
  }

  async function stored({ name }: ObjectName): Promise<StoredRecord[]> {
    const path = `/apis/wafsync.dev/v1alpha1/namespaces/${instances.namespace}/wafrecords`;
    const { items } = (await cluster.request({ path })).body as { items: StoredRecord[] };
    return items.filter(({ metadata }) => metadata.name.startsWith(`${name}-logs`));
  }

  async function load(name: ObjectName): Promise<{ readonly record: unknown; readonly revision: string }> {
    const loaded = await open().load(name);
    if (loaded.state !== "Loaded") throw new Error(loaded.problem);
    return loaded;
  }

  async function save(name: ObjectName, record: object, over?: ApiServer): Promise<string> {
    const { revision } = await load(name);
    return (await open(over).save(name, record, revision)).state;
  }

  test("a record of any size is restored unchanged, and each save leaves only objects that are in use", async () => {
    const name = await instances.create();
    expect(await load(name)).toMatchObject({ record: undefined, revision: "" });
    for (const record of [small, large(1), large(2), large(3), small, large(4)]) {
      expect(await save(name, record)).toBe("Saved");
      expect((await load(name)).record).toStrictEqual(record);
      expect(await stored(name)).toHaveLength(record === small ? 1 : 5);
    }
    const owners = (await stored(name)).map(({ metadata }) => metadata.ownerReferences?.[0]?.uid);
    expect(new Set(owners)).toStrictEqual(new Set([instances.uidOf(name)]));
  });

  test("saves follow one another by the revision that each returns", async () => {
    const name = await instances.create();
    let revision = "";
    for (const record of [small, large(1), large(2)]) {
      const saved = await open().save(name, record, revision);
      if (saved.state !== "Saved") throw new Error(saved.state);
      revision = saved.revision;
    }
    expect((await load(name)).record).toStrictEqual(large(2));
  });

  test("one of two writers with the same version gets a conflict, and the other one's record is stored", async () => {
    const name = await instances.create();
    await save(name, large(1));
    const { revision } = await load(name);
    expect((await open().save(name, large(2), revision)).state).toBe("Saved");
    expect((await open().save(name, large(3), revision)).state).toBe("Conflict");
    expect((await open().save(name, small, "")).state).toBe("Conflict");
    expect(await save(name, large(4))).toBe("Saved");
  });

  test("a crash after any number of writes leaves the complete former record or the complete new one", async () => {
    const name = await instances.create();
    await save(name, large(1));
    for (let writes = 0; writes < 9; writes += 1) {
      const before = (await load(name)).record;
      const next = large(10 + writes);
      await save(name, next, crashingClient(instances.api, writes));
      const { record } = await load(name);
      expect([before, next]).toContainEqual(record);
    }
    expect(await save(name, small)).toBe("Saved");
    expect((await load(name)).record).toStrictEqual(small);
  });

  test("a modified or incomplete record is distinguished from a missing one", async () => {
    const name = await instances.create();
    await save(name, large(1));
    const part = (await stored(name)).find(({ metadata }) => metadata.name.endsWith("-2"));
    await cluster.request({
      method: "DELETE",
      path: `/apis/wafsync.dev/v1alpha1/namespaces/${instances.namespace}/wafrecords/${part?.metadata.name}`,
    });
    expect((await load(name)).record).toBeNull();
    expect(await save(name, small)).toBe("Saved");
  });

  test("a record that is too large or must not be written is refused before anything is written", async () => {
    const name = await instances.create();
    const huge = { text: "x".repeat(partLengthMax * partsMax) };
    expect(await save(name, huge)).toBe("TooLarge");
    expect((await open(instances.api, false).save(name, small, "")).state).toBe("Failed");
    expect((await open().save({ namespace: instances.namespace, name: "nobody" }, small, "")).state).toBe("Failed");
    expect(await stored(name)).toStrictEqual([]);
  });
});
