import { describe, expect, test } from "@jest/globals";
import { createMirror, type ObjectChange } from "../../src/kube/reflector.ts";
import { createObjectStore } from "../../src/kube/store.ts";
import { testObject, type TestObject } from "../support/fakes/scripted-api-server.ts";

function setUp(): {
  readonly mirror: ReturnType<typeof createMirror<TestObject>>;
  readonly changes: string[];
} {
  const changes: string[] = [];
  const store = createObjectStore<TestObject>();
  const describeChange = ({ type, object }: ObjectChange<TestObject>): string =>
    `${type} ${object.metadata.name} ${object.metadata.uid} ${object.metadata.resourceVersion}`;
  return { mirror: createMirror(store, (change) => changes.push(describeChange(change))), changes };
}

describe("what changed while nobody watched", () => {
  test.each(["list", "watch-list"])("gone, recreated, changed and same are told apart by a %s", (kind) => {
    const { mirror, changes } = setUp();
    mirror.startCollecting();
    mirror.collect(["gone", "recreated", "changed", "same"].map((name) => testObject(name, 1)));
    mirror.swap(false);
    changes.length = 0;
    mirror.startCollecting();
    const now = [
      testObject("recreated", 5, "other-uid"),
      testObject("changed", 6),
      testObject("same", 1),
      testObject("new", 7),
    ];
    if (kind === "list") mirror.collect(now);
    else for (const object of now) mirror.collect([object]);
    mirror.swap(false);
    expect(changes).toEqual([
      "Deleted gone gone 1",
      "Deleted recreated recreated 1",
      "Added recreated other-uid 5",
      "Changed changed changed 6",
      "Added new new 7",
    ]);
  });

  test("after the server went back in time, objects that look the same are announced as well", () => {
    const { mirror, changes } = setUp();
    mirror.put(testObject("same", 1));
    changes.length = 0;
    mirror.startCollecting();
    mirror.collect([testObject("same", 1)]);
    mirror.swap(true);
    expect(changes).toEqual(["Changed same same 1"]);
  });

  test("the same state told twice is announced once, and an unknown deletion not at all", () => {
    const { mirror, changes } = setUp();
    mirror.put(testObject("a", 1));
    mirror.put(testObject("a", 1));
    mirror.remove(testObject("b", 2));
    expect(changes).toEqual(["Added a a 1"]);
  });

  test("objects that were collected and never swapped in are never seen", () => {
    const { mirror, changes } = setUp();
    mirror.startCollecting();
    mirror.collect([testObject("partial", 1)]);
    mirror.startCollecting();
    mirror.swap(false);
    expect(changes).toEqual([]);
  });
});
