import { describe, expect, test } from "@jest/globals";
import { createReflector, type ObjectChange } from "../../src/kube/reflector.ts";
import { createObjectStore } from "../../src/kube/store.ts";
import { testObject } from "../support/fakes/scripted-api-server.ts";
import type { TestObject } from "../support/fakes/scripted-api-server.ts";

function setUp(): {
  readonly reflector: ReturnType<typeof createReflector<TestObject>>;
  readonly changes: string[];
} {
  const changes: string[] = [];
  const store = createObjectStore<TestObject>();
  const describeChange = ({ type, object }: ObjectChange<TestObject>): string =>
    `${type} ${object.metadata.name} ${object.metadata.uid} ${object.metadata.resourceVersion}`;
  return { reflector: createReflector(store, (change) => changes.push(describeChange(change))), changes };
}

describe("changes without a watch", () => {
  test.each(["list", "watch-list"])(
    "deleted, recreated, changed and unchanged objects are distinguished by a %s",
    (kind) => {
      const { reflector, changes } = setUp();
      reflector.startCollecting();
      reflector.collect(["gone", "recreated", "changed", "same"].map((name) => testObject(name, 1)));
      reflector.swap(false);
      changes.length = 0;
      reflector.startCollecting();
      const now = [
        testObject("recreated", 5, "other-uid"),
        testObject("changed", 6),
        testObject("same", 1),
        testObject("new", 7),
      ];
      if (kind === "list") reflector.collect(now);
      else for (const object of now) reflector.collect([object]);
      reflector.swap(false);
      expect(changes).toStrictEqual([
        "Deleted gone gone 1",
        "Deleted recreated recreated 1",
        "Added recreated other-uid 5",
        "Changed changed changed 6",
        "Added new new 7",
      ]);
    },
  );

  test("after the server was restored, objects that look unchanged are announced as well", () => {
    const { reflector, changes } = setUp();
    reflector.put(testObject("same", 1));
    changes.length = 0;
    reflector.startCollecting();
    reflector.collect([testObject("same", 1)]);
    reflector.swap(true);
    expect(changes).toStrictEqual(["Changed same same 1"]);
  });

  test("a repeated state is announced once, and an unknown deletion not at all", () => {
    const { reflector, changes } = setUp();
    reflector.put(testObject("a", 1));
    reflector.put(testObject("a", 1));
    reflector.remove(testObject("b", 2));
    expect(changes).toStrictEqual(["Added a a 1"]);
  });

  test("objects that were collected and never swapped in are never visible", () => {
    const { reflector, changes } = setUp();
    reflector.startCollecting();
    reflector.collect([testObject("partial", 1)]);
    reflector.startCollecting();
    reflector.swap(false);
    expect(changes).toStrictEqual([]);
  });
});
