import { describe, expect, test } from "@jest/globals";
import { createObjectStore } from "../../src/kube/store.ts";
import { testObject } from "../support/fakes/scripted-api-server.ts";
import type { TestObject } from "../support/fakes/scripted-api-server.ts";

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
    expect(store.size).toBe(1);
  });

  test("the version increases only with each change", () => {
    const store = createObjectStore<TestObject>();
    const versions = [store.version];
    store.put(testObject("a", 1));
    versions.push(store.version);
    store.remove("default/missing");
    versions.push(store.version);
    store.replaceAll(new Map());
    versions.push(store.version);
    expect(versions).toStrictEqual([0, 1, 1, 2]);
  });

  test("replacing all objects returns the former contents and rebuilds the indexes", () => {
    const store = createObjectStore<TestObject>({ color: byColor });
    store.put(testObject("a", 1));
    const former = store.replaceAll(new Map([["default/b", testObject("b", 2, "b", "blue")]]));
    expect([...former.keys()]).toStrictEqual(["default/a"]);
    expect(store.listBy("color", "red")).toStrictEqual([]);
    expect(store.listBy("color", "blue")).toHaveLength(1);
  });

  test("a returned list never changes", () => {
    const store = createObjectStore<TestObject>();
    store.put(testObject("a", 1));
    const list = store.list();
    store.put(testObject("b", 2));
    expect(list).toHaveLength(1);
  });

  test("an index function that throws changes nothing", () => {
    const store = createObjectStore<TestObject>({
      color: ({ spec }) => {
        if (spec.color === "bad") throw new RangeError("no such color");
        return [spec.color];
      },
    });
    store.put(testObject("a", 1));
    expect(() => store.put(testObject("a", 2, "a", "bad"))).toThrow(RangeError);
    expect(() => store.replaceAll(new Map([["default/x", testObject("x", 3, "x", "bad")]]))).toThrow(RangeError);
    expect(store.get("default/a")?.metadata.resourceVersion).toBe("1");
    expect(store.listBy("color", "red")).toHaveLength(1);
  });

  test("an index that was never declared is an error", () => {
    expect(() => createObjectStore<TestObject>().listBy("color", "red")).toThrow(RangeError);
  });
});
