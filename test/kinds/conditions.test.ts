import { describe, expect, test } from "@jest/globals";
import { findCondition, withConditions } from "../../src/kinds/conditions.ts";
import { conditionFacts } from "../../src/kinds/reasons.ts";

const noonMs = Date.parse("2026-11-21T12:00:00Z");
const laterMs = noonMs + 90_500;

const pending = { status: "False", reason: "Pending", message: "3 of 10 entries are on the WAF." } as const;
const before = withConditions([], { Synced: pending }, 1, noonMs);

describe("setting conditions", () => {
  test("a new condition is added with its time in whole seconds", () => {
    const at = { lastTransitionTime: "2026-11-21T12:00:00Z", observedGeneration: 1 };
    expect(before).toStrictEqual([{ type: "Synced", ...pending, ...at }]);
  });

  test("setting the same condition again returns the same array", () => {
    expect(withConditions(before, { Synced: { ...pending } }, 1, laterMs)).toBe(before);
  });

  test.each<[string, object, number]>([
    ["reason", { reason: "ApiUnavailable" }, 1],
    ["message", { message: "4 of 10 entries are on the WAF." }, 1],
    ["generation", {}, 2],
  ])("a different %s keeps the transition time", (_, change, observedGeneration) => {
    expect(withConditions(before, { Synced: { ...pending, ...change } }, observedGeneration, laterMs)).toStrictEqual([
      { ...before[0], ...change, observedGeneration },
    ]);
  });

  test("a condition is replaced in place with the time of a different status, and the others stay unchanged", () => {
    const both = withConditions(before, { Ready: pending }, 1, noonMs);
    const after = withConditions(both, { Synced: { ...pending, status: "True", reason: "Synced" } }, 1, laterMs);
    expect(after).toMatchObject([{ status: "True", lastTransitionTime: "2026-11-21T12:01:30Z" }, { type: "Ready" }]);
    expect(after[1]).toBe(both[1]);
  });

  test("a message that is too long is truncated", () => {
    const after = withConditions([], { Synced: { ...pending, message: "x".repeat(40_000) } }, 1, noonMs);
    expect(after[0]?.message).toHaveLength(32_768);
  });
});

test("a condition is found by its type and removed", () => {
  expect(findCondition(before, "Synced")).toBe(before[0]);
  expect(findCondition(before, "Ready")).toBeUndefined();
  expect(withConditions(before, { Synced: undefined }, 1, laterMs)).toStrictEqual([]);
  expect(withConditions(before, { Stalled: undefined }, 1, laterMs)).toBe(before);
});

test("no kind can have more conditions than a status can contain", () => {
  expect(Object.keys(conditionFacts).length).toBeLessThanOrEqual(16);
});
