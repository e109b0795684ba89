import { describe, expect, test } from "@jest/globals";
import { isOlderVersion } from "../../src/kube/kube-object.ts";
import { collectionPath, objectPath } from "../../src/kube/resource-path.ts";

const configMaps = { group: "", version: "v1", plural: "configmaps", namespaced: true };
const widgets = { group: "test.dev", version: "v1alpha1", plural: "widgets", namespaced: true };
const namespaces = { group: "", version: "v1", plural: "namespaces", namespaced: false };

describe("resource paths", () => {
  test("the core group and named groups have different roots", () => {
    expect(collectionPath(configMaps)).toBe("/api/v1/configmaps");
    expect(collectionPath(configMaps, "team-a")).toBe("/api/v1/namespaces/team-a/configmaps");
    expect(collectionPath(widgets, "team-a")).toBe("/apis/test.dev/v1alpha1/namespaces/team-a/widgets");
  });

  test("an object and its subresource are below the collection", () => {
    expect(objectPath(widgets, { namespace: "team-a", name: "one" }, "status")).toBe(
      "/apis/test.dev/v1alpha1/namespaces/team-a/widgets/one/status",
    );
    expect(objectPath(namespaces, { name: "team-a" })).toBe("/api/v1/namespaces/team-a");
  });

  test("a name never reaches another resource", () => {
    expect(objectPath(widgets, { namespace: "a", name: "x/../../secrets?y#z" })).toBe(
      "/apis/test.dev/v1alpha1/namespaces/a/widgets/x%2F..%2F..%2Fsecrets%3Fy%23z",
    );
    expect(() => objectPath(widgets, { namespace: "a", name: ".." })).toThrow(RangeError);
    expect(() => objectPath(widgets, { namespace: "a", name: "" })).toThrow(RangeError);
  });

  test("a namespaced object needs a namespace, and a cluster-scoped object has none", () => {
    expect(() => objectPath(widgets, { name: "one" })).toThrow(RangeError);
    expect(() => collectionPath(namespaces, "team-a")).toThrow(RangeError);
  });
});

test("decimal versions are ordered by their value, however long", () => {
  expect(isOlderVersion("999", "1000")).toBe(true);
  expect(isOlderVersion("1000", "999")).toBe(false);
  expect(isOlderVersion("1000", "1000")).toBe(false);
  expect(isOlderVersion("99999999999999999998", "99999999999999999999")).toBe(true);
});

test("anything else has no order", () => {
  for (const other of ["", "0", "007", "abc", "1.5", "-3"]) {
    expect(isOlderVersion(other, "10")).toBe(false);
    expect(isOlderVersion("10", other)).toBe(false);
  }
});
