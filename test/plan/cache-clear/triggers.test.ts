import { describe, expect, test } from "@jest/globals";
import type { HandledTrigger } from "../../../src/model/inventory.ts";
import type { ClearFinish, ClearRecord } from "../../../src/plan/cache-clear/cache-clear.ts";
import { handledBy, withHandled } from "../../../src/plan/cache-clear/triggers.ts";

function handled(cacheClear: string, trigger: string, handledAtMs: number): HandledTrigger {
  return { cacheClear, trigger, handledAtMs };
}

function finished(finish: ClearFinish | undefined): ClearRecord {
  return { trigger: "a", startedMs: 1, attempts: 1, lastAttemptMs: 1, message: "", finish };
}

describe("The handled triggers of an instance", () => {
  test("are those of objects whose cache was cleared, by their own call or another one", () => {
    const times = { atMs: 9, clearedAtMs: 5 };
    const expected = handled("edge/x", "a", 5);
    expect(handledBy("edge/x", finished({ state: "Cleared", ...times }))).toStrictEqual(expected);
    expect(handledBy("edge/x", finished({ state: "Coalesced", ...times, with: "edge/y" }))).toStrictEqual(expected);
    expect(handledBy("edge/x", finished(undefined))).toBeUndefined();
    const failed = { state: "Failed", atMs: 9, reason: "Rejected", message: "No." } as const;
    expect(handledBy("edge/x", finished(failed))).toBeUndefined();
  });

  test("contain the last trigger of each object", () => {
    const before = [handled("edge/x", "a", 5), handled("edge/y", "a", 4)];
    const next = withHandled(before, [handled("edge/x", "b", 7)], "Now");
    expect(next).toStrictEqual([handled("edge/x", "b", 7), handled("edge/y", "a", 4)]);
  });

  test("are the same object if nothing is new", () => {
    const before = [handled("edge/x", "a", 5)];
    expect(withHandled(before, [], "Now")).toBe(before);
    expect(withHandled(before, [handled("edge/x", "a", 8)], "Recalled")).toBe(before);
  });

  test("include a recalled status only if it is newer, and a current result always", () => {
    const before = [handled("edge/x", "b", 5)];
    expect(withHandled(before, [handled("edge/x", "a", 4)], "Recalled")).toBe(before);
    expect(withHandled(before, [handled("edge/x", "a", 6)], "Recalled")).toStrictEqual([handled("edge/x", "a", 6)]);
    expect(withHandled(before, [handled("edge/x", "a", 4)], "Now")).toStrictEqual([handled("edge/x", "a", 4)]);
  });

  test("drop the oldest beyond 2,000, and do not add them again", () => {
    const many = Array.from({ length: 2_100 }, (_, index) => handled(`edge/${index}`, "a", index));
    const kept = withHandled([], many, "Now");
    expect(kept).toHaveLength(2_000);
    expect(kept.at(-1)).toStrictEqual(handled("edge/100", "a", 100));
    expect(withHandled(kept, many, "Recalled")).toBe(kept);
  });
});
