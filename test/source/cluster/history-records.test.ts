// The history of an instance in a WafRecord on a real API server: bounded, and shared by two writers.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { unknownOwners } from "../../../src/model/entry-owners.ts";
import type { HistoryEvent } from "../../../src/model/history.ts";
import type { ObjectName } from "../../../src/model/resource.ts";
import { HistoryRecords, historyLimits, readHistory } from "../../../src/source/cluster/history-records.ts";
import { addresses } from "../../support/builders/declare.ts";
import { describeWithControlPlane } from "../../support/control-plane/suite.ts";
import { UnattendedInstances } from "../../support/worlds/unattended-instances.ts";

const nowMs = Date.UTC(2026, 10, 22);

function anEvent(values: readonly string[], atMs = nowMs): HistoryEvent {
  return { atMs, kind: "Added", target: "blocklist", values, owners: unknownOwners, note: "" };
}

await describeWithControlPlane("the history of an instance, in a WafRecord", (cluster) => {
  const instances = new UnattendedInstances(cluster, "history-records");
  beforeAll(() => instances.start());
  afterAll(() => instances.close());

  function open(mayWrite = true): HistoryRecords {
    const { api, holderOf } = instances;
    return new HistoryRecords({ api, holderOf, mayWrite: () => mayWrite, nowMs: () => nowMs });
  }

  async function valuesOf(name: ObjectName): Promise<readonly string[]> {
    const read = await readHistory(instances.api, name);
    return read.ok ? read.value.flatMap(({ values }) => values) : [read.fault.code];
  }

  test("two writers lose no events of each other", async () => {
    const name = await instances.create();
    const [one, other] = [open(), open()];
    expect(await valuesOf(name)).toStrictEqual([]);
    for (const [place, records] of [one, other, one, other].entries()) {
      expect(await records.append(name, [anEvent([`192.0.2.${place}`])])).toBeUndefined();
    }
    expect(await valuesOf(name)).toStrictEqual(["192.0.2.0", "192.0.2.1", "192.0.2.2", "192.0.2.3"]);
  });

  test("the oldest events are dropped if there is no more room, or if they are too old", async () => {
    const name = await instances.create();
    const records = open();
    expect(await records.append(name, [anEvent(["192.0.2.99"], nowMs - historyLimits.ageMsMax - 1)])).toBeUndefined();
    expect(await valuesOf(name)).toStrictEqual([]);
    for (let batch = 0; batch < 50; batch += 1) {
      await records.append(name, [anEvent(addresses(500, batch * 500))]);
    }
    const kept = await valuesOf(name);
    expect(kept.at(-1)).toBe(addresses(1, 24_999)[0]);
    expect(kept.length).toBeGreaterThan(10_000);
    const path = `/apis/wafsync.dev/v1alpha1/namespaces/${name.namespace}/wafrecords/${name.name}-history`;
    const { body } = await cluster.request({ path });
    expect(JSON.stringify(body).length).toBeLessThan(historyLimits.bytesMax + 10_000);
  });

  test("an instance that continues another one has the former history first, once, and the former record is deleted", async () => {
    const [name, former] = [await instances.create(), await instances.create()];
    const records = open();
    await records.append(name, [anEvent(["192.0.2.3"])]);
    expect(await records.takeOver(name, former)).toBeUndefined();
    await records.append(former, [anEvent(["192.0.2.1"], nowMs - 2000), anEvent(["192.0.2.2"], nowMs - 1000)]);
    // A process that was killed has copied a part of it.
    await records.append(name, [anEvent(["192.0.2.2"], nowMs - 1000)]);
    expect(await open(false).takeOver(name, former)).toBeUndefined();
    expect(await valuesOf(former)).toHaveLength(2);
    expect(await records.takeOver(name, former)).toBeUndefined();
    expect(await valuesOf(name)).toStrictEqual(["192.0.2.1", "192.0.2.2", "192.0.2.3"]);
    expect(await valuesOf(former)).toStrictEqual([]);
  });

  test("nothing is stored without permission, or for an instance that no longer exists", async () => {
    const name = await instances.create();
    expect(await open(false).append(name, [anEvent(["192.0.2.1"])])).toBeUndefined();
    expect(await valuesOf(name)).toStrictEqual([]);
    const gone = { ...name, name: "gone" };
    expect(await open().append(gone, [anEvent(["192.0.2.1"])])).toBeUndefined();
    expect(await valuesOf(gone)).toStrictEqual([]);
  });
});
