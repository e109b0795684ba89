import { describe, expect, test } from "@jest/globals";
import { operationKey } from "../../src/model/operation.ts";
import { addresses, allowing, anInstance, anOrigin, blocking } from "../support/builders/declare.ts";
import {
  anOwnedOrigin,
  nowMs,
  operationsOf,
  ownedBy,
  planOf,
  recorded,
  type Situation,
} from "../support/builders/gathered.ts";

describe("Removals that are as urgent as additions", () => {
  const big = blocking("big", addresses(3));
  const ended = { priority: 5, expiresAtMs: nowMs - 1 };
  const bigKeys = addresses(3).map((text) => `blocklist +${text}`);

  test("go before those of a lower priority, and after those of a higher one", () => {
    const rules = [
      big,
      blocking("over", ["203.0.113.1"], ended),
      blocking("late", ["203.0.113.2"], { expiresAtMs: nowMs - 1 }),
      blocking("first", ["203.0.113.3"], { priority: 9 }),
      blocking("same", ["203.0.113.4"], { priority: 5 }),
    ];
    const blocklist = [ownedBy("203.0.113.1", ["edge/over"]), ownedBy("203.0.113.2", ["edge/late"])];
    expect(operationsOf(recorded(blocklist, { rules }))).toStrictEqual([
      "blocklist +203.0.113.3",
      "blocklist +203.0.113.4",
      "blocklist -203.0.113.1",
      ...bigKeys,
      "blocklist -203.0.113.2",
    ]);
  });

  test("stay after every addition that shares an address with them", () => {
    const rules = [
      big,
      // The remaining parts of a network from which an address was excluded.
      blocking("narrowed", ["203.0.113.0/32", "203.0.113.2/31"], { priority: 5 }),
      blocking("over", ["198.18.0.0/24"], ended),
    ];
    const blocklist = [ownedBy("203.0.113.0/30", ["edge/narrowed"]), ownedBy("198.18.0.0/24", ["edge/over"])];
    expect(operationsOf(recorded(blocklist, { rules }))).toStrictEqual([
      "blocklist +203.0.113.0",
      "blocklist +203.0.113.2/31",
      "blocklist -203.0.113.0/30",
      ...bigKeys,
      "blocklist -198.18.0.0/24",
    ]);
  });

  test("are preceded by the additions inside them, of whatever priority", () => {
    const rules = [big, blocking("inner", ["203.0.113.7"]), blocking("over", ["203.0.113.0/24"], ended)];
    expect(operationsOf(recorded([ownedBy("203.0.113.0/24", ["edge/over"])], { rules }))).toStrictEqual([
      "blocklist +203.0.113.7",
      "blocklist -203.0.113.0/24",
      ...bigKeys,
    ]);
  });

  test("do not exist on the allowlist, where access would be lost too early", () => {
    const rules = [big, allowing("over", ["203.0.113.1"], ended)];
    const inventory = { allowlist: [ownedBy("203.0.113.1", ["edge/over"])] };
    expect(operationsOf({ gathered: { rules }, observed: { allowlist: ["203.0.113.1"] }, inventory })).toStrictEqual([
      ...bigKeys,
      "allowlist -203.0.113.1",
    ]);
  });
});

describe("Additions", () => {
  test("of a higher priority go first, then those of the rule with fewer entries left, then Allow before Block", () => {
    const rules = [
      blocking("big", addresses(3)),
      blocking("small", ["192.0.2.1", "192.0.2.2"]),
      allowing("office", ["203.0.113.1", "203.0.113.2"]),
      blocking("urgent", addresses(4, 50), { priority: 5 }),
    ];
    expect(operationsOf({ gathered: { rules } })).toStrictEqual([
      ...addresses(4, 50).map((text) => `blocklist +${text}`),
      "allowlist +203.0.113.1",
      "allowlist +203.0.113.2",
      "blocklist +192.0.2.1",
      "blocklist +192.0.2.2",
      ...addresses(3).map((text) => `blocklist +${text}`),
    ]);
  });

  test("count the remaining entries, not the declared ones", () => {
    const rules = [blocking("big", addresses(9)), blocking("small", ["192.0.2.1", "192.0.2.2"])];
    const situation = { gathered: { rules }, observed: { blocklist: addresses(8) } };
    expect(operationsOf(situation)[0]).toBe("blocklist +198.18.0.8");
  });

  test("that two rules declare are done once, for the more urgent rule, and name both", () => {
    const rules = [blocking("a", addresses(3)), blocking("b", addresses(1), { priority: 2 })];
    const [first] = planOf({ gathered: { rules } }).operations;
    expect(first).toMatchObject({
      entry: "198.18.0.0",
      rules: ["edge/b", "edge/a"],
      reason: "declared by WafIpRule edge/b and 1 more (1 to add, priority 2)",
    });
  });

  test("of exceptions go before the block that covers them, also under a higher priority", () => {
    const rules = [
      blocking("wide", ["192.0.2.0/24", "198.51.100.0/24"], { priority: 9 }),
      allowing("office", ["192.0.2.7", "203.0.113.7"]),
    ];
    expect(operationsOf({ gathered: { rules } })).toStrictEqual([
      "allowlist +192.0.2.7",
      "blocklist +192.0.2.0/24",
      "blocklist +198.51.100.0/24",
      "allowlist +203.0.113.7",
    ]);
  });

  test("of a wider allowed network go before a block inside it", () => {
    const rules = [blocking("one", ["192.0.2.7"], { priority: 9 }), allowing("net", ["192.0.2.0/24"])];
    expect(operationsOf({ gathered: { rules } })).toStrictEqual(["allowlist +192.0.2.0/24", "blocklist +192.0.2.7"]);
  });

  test("that are urgent do not wait for exceptions to other networks inside the same wide block", () => {
    const rules = [
      blocking("urgent", ["198.18.9.9"], { priority: 9 }),
      blocking("country", ["198.18.0.0/15"]),
      allowing("partners", ["198.18.1.1", "198.18.1.2", "198.18.1.3"]),
    ];
    expect(operationsOf({ gathered: { rules } })[0]).toBe("blocklist +198.18.9.9");
  });
});

test("A plan starts with origins, followed by additions and removals, from the blocklist first", () => {
  const rules = [blocking("a", ["192.0.2.1"]), allowing("b", ["192.0.2.2"])];
  const lists = { blocklist: ["192.0.2.9", "192.0.2.8"], allowlist: ["192.0.2.7"] };
  const situation: Situation = {
    gathered: { rules, origins: [anOrigin("a.example")] },
    observed: lists,
    inventory: { ...lists, origins: { "z.example": anOwnedOrigin({ type: "Backup" }) } },
  };
  expect(operationsOf(situation)).toStrictEqual([
    "origins +a.example Alternate",
    "origins -z.example Backup",
    "allowlist +192.0.2.2",
    "blocklist +192.0.2.1",
    "blocklist -192.0.2.8",
    "blocklist -192.0.2.9",
    "allowlist -192.0.2.7",
  ]);
});

test.each([
  ["blocklist", "allowlist", allowing],
  ["allowlist", "blocklist", blocking],
] as const)("An entry that changes lists leaves the %s after it was added to the %s", (from, to, declaring) => {
  const lists = { [from]: ["192.0.2.1"] };
  const gathered = { rules: [declaring("a", ["192.0.2.1"])] };
  const operations = operationsOf({ gathered, observed: lists, inventory: lists });
  expect(operations).toStrictEqual([`${to} +192.0.2.1`, `${from} -192.0.2.1`]);
});

test("A plan of ten thousand entries contains each once", () => {
  const plan = planOf({
    gathered: { rules: [blocking("feed", addresses(10_000)), allowing("ok", addresses(100, 20_000))] },
    observed: { blocklist: addresses(5_000, 5_000) },
  });
  expect(new Set(plan.operations.map(operationKey)).size).toBe(5_100);
  expect(plan.inventory.entries.blocklist.size).toBe(5_000);
});

describe("On a list that is nearly full,", () => {
  const guards = { maxRemovals: 1_000, maxRemovalPercent: 100 };
  const writes = (declared: readonly string[], shown: readonly string[], maxEntries: number) => {
    const instance = anInstance({ guards, lists: { blocklist: { maxEntries } } });
    const owned = shown.map((text) => ownedBy(text, ["edge/hosts"]));
    return operationsOf(recorded(owned, { instance, rules: [blocking("hosts", declared)] }));
  };

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
