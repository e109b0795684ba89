import { describe, expect, test } from "@jest/globals";
import { showsSame } from "../../src/run/world.ts";
import { anAutoBlock } from "../support/builders/declare-auto-block.ts";
import { anInstance, blocking } from "../support/builders/declare.ts";
import { gathered } from "../support/builders/gathered.ts";

describe("A cache matches a fresh read", () => {
  const inCluster = (generation: number, addresses: readonly string[]) =>
    gathered({ instance: anInstance(), rules: [blocking("feed", addresses, { meta: { uid: "a", generation } })] });
  const inFolder = (addresses: readonly string[]) =>
    gathered({ instance: anInstance(), rules: [blocking("feed", addresses, { meta: { uid: "", generation: 1 } })] });

  test("if every object has the same version", () => {
    expect(showsSame(inCluster(1, ["192.0.2.1"]), inCluster(1, ["192.0.2.1"]))).toBe(true);
    expect(showsSame(inCluster(1, ["192.0.2.1"]), inCluster(2, ["192.0.2.1"]))).toBe(false);
  });

  test("if it also has what else decides which entries are remembered or declared", () => {
    const cached = inCluster(1, ["192.0.2.1"]);
    const { rule: declared } = blocking("lost", ["192.0.2.2"], { meta: { uid: "b" } });
    const broken = { declared, problem: "There is no WafInstance edge/shpo." };
    const brokenReferences = { objects: new Map([["WafIpRule edge/lost", broken]]), existing: undefined };
    for (const more of [
      { brokenReferences },
      { invalidObjects: new Map([["WafIpRule edge/lost", "It has an unknown field."]]) },
      { autoBlocks: [anAutoBlock()] },
      { brokenSources: ["rules.yaml cannot be read."] },
    ]) {
      expect(showsSame(cached, { ...cached, ...more })).toBe(false);
      expect(showsSame({ ...cached, ...more }, { ...cached, ...more })).toBe(true);
    }
  });

  test("in a folder, where objects have no versions, only if their content is the same", () => {
    expect(showsSame(inFolder(["192.0.2.1"]), inFolder(["192.0.2.1"]))).toBe(true);
    expect(showsSame(inFolder(["192.0.2.1"]), inFolder(["192.0.2.2"]))).toBe(false);
  });
});
