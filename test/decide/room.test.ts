import { describe, expect, test } from "@jest/globals";
import { operationKey } from "../../src/model/operation.ts";
import { anInstance, blocking } from "../support/builders/declare.ts";
import { ownedBy, planOf } from "../support/builders/gathered.ts";

const guards = { maxRemovals: 1_000, maxRemovalPercent: 100 };

function writes(declared: readonly string[], shown: readonly string[], maxEntries: number): readonly string[] {
  const instance = anInstance({ guards, lists: { blocklist: { maxEntries } } });
  const plan = planOf({
    gathered: { instance, rules: [blocking("hosts", declared)] },
    observed: { blocklist: shown },
    inventory: { blocklist: shown.map((text) => ownedBy(text, ["edge/hosts"])) },
  });
  return plan.operations.map(operationKey);
}

describe("On a list that is nearly full,", () => {
  test("additions come first as long as there is room", () => {
    expect(writes(["192.0.2.1"], ["192.0.2.3"], 2)).toStrictEqual(["blocklist +192.0.2.1", "blocklist -192.0.2.3"]);
  });

  test("a removal makes room for an addition, preferably one that shares no address with any addition", () => {
    expect(writes(["192.0.2.8/30", "192.0.2.77"], ["192.0.2.0/24", "198.51.100.1", "192.0.2.77"], 3)).toStrictEqual([
      "blocklist -198.51.100.1",
      "blocklist +192.0.2.8/30",
      "blocklist -192.0.2.0/24",
    ]);
  });

  test("an entry is removed before its replacement is added only if there is no other way", () => {
    expect(writes(["192.0.2.0/25"], ["192.0.2.0/24"], 1)).toStrictEqual([
      "blocklist -192.0.2.0/24",
      "blocklist +192.0.2.0/25",
    ]);
  });
});
