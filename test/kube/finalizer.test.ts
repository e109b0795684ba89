import { describe, expect, test } from "@jest/globals";
import { setFinalizer } from "../../src/kube/finalizer.ts";
import { FakeObject } from "./fake-api-server.ts";

const type = { group: "test.dev", version: "v1", plural: "widgets", namespaced: true };
const mine = "test.dev/mine";
const target = (server: FakeObject) => ({ type, object: server.object, finalizer: mine });

describe("adding", () => {
  test("works with and without other finalizers, and needs no request if it is already present", async () => {
    const server = new FakeObject();
    expect(await setFinalizer(server.api, target(server), true)).toMatchObject({
      kind: "Done",
      object: { metadata: { finalizers: [mine] } },
    });
    expect(await setFinalizer(server.api, target(server), true)).toMatchObject({ kind: "Done" });
    expect(server.patches).toBe(1);
    server.edit({ finalizers: ["other/one"] });
    await setFinalizer(server.api, target(server), true);
    expect(server.object.metadata.finalizers).toStrictEqual(["other/one", mine]);
  });

  test("never loses a finalizer that another writer adds meanwhile", async () => {
    const server = new FakeObject();
    server.before.push(() => server.edit({ finalizers: ["other/one"] }));
    expect(await setFinalizer(server.api, target(server), true)).toMatchObject({ kind: "Done" });
    expect(server.object.metadata.finalizers).toStrictEqual(["other/one", mine]);
  });

  test("does not change an object that is being deleted, was deleted, or was replaced by another one with the same name", async () => {
    const server = new FakeObject();
    server.before.push(() => server.edit({ deletionTimestamp: "2026-11-21T12:00:00Z" }));
    expect(await setFinalizer(server.api, target(server), true)).toMatchObject({ kind: "Deleting" });
    const renewed = new FakeObject();
    const old = target(renewed);
    renewed.edit({ uid: "u2" });
    expect(await setFinalizer(renewed.api, old, true)).toStrictEqual({ kind: "Gone" });
    renewed.stored = undefined;
    expect(await setFinalizer(renewed.api, old, true)).toStrictEqual({ kind: "Gone" });
    expect(server.object.metadata.finalizers).toBeUndefined();
  });
});

describe("removing", () => {
  test("removes only its own finalizer, and succeeds if it is missing", async () => {
    const server = new FakeObject();
    server.edit({ finalizers: ["other/one", mine, "other/two"] });
    expect(await setFinalizer(server.api, target(server), false)).toMatchObject({ kind: "Done" });
    expect(server.object.metadata.finalizers).toStrictEqual(["other/one", "other/two"]);
    expect(await setFinalizer(server.api, target(server), false)).toMatchObject({ kind: "Done" });
    expect(server.patches).toBe(1);
  });

  test("fails if the list keeps changing", async () => {
    const server = new FakeObject();
    server.edit({ finalizers: [mine] });
    for (let index = 0; index < 9; index += 1) {
      server.before.push(() => server.edit({ finalizers: [`other/${index}`, mine] }));
    }
    expect(await setFinalizer(server.api, target(server), false)).toMatchObject({
      kind: "Failed",
      fault: { code: "Invalid" },
    });
    expect(server.patches).toBe(5);
  });
});
