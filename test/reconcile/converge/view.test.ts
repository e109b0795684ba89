import { describe, expect, test } from "@jest/globals";
import { showsSame } from "../../../src/reconcile/converge/view.ts";
import { anInstance, blocking } from "../../support/builders/declare.ts";
import { gathered } from "../../support/builders/gathered.ts";

describe("A cache matches a fresh read", () => {
  const inCluster = (generation: number, addresses: readonly string[]) =>
    gathered({ instance: anInstance(), rules: [blocking("feed", addresses, { meta: { uid: "a", generation } })] });
  const inFolder = (addresses: readonly string[]) =>
    gathered({ instance: anInstance(), rules: [blocking("feed", addresses, { meta: { uid: "", generation: 1 } })] });

  test("if every object has the same version", () => {
    expect(showsSame(inCluster(1, ["192.0.2.1"]), inCluster(1, ["192.0.2.1"]))).toBe(true);
    expect(showsSame(inCluster(1, ["192.0.2.1"]), inCluster(2, ["192.0.2.1"]))).toBe(false);
  });

  test("in a folder, where objects have no versions, only if their content is the same", () => {
    expect(showsSame(inFolder(["192.0.2.1"]), inFolder(["192.0.2.1"]))).toBe(true);
    expect(showsSame(inFolder(["192.0.2.1"]), inFolder(["192.0.2.2"]))).toBe(false);
  });
});
