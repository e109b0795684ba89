import { describe, expect, test } from "@jest/globals";
import type { AddressText } from "../../../src/model/gathered.ts";
import {
  type BudgetedRule,
  inBudgetOrder,
  linesOfInstanceMax,
  linesOfRuleMax,
  mapsOfGuestMax,
  mapsOfInstanceMax,
  SourceBudget,
} from "../../../src/source/cluster/source-budget.ts";
import { aRule, createdMs, openGrant } from "../../support/builders/declare.ts";

function budgeted(name: string, maps: readonly string[], { ageMs = 0, maxEntries = 500 } = {}): BudgetedRule {
  const addressesFrom = maps.map((map) => ({ name: map, key: "list.txt" }));
  const { rule } = aRule(name, { addressesFrom, meta: { createdAtMs: createdMs - ageMs } });
  const grant = name.startsWith("edge/") ? undefined : { ...openGrant, maxEntries };
  return { rule, grant, isAttached: true };
}

function text(lines: number): AddressText {
  return { state: "Read", source: "a text", text: "192.0.2.1\n".repeat(lines) };
}

test("the owner comes first, and guests take turns, whatever their age and number", () => {
  const rules = [
    budgeted("hog/1", [], { ageMs: 9 }),
    budgeted("hog/2", [], { ageMs: 8 }),
    budgeted("guest/1", [], { ageMs: 7 }),
    budgeted("edge/1", [], { ageMs: 1 }),
    budgeted("edge/2", [], { ageMs: 2 }),
  ];
  const order = inBudgetOrder(rules).map(({ rule: { meta } }) => `${meta.namespace}/${meta.name}`);
  expect(order).toStrictEqual(["edge/2", "edge/1", "hog/1", "guest/1", "hog/2"]);
});

describe("a budget", () => {
  test("limits the lines of a rule and of an instance, and reports their number", () => {
    const budget = new SourceBudget();
    const rule = budgeted("edge/rule", ["a"]);
    expect(budget.take(rule, [text(linesOfRuleMax), text(1)])).toContain("have 100,001 lines in total");
    for (let lines = 0; lines < linesOfInstanceMax; lines += 50_000) {
      expect(budget.take(rule, [text(50_000)])).toBeUndefined();
    }
    expect(budget.take(rule, [text(1)])).toContain("more than 250,000 lines, of which this rule has 1:");
    expect(budget.lines).toBe(linesOfInstanceMax);
  });

  test("limits the bytes of an instance, also with few lines", () => {
    const budget = new SourceBudget();
    const rule = budgeted("edge/rule", ["a"]);
    const long: AddressText = { state: "Read", source: "a text", text: `# ${"x".repeat(1024 * 1024)}` };
    for (let mebibytes = 0; mebibytes < 31; mebibytes += 1) budget.take(rule, [long]);
    expect(budget.admit(rule)).toBeUndefined();
    budget.take(rule, [long]);
    expect(budget.admit(rule)).toContain("larger than 32 MiB in total");
  });

  test("limits a guest's lines by its grant, across all its rules", () => {
    const budget = new SourceBudget();
    expect(budget.take(budgeted("guest/a", ["a"]), [text(9_999)])).toBeUndefined();
    expect(budget.take(budgeted("guest/b", ["b"]), [text(2)])).toContain("but the limit is 10,000: remove lines");
    expect(budget.take(budgeted("other/a", ["a"], { maxEntries: 5_000 }), [text(50_000)])).toBeUndefined();
  });

  test("limits the distinct ConfigMaps of a guest and of an instance", () => {
    const budget = new SourceBudget();
    const maps = (count: number, prefix = "m"): string[] =>
      Array.from({ length: count }, (_, index) => `${prefix}${index}`);
    expect(budget.admit(budgeted("guest/a", maps(mapsOfGuestMax)))).toBeUndefined();
    expect(budget.admit(budgeted("guest/b", maps(mapsOfGuestMax)))).toBeUndefined();
    expect(budget.admit(budgeted("guest/c", ["one-more"]))).toContain("more than 50 ConfigMaps");
    expect(budget.admit(budgeted("edge/a", maps(mapsOfInstanceMax - mapsOfGuestMax)))).toBeUndefined();
    expect(budget.admit(budgeted("edge/b", ["one-more"]))).toContain("more than 1,000 ConfigMaps");
  });
});
