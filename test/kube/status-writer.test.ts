import { describe, expect, test } from "@jest/globals";
import { type StatusObject, StatusWriter } from "../../src/kube/status-writer.ts";
import { FakeObject } from "./fake-api-server.ts";

const type = { group: "test.dev", version: "v1", plural: "widgets", namespaced: true };

function makeWriter() {
  const server = new FakeObject();
  const writer = new StatusWriter(server.api);
  const write = (status: Record<string, unknown>, more: { object?: StatusObject } = {}) =>
    writer.write({
      type,
      object: more.object ?? server.object,
      compute: () => status,
    });
  return { server, writer, write };
}

test("a status is written once, and not again unless it differs", async () => {
  const { server, write } = makeWriter();
  expect(await write({ phase: "Ready", counts: { a: 1, b: 2 } })).toStrictEqual({ kind: "Written" });
  expect(await write({ counts: { b: 2, a: 1 }, phase: "Ready" })).toStrictEqual({ kind: "Unchanged" });
  expect(server.patches).toBe(1);
});

test("undesired fields disappear at any depth, and lists are replaced", async () => {
  const { server, write } = makeWriter();
  await write({ gone: 1, counts: { a: 1, gone: { deep: true } }, list: [1, 2, 3] });
  await write({ counts: { a: 1 }, list: [3] });
  expect(server.object.status).toStrictEqual({ counts: { a: 1 }, list: [3] });
});

test("after a conflict the status is computed again from the current object", async () => {
  const { server, writer } = makeWriter();
  server.before.push(
    () => server.edit({ generation: 2 }),
    () => server.edit({ generation: 3 }),
  );
  const result = await writer.write({
    type,
    object: server.object,
    compute: ({ metadata: { generation } }) => ({ observedGeneration: generation }),
  });
  expect(result).toStrictEqual({ kind: "Written" });
  expect(server.object.status).toStrictEqual({ observedGeneration: 3 });
  expect(server.reads).toBe(2);
});

test("a newer object can be left unchanged", async () => {
  const { server, writer } = makeWriter();
  server.before.push(() => server.edit({ generation: 2 }));
  const compute = ({ metadata: { generation } }: StatusObject) => (generation === 1 ? { phase: "Old" } : undefined);
  expect(await writer.write({ type, object: server.object, compute })).toStrictEqual({ kind: "Unchanged" });
  expect(server.object.status).toBeUndefined();
});

test("an object that was deleted or replaced is not written", async () => {
  const { server, write } = makeWriter();
  const old = server.object;
  server.edit({ uid: "u2" });
  expect(await write({ phase: "Ready" }, { object: old })).toStrictEqual({ kind: "Gone" });
  server.stored = undefined;
  expect(await write({ phase: "Ready" }, { object: old })).toStrictEqual({ kind: "Gone" });
});

describe("a write loop is not caused by", () => {
  test("a cache that lags behind the last write", async () => {
    const { server, write } = makeWriter();
    const stale = server.object;
    await write({ phase: "Ready" });
    expect(await write({ phase: "Ready" }, { object: stale })).toStrictEqual({ kind: "Unchanged" });
    expect(await write({ phase: "Failed" }, { object: stale })).toStrictEqual({ kind: "Written" });
    expect([server.patches, server.reads]).toStrictEqual([2, 0]);
  });

  test("a default that the server fills in", async () => {
    const { server, write } = makeWriter();
    server.defaults = { observedGeneration: -1 };
    await write({ phase: "Ready" });
    expect(await write({ phase: "Ready" })).toStrictEqual({ kind: "Unchanged" });
    expect(server.patches).toBe(1);
  });

  test("but a status that another writer has deleted or changed is written again", async () => {
    const { server, write } = makeWriter();
    await write({ phase: "Ready" });
    server.edit({}, {});
    expect(await write({ phase: "Ready" })).toStrictEqual({ kind: "Written" });
    server.edit({}, { phase: "Nonsense", extra: 1 });
    expect(await write({ phase: "Ready" })).toStrictEqual({ kind: "Written" });
    expect(server.object.status).toStrictEqual({ phase: "Ready" });
  });
});

describe("the record of a status", () => {
  test("is kept until the cache shows the status", async () => {
    const { server, writer, write } = makeWriter();
    const stale = server.object;
    await write({ phase: "Ready" });
    expect(writer.newest(stale).status).toStrictEqual({ phase: "Ready" });
    expect(writer.newest(server.object)).toBe(server.object);
    expect(writer.newest(stale)).toBe(stale);
  });

  test("contains the status of another process after a conflict", async () => {
    const { server, writer, write } = makeWriter();
    const stale = server.object;
    server.before.push(() => server.edit({}, { phase: "Ready" }));
    expect(await write({ phase: "Ready" })).toStrictEqual({ kind: "Unchanged" });
    expect(writer.newest(stale).status).toStrictEqual({ phase: "Ready" });
  });
});

test("writes of one object are sequential, whoever requests them", async () => {
  const { server, write } = makeWriter();
  const stale = server.object;
  const results = await Promise.all([1, 2, 3].map((done) => write({ done }, { object: stale })));
  expect(results.map(({ kind }) => kind)).toStrictEqual(["Written", "Written", "Written"]);
  expect(server.object.status).toStrictEqual({ done: 3 });
  expect(server.reads).toBe(0);
});
