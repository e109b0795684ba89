import { describe, expect, test } from "@jest/globals";
import { unknownOwners } from "../../../src/model/entry-owners.ts";
import type { Approval } from "../../../src/model/inventory.ts";
import { versionOfRules } from "../../../src/plan/lists/refusals.ts";
import type { HeldRemoval, OriginRemoval } from "../../../src/plan/lists/removal-guard.ts";
import { hashRemovals } from "../../../src/plan/lists/removal-guard.ts";
import { addresses, anInstance, blocking } from "../../support/builders/declare.ts";
import type { Situation } from "../../support/builders/gathered.ts";
import { desiredOf, entry, nowMs, planOf } from "../../support/builders/gathered.ts";

/** A list of `kept` declared entries, and `removed` of ours that nobody wants. */
function removing(
  removed: number,
  kept: number,
  guards: Partial<{ maxRemovals: number; maxRemovalPercent: number }> = {},
): Situation {
  const gone = addresses(removed, 10_000);
  return {
    gathered: { instance: anInstance({ guards }), rules: [blocking("feed", addresses(kept))] },
    observed: { blocklist: [...addresses(kept), ...gone] },
    inventory: { blocklist: [...addresses(kept), ...gone] },
  };
}

function approving(situation: Situation, hash: string | undefined, approval?: Approval): Situation {
  const annotations = { "wafsync.dev/approve-removals": hash ?? "" };
  return {
    ...situation,
    gathered: { ...situation.gathered, instance: anInstance({ meta: { annotations } }) },
    inventory: { ...situation.inventory, approval },
  };
}

function removals(situation: Situation): string[] {
  return planOf(situation).operations.flatMap((operation) =>
    operation.kind === "RemoveEntry" ? [operation.spelling] : [],
  );
}

describe("The guard on plans", () => {
  test.each([
    ["lets 30 of 100 go", 30, 70, {}, false],
    ["holds 31 of 100", 31, 69, {}, true],
    ["lets 3 of 9 go", 3, 6, {}, false],
    ["lets all 9 go", 9, 0, {}, false],
    ["holds 4 of 10", 4, 6, {}, true],
    ["lets 100 of 1000 go", 100, 900, {}, false],
    ["holds 101 of 1000", 101, 899, {}, true],
    ["holds 1 where none is allowed", 1, 500, { maxRemovals: 0 }, true],
    ["lets all of 50 go where every share is allowed", 50, 0, { maxRemovalPercent: 100 }, false],
    ["holds 1 of 50 where no share is allowed", 1, 49, { maxRemovalPercent: 0 }, true],
  ] as const)("%s", (_what, removed, kept, guards, held) => {
    const plan = planOf(removing(removed, kept, guards));
    expect(plan.operations).toHaveLength(held ? 0 : removed);
    expect(plan.held?.removals.blocklist.length).toBe(held ? removed : undefined);
    expect(plan.lists.blocklist.held).toBe(held ? removed : 0);
  });

  test("holds 200,000 removals at once", () => {
    expect(planOf(removing(200_000, 1)).held?.removals.blocklist).toHaveLength(200_000);
  });

  test("does not hold additions, nor the removals of the other list", () => {
    const held = removing(150, 1);
    const plan = planOf({
      gathered: { rules: [blocking("feed", addresses(3))] },
      observed: { ...held.observed, allowlist: ["203.0.113.1"] },
      inventory: { ...held.inventory, allowlist: ["203.0.113.1"] },
    });
    expect(plan.operations.map(({ kind }) => kind)).toEqual(["AddEntry", "AddEntry", "RemoveEntry"]);
    expect(plan.held?.removals.allowlist).toEqual([]);
  });

  test("gives the same answer before and after the additions of the plan", () => {
    for (const added of [5, 10, 20, 30, 100]) {
      const gone = addresses(12, 10_000);
      const gathered = { rules: [blocking("feed", addresses(added))] };
      const before = planOf({ gathered, observed: { blocklist: gone }, inventory: { blocklist: gone } });
      const all = [...gone, ...addresses(added)];
      const after = planOf({ gathered, observed: { blocklist: all }, inventory: { blocklist: all } });
      expect(after.held?.hash).toBe(before.held?.hash);
    }
  });
});

test("A list counts as one of ten entries if it may have them: a refused addition may be there already", () => {
  const refusal = { operation: "blocklist +192.0.2.1", message: "on the list already", refusedAtMs: nowMs };
  const rules = [blocking("a", ["192.0.2.1"])];
  const version = versionOfRules(desiredOf({ rules }).rules);
  const shown = addresses(9);
  const situation: Situation = {
    gathered: { rules },
    observed: { blocklist: shown },
    inventory: { blocklist: shown.slice(0, 5), refusals: [{ ...refusal, wantedBy: version }] },
  };
  expect(planOf(situation).held?.removals.blocklist).toHaveLength(5);
  expect(planOf({ ...situation, gathered: {} }).held).toBeUndefined();
});

describe("An approval", () => {
  test("lets exactly the plan with its hash through, and is recorded before the first removal", () => {
    const situation = removing(150, 1);
    const { held } = planOf(situation);
    const plan = planOf(approving(situation, held!.hash));
    expect(plan.operations).toHaveLength(150);
    expect(plan.held).toBeUndefined();
    expect(plan.inventoryChanged).toBe(true);
    expect(plan.inventory.approval?.removals.blocklist.size).toBe(150);
  });

  test("of another hash, or of a plan that has changed since, lets nothing through", () => {
    const { held } = planOf(removing(150, 1));
    expect(removals(approving(removing(150, 1), "000000000000"))).toEqual([]);
    expect(removals(approving(removing(151, 1), held!.hash))).toEqual([]);
    expect(removals(approving(removing(149, 1), held!.hash))).toEqual([]);
    expect(planOf(removing(151, 1)).held?.hash).not.toBe(held!.hash);
  });

  test("goes on for what is left after a crash half-way", () => {
    const { held, inventory } = planOf(approving(removing(150, 1), planOf(removing(150, 1)).held!.hash));
    const half = approving(removing(70, 1), "000000000000", inventory.approval);
    expect(held).toBeUndefined();
    expect(removals(half)).toHaveLength(70);
    expect(planOf(half).held).toBeUndefined();
  });

  test("does not cover what came later, and counts for nothing in the guard on that", () => {
    const approval = planOf(approving(removing(150, 1), planOf(removing(150, 1)).held!.hash)).inventory.approval;
    const few = approving(removing(155, 1), "", approval);
    expect(removals(few)).toHaveLength(155);
    const many = approving(removing(280, 1), "", approval);
    expect(removals(many)).toHaveLength(150);
    expect(planOf(many).held?.removals.blocklist).toHaveLength(130);
  });

  test("is over when everything that it allowed is gone, and when it is wanted again", () => {
    const approval: Approval = {
      hash: "abc",
      removals: { blocklist: new Set([entry("192.0.2.1")]), allowlist: new Set() },
      origins: new Set(),
      holds: new Set(),
    };
    expect(planOf({ inventory: { approval } }).inventory.approval).toBeUndefined();
    const wanted: Situation = {
      gathered: { rules: [blocking("a", ["192.0.2.1"])] },
      observed: { blocklist: ["192.0.2.1"] },
      inventory: { blocklist: ["192.0.2.1"], approval },
    };
    expect(planOf(wanted).inventory.approval).toBeUndefined();
  });

  test("waits, and stays, while a source is broken", () => {
    const approved = planOf(approving(removing(150, 1), planOf(removing(150, 1)).held!.hash)).inventory.approval;
    const base = approving(removing(150, 1), "", approved);
    const plan = planOf({ ...base, gathered: { ...base.gathered, brokenSources: ["a.yaml can't be read."] } });
    expect(plan.operations).toEqual([]);
    expect(plan.held?.removals.blocklist).toHaveLength(150);
    expect(plan.inventory.approval?.removals.blocklist.size).toBe(150);
  });
});

test("The hash names a set of removals, whatever their order, and each list and each use by itself", () => {
  const [a, b] = ["192.0.2.1", "192.0.2.2"].map((text) => ({ entry: entry(text), holds: [], owners: unknownOwners }));
  const origin = { host: "a.example", holds: [], owners: unknownOwners };
  const hashOf = (blocklist: HeldRemoval[], allowlist: HeldRemoval[], approvals = 0, origins: OriginRemoval[] = []) =>
    hashRemovals({ removals: { blocklist, allowlist }, origins }, approvals);
  const hash = hashOf([a!, b!], []);
  expect(hashOf([b!, a!], [])).toBe(hash);
  expect(hashOf([a!], [b!])).not.toBe(hashOf([b!], [a!]));
  expect(hashOf([a!, b!], [], 1)).not.toBe(hash);
  expect(hashOf([a!, b!], [], 0, [origin])).not.toBe(hash);
  expect(hashOf([], [])).toBeUndefined();
});
