import { describe, expect, test } from "@jest/globals";
import { createObjectStore, type ObjectChange } from "../../src/kube/store.ts";
import { testObject, type TestObject } from "../support/fakes/scripted-api-server.ts";

const byColor = (object: TestObject): string[] => [object.spec.color];

describe("the object store", () => {
  test("finds objects by key and by index, also after their index values have changed", () => {
    const store = createObjectStore<TestObject>({ color: byColor });
    store.put(testObject("a", 1, "a", "red"));
    store.put(testObject("b", 2, "b", "red"));
    store.put(testObject("a", 3, "a", "blue"));
    expect(store.get("default/a")?.metadata.resourceVersion).toBe("3");
    expect(store.listBy("color", "red").map((object) => object.metadata.name)).toStrictEqual(["b"]);
    expect(store.listBy("color", "blue").map((object) => object.metadata.name)).toStrictEqual(["a"]);
    expect(store.valuesOf("color").toSorted()).toStrictEqual(["blue", "red"]);
    store.remove("default/b");
    expect(store.listBy("color", "red")).toStrictEqual([]);
    expect(store.valuesOf("color")).toStrictEqual(["blue"]);
  });
});

const inWords = (changes: readonly ObjectChange<TestObject>[]): string[] =>
  changes.map(({ type, object }) => {
    const { name, uid, resourceVersion } = object.metadata;
    return `${type} ${name} ${uid} ${resourceVersion}`;
  });

describe("changes without a watch", () => {
  test("deleted, recreated, changed and unchanged objects are distinguished", () => {
    const store = createObjectStore<TestObject>();
    store.replaceAll(
      ["gone", "recreated", "changed", "same"].map((name) => testObject(name, 1)),
      false,
    );
    const changes = store.replaceAll(
      [testObject("recreated", 5, "other-uid"), testObject("changed", 6), testObject("same", 1), testObject("new", 7)],
      false,
    );
    expect(inWords(changes)).toStrictEqual([
      "Deleted gone gone 1",
      "Deleted recreated recreated 1",
      "Added recreated other-uid 5",
      "Changed changed changed 6",
      "Added new new 7",
    ]);
  });

  test("after the server was restored, objects that look unchanged are announced as well", () => {
    const store = createObjectStore<TestObject>();
    store.replaceAll([testObject("same", 1)], false);
    expect(inWords(store.replaceAll([testObject("same", 1)], true))).toStrictEqual(["Changed same same 1"]);
  });

  test("a repeated state is announced once, and an unknown deletion not at all", () => {
    const store = createObjectStore<TestObject>();
    const changes = [...store.put(testObject("a", 1)), ...store.put(testObject("a", 1)), ...store.remove("default/b")];
    expect(inWords(changes)).toStrictEqual(["Added a a 1"]);
  });
});
