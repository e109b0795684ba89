import { describe, expect, test } from "@jest/globals";
import {
  type Condition,
  findCondition,
  type NewCondition,
  removeCondition,
  setCondition,
} from "../../src/kinds/conditions.ts";
import {
  conditionStatuses,
  conditionTypes,
  isPublished,
  type ReasonFact,
  reasonFacts,
} from "../../src/kinds/reasons.ts";

const noonMs = Date.parse("2026-11-21T12:00:00Z");
const laterMs = noonMs + 90_500;

const syncing: NewCondition = {
  type: "Synced",
  status: "False",
  reason: "Pending",
  message: "3 of 10 entries are on the WAF.",
  observedGeneration: 1,
};

describe("setting a condition", () => {
  const before = setCondition([], syncing, noonMs);

  test("a new condition is added with its time in whole seconds", () => {
    expect(before).toStrictEqual([{ ...syncing, lastTransitionTime: "2026-11-21T12:00:00Z" }]);
  });

  test("setting the same condition again returns the same array", () => {
    expect(setCondition(before, { ...syncing }, laterMs)).toBe(before);
  });

  test.each<[string, Partial<NewCondition>]>([
    ["reason", { reason: "ApiUnavailable" }],
    ["message", { message: "4 of 10 entries are on the WAF." }],
    ["generation", { observedGeneration: 2 }],
  ])("a different %s keeps the transition time", (_, change) => {
    const next = { ...syncing, ...change } as NewCondition;
    expect(setCondition(before, next, laterMs)).toStrictEqual([
      { ...next, lastTransitionTime: "2026-11-21T12:00:00Z" },
    ]);
  });

  test("a different status changes the transition time", () => {
    const after = setCondition(before, { ...syncing, status: "True", reason: "Synced" }, laterMs);
    expect(after).toMatchObject([{ status: "True", lastTransitionTime: "2026-11-21T12:01:30Z" }]);
  });

  test("a condition is replaced in place, and the others stay unchanged", () => {
    const ready: NewCondition = { ...syncing, type: "Ready", status: "Unknown", reason: "Pending" };
    const both = setCondition(before, ready, noonMs);
    const after = setCondition(both, { ...syncing, status: "True", reason: "Synced" }, laterMs);
    expect(after.map(({ type }) => type)).toStrictEqual(["Synced", "Ready"]);
    expect(after[1]).toBe(both[1]);
  });

  test("a message that is too long is truncated", () => {
    const after = setCondition([], { ...syncing, message: "x".repeat(40_000) }, noonMs);
    expect(after[0]?.message).toHaveLength(32_768);
  });
});

test("a condition is found by its type and removed", () => {
  const conditions: readonly Condition[] = setCondition([], syncing, noonMs);
  expect(findCondition(conditions, "Synced")).toBe(conditions[0]);
  expect(findCondition(conditions, "Ready")).toBeUndefined();
  expect(removeCondition(conditions, "Synced")).toStrictEqual([]);
  expect(removeCondition(conditions, "Stalled")).toBe(conditions);
});

describe("the published reasons", () => {
  const reasons = Object.entries<ReasonFact>(reasonFacts);

  test.each(reasons)(
    "%s is a reason that Kubernetes accepts, with two sentences",
    (reason, { on, meaning, action }) => {
      expect(reason).toMatch(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/);
      expect(meaning).toMatch(/^[A-Z].*\.$/);
      expect(action).toMatch(/^[A-Z].*\.$/);
      expect(Object.keys(on)).not.toStrictEqual([]);
    },
  );

  test.each(reasons)("%s is published with its statuses and no others", (reason, { on }) => {
    const published = Object.keys(on).map((type) => [
      type,
      conditionStatuses.filter((status) => isPublished(type, reason, status)).sort(),
    ]);
    expect(published).toStrictEqual(Object.entries(on).map(([type, statuses]) => [type, [...statuses].sort()]));
  });

  test("a condition that summarizes others repeats their reasons", () => {
    expect(isPublished("Ready", "BadApiKey", "False")).toBe(true);
    expect(isPublished("Stalled", "Blocked", "True")).toBe(true);
    expect(isPublished("Stalled", "Blocked", "False")).toBe(false);
  });

  test("a reason that is not in the list is not published", () => {
    expect(isPublished("Ready", "Fine", "True")).toBe(false);
    expect(isPublished("Happy", "Synced", "True")).toBe(false);
    expect(isPublished("Ready", "toString", "True")).toBe(false);
    expect(isPublished("Synced", "Synced", "Maybe")).toBe(false);
  });

  test("no kind can have more conditions than a status can contain", () => {
    expect(conditionTypes.length).toBeLessThanOrEqual(16);
  });
});
