import { describeSource } from "../../src/model/address-source.ts";
import { describe, expect, test } from "@jest/globals";
import { unknownOwners } from "../../src/model/rule-id.ts";
import type { GatheredRule } from "../../src/model/gathered.ts";
import { type Approval, emptyInventory } from "../../src/model/inventory.ts";
import { compileDesired } from "../../src/decide/desired.ts";
import type { Plan } from "../../src/decide/plan.ts";
import { RuleVersions } from "../../src/decide/ownership.ts";
import { hashOfPart, hashRemovals, type HeldRemoval, partsOf } from "../../src/decide/removal-guard.ts";
import { addresses, anInstance, aRule, blocking, feedSource } from "../support/builders/declare.ts";
import {
  anInventory,
  desiredOf,
  entry,
  gathered,
  nowMs,
  observed,
  ownedBy,
  planOf,
  recorded,
  type Situation,
  planInstance,
} from "../support/builders/gathered.ts";

/** A list with `kept` declared entries, and `removed` managed entries that no rule declares. */
function removing(
  removed: number,
  kept: number,
  guards: Partial<{ maxRemovals: number; maxRemovalPercent: number }> = {},
): Situation {
  const rules = [blocking("feed", addresses(kept))];
  return recorded([...addresses(kept), ...addresses(removed, 10_000)], { instance: anInstance({ guards }), rules });
}

function approving(situation: Situation, hash: string | undefined, approval?: Approval): Situation {
  const annotations = { "wafsync.dev/approve-removals": hash ?? "" };
  const instance = anInstance({ ...situation.gathered?.instance, meta: { annotations } });
  return {
    ...situation,
    gathered: { ...situation.gathered, instance },
    inventory: { ...situation.inventory, approval },
  };
}

/** The plan after a person has approved the removals of this situation. */
function approved(situation: Situation): Plan {
  return planOf(approving(situation, planOf(situation).held!.hash));
}

function removals(situation: Situation): string[] {
  return planOf(situation).operations.flatMap((operation) =>
    operation.kind === "RemoveEntry" ? [operation.spelling] : [],
  );
}

describe("The guard on plans", () => {
  test.each([
    ["allows 30 of 100", 30, 70, {}, false],
    ["puts 31 of 100 on hold", 31, 69, {}, true],
    ["allows 3 of 9", 3, 6, {}, false],
    ["allows all 9", 9, 0, {}, false],
    ["puts 4 of 10 on hold", 4, 6, {}, true],
    ["allows 100 of 1,000", 100, 900, {}, false],
    ["puts 101 of 1,000 on hold", 101, 899, {}, true],
    ["puts 1 on hold if none is allowed", 1, 500, { maxRemovals: 0 }, true],
    ["allows all of 50 if every percentage is allowed", 50, 0, { maxRemovalPercent: 100 }, false],
    ["puts 1 of 50 on hold if no percentage is allowed", 1, 49, { maxRemovalPercent: 0 }, true],
  ] as const)("%s", (_what, removed, kept, guards, held) => {
    const plan = planOf(removing(removed, kept, guards));
    expect(plan.operations).toHaveLength(held ? 0 : removed);
    expect(plan.held?.removals.blocklist.length).toBe(held ? removed : undefined);
    expect(plan.lists.blocklist.held).toBe(held ? removed : 0);
  });

  test("puts 200,000 removals on hold", () => {
    expect(planOf(removing(200_000, 1)).held?.removals.blocklist).toHaveLength(200_000);
  });

  test("affects neither additions nor the removals of the other list", () => {
    const held = removing(150, 1);
    const allowlist = ["203.0.113.1"];
    const plan = planOf({
      gathered: { rules: [blocking("feed", addresses(3))] },
      observed: { ...held.observed, allowlist },
      inventory: { ...held.inventory, allowlist },
    });
    expect(plan.operations.map(({ kind }) => kind)).toStrictEqual(["AddEntry", "AddEntry", "RemoveEntry"]);
    expect(plan.held?.removals.allowlist).toStrictEqual([]);
  });

  test("gives the same result before and after the additions of the plan", () => {
    for (const added of [5, 10, 20, 30, 100]) {
      const gone = addresses(12, 10_000);
      const gathered = { rules: [blocking("feed", addresses(added))] };
      const after = planOf(recorded([...gone, ...addresses(added)], gathered));
      expect(after.held?.hash).toBe(planOf(recorded(gone, gathered)).held?.hash);
    }
  });
});

/** The plan of a confirmed run, after these earlier removals. */
function windowed(situation: Situation, { gone = 0, minutesAgo = 1, windowMs = 3_600_000, pending = 0 } = {}) {
  const sinceMs = nowMs - minutesAgo * 60_000;
  const allowed = {
    ...emptyInventory.allowed,
    blocklist: { pending: new Set(addresses(pending, 10_000).map(entry)), count: gone, sinceMs },
  };
  const instance = { ...situation.gathered?.instance, removalWindowMs: windowMs };
  const gathered = { ...situation.gathered, instance: anInstance(instance) };
  return planOf({ ...situation, gathered, inventory: { ...situation.inventory, allowed }, countsRemovals: true });
}

describe("Entries that end by themselves", () => {
  const [texts, feed] = [addresses(60), feedSource("edge/bans")];
  const source = describeSource(feed);
  const all = texts.map((text) => entry(text));
  const heldWith = (change: object, sources = [source]): number | undefined => {
    const ended = new Map(all.slice(20).map((one) => [one, nowMs]));
    const listed = { state: "Listed", source: feed, entries: all.slice(0, 20), ended, ...change } as const;
    const rule = blocking("bans", [], { texts: [listed] });
    const owners = sources.map((one) => ({ kind: "WafIpRule", name: "edge/bans", source: one }) as const);
    const owned = texts.map((text) => [text, undefined, owners] as const);
    return planOf(recorded(owned, { rules: [rule] })).held?.removals.blocklist.length;
  };

  test("count for no guard if they expired in a feed, but not removed from it or declared by something else", () => {
    expect(heldWith({})).toBeUndefined();
    expect(heldWith({ ended: undefined })).toBe(40);
    expect(heldWith({ source: feedSource("edge/other") })).toBe(40);
    expect(heldWith({}, [source, "ConfigMap edge/list, key list"])).toBe(40);
  });
});

describe("The window of the guards", () => {
  test.each([
    ["counts the removals of earlier plans", 60, { gone: 41 }, 60],
    ["allows removals that still fit", 60, { gone: 40 }, undefined],
    ["ignores older removals", 60, { gone: 60, minutesAgo: 60 }, undefined],
    ["lasts just as long if the clock was set back", 60, { gone: 60, minutesAgo: -59 }, 60],
    ["counts no earlier removals if it is 0s", 60, { gone: 60, windowMs: 0 }, undefined],
    ["lets removals continue that were allowed before", 60, { gone: 100, pending: 60 }, undefined],
    ["judges only the others", 160, { gone: 60, pending: 60 }, 100],
    ["lets others continue with them as far as they fit", 100, { gone: 60, pending: 60 }, undefined],
  ] as const)("%s", (_what, removed, options, held) => {
    const plan = windowed(removing(removed, 2_000), options);
    expect(plan.held?.removals.blocklist.length).toBe(held);
    expect(plan.operations).toHaveLength(removed - (held ?? 0));
  });

  test("applies the percentage to the former size of the list", () => {
    expect(windowed(removing(3, 10), { gone: 2 }).operations).toStrictEqual([]);
    expect(windowed(removing(2, 11), { gone: 2 }).operations).toHaveLength(2);
    // A list that has become shorter than ten entries in the window is still guarded.
    expect(windowed(removing(1, 8), { gone: 3 }).operations).toStrictEqual([]);
  });

  test("is recorded before the removals, once they are confirmed", () => {
    const situation = removing(3, 30);
    expect(planOf(situation).inventory.allowed).toStrictEqual(emptyInventory.allowed);
    const plan = windowed(situation);
    const { allowed } = plan.inventory;
    const sinceMs = nowMs - 60_000;
    expect(allowed.blocklist).toStrictEqual({ pending: new Set(addresses(3, 10_000)), count: 3, sinceMs });
    const next = planOf({ ...situation, inventory: { ...situation.inventory, allowed } });
    expect(next.inventory.allowed.blocklist).toBe(allowed.blocklist);
    // A removal that is done or no longer wanted is judged again if it is planned again.
    const later = planOf({ ...removing(2, 30), inventory: { ...removing(2, 30).inventory, allowed } });
    expect(later.inventory.allowed.blocklist).toMatchObject({
      pending: new Set(addresses(2, 10_000)),
      count: 3,
      sinceMs,
    });
  });

  test("does not count approved removals", () => {
    const { approval } = approved(removing(150, 1)).inventory;
    expect(windowed(approving(removing(150, 1), "", approval)).inventory.allowed.blocklist.count).toBe(0);
  });

  test("does not count expired entries or those that left a feed, which has its own guards", () => {
    const gone = addresses(40, 10_000);
    const expired = aRule("ends", { addresses: gone.slice(0, 20), expiresAtMs: nowMs - 1 });
    const texts = [{ state: "Listed", source: feedSource("edge/ipsum"), entries: [] }] as const;
    const fed = aRule("fed", { feeds: [{ namespace: "edge", name: "ipsum" }], texts });
    const owned = gone.map((text, index) =>
      index < 20 ? ownedBy(text, ["edge/ends"]) : ownedBy(text, ["edge/fed"], "WafFeed edge/ipsum"),
    );
    const situation = (rules: GatheredRule[]): Situation =>
      recorded([...addresses(200), ...owned], { rules: [blocking("feed", addresses(200)), ...rules] });
    const plan = windowed(situation([expired, fed]), { gone: 90 });
    expect(plan.operations).toHaveLength(40);
    expect(plan.inventory.allowed.blocklist.count).toBe(90);
    // Entries of a rule that is deleted before it expires count, and so do those of a feed that a rule no longer uses.
    expect(windowed(situation([]), { gone: 90 }).held?.removals.blocklist).toHaveLength(40);
    expect(windowed(situation([fed]), { gone: 90 }).held?.removals.blocklist).toHaveLength(20);
  });
});

test("A list counts as having ten entries if it may have them, because a refused addition may already be there", () => {
  const refusal = { operation: "blocklist +192.0.2.1", message: "on the list already", refusedAtMs: nowMs };
  const rules = [blocking("a", ["192.0.2.1"])];
  const refusals = [{ ...refusal, wantedBy: new RuleVersions().of(desiredOf({ rules }).rules) }];
  const situation: Situation = {
    gathered: { rules },
    observed: { blocklist: addresses(9) },
    inventory: { blocklist: addresses(5), refusals },
  };
  expect(planOf(situation).held?.removals.blocklist).toHaveLength(5);
  expect(planOf({ ...situation, gathered: {} }).held).toBeUndefined();
});

describe("An approval", () => {
  test("allows exactly the plan with its hash, and is recorded before the first removal", () => {
    const plan = approved(removing(150, 1));
    expect(plan.operations).toHaveLength(150);
    expect(plan).toMatchObject({ held: undefined });
    expect(plan.inventory.approval?.removals.blocklist.size).toBe(150);
  });

  test("works once: the same removals have another hash afterwards", () => {
    const situation = removing(150, 1);
    const { hash } = planOf(situation).held!;
    const { approvals } = approved(situation).inventory;
    const again = approving({ ...situation, inventory: { ...situation.inventory, approvals } }, hash);
    expect(removals(again)).toStrictEqual([]);
    expect(planOf(again).held).toMatchObject({ mismatch: hash });
  });

  test("with another hash, or for a plan that has changed since, allows nothing", () => {
    const { hash } = planOf(removing(150, 1)).held!;
    expect(removals(approving(removing(150, 1), "000000000000"))).toStrictEqual([]);
    for (const removed of [149, 151]) expect(removals(approving(removing(removed, 1), hash))).toStrictEqual([]);
    expect(planOf(removing(151, 1)).held?.hash).not.toBe(hash);
  });

  test("continues for the remaining removals after a crash halfway", () => {
    const half = approving(removing(70, 1), "000000000000", approved(removing(150, 1)).inventory.approval);
    expect(removals(half)).toHaveLength(70);
    expect(planOf(half).held).toBeUndefined();
  });

  test("does not cover later removals, and does not count for the guard on them", () => {
    const { approval } = approved(removing(150, 1)).inventory;
    expect(removals(approving(removing(155, 1), "", approval))).toHaveLength(155);
    const many = approving(removing(280, 1), "", approval);
    expect(removals(many)).toHaveLength(150);
    expect(planOf(many).held?.removals.blocklist).toHaveLength(130);
  });

  test("of the removals of one rule leaves those of another on hold, even few of them, and counts once", () => {
    const owned = (first: number, rule: string) => addresses(60, first).map((text) => ownedBy(text, [rule]));
    const gone = [...addresses(60, 10_000), ...addresses(60, 20_000)];
    const kept = addresses(500);
    const declared = { instance: anInstance({ removalWindowMs: 3_600_000 }), rules: [blocking("feed", kept)] };
    const all = [...kept, ...owned(10_000, "shop/a"), ...owned(20_000, "shop/b")];
    const both = recorded(all, declared, { countsRemovals: true });
    const { held } = planOf(both);
    const [part] = partsOf(held!);
    const hash = hashOfPart(part!, held!);
    const given = planOf(approving(both, hash));
    expect(removals(approving(both, hash))).toHaveLength(60);
    expect([given.held?.removals.blocklist.length, given.held?.mismatch]).toStrictEqual([60, undefined]);
    const { approval, approvals, allowed } = given.inventory;
    // While the approved ones are removed, and when they are. The annotation was used for its part, so nothing is wrong with it.
    for (const done of [0, 30, 60]) {
      const next = {
        ...both,
        observed: { blocklist: [...kept, ...gone.slice(done)] },
        inventory: { ...both.inventory, approvals, allowed },
      };
      const after = approving(next, hash, approval);
      const { held: left, inventory } = planOf(after);
      expect([removals(after).length, inventory.approvals]).toStrictEqual([60 - done, approvals]);
      expect(partsOf(left!)).toMatchObject([{ owners: expect.stringContaining("shop/b") }]);
      expect([left?.mismatch, inventory.approval?.hash]).toStrictEqual([undefined, hash]);
    }
  });

  const [one, two] = ["192.0.2.1", "192.0.2.2"] as const;
  const rules = [blocking("a", [one])];
  const approvalOf = (...texts: readonly string[]): Approval => ({
    hash: "abc",
    removals: { blocklist: new Set(texts.map(entry)), allowlist: new Set() },
  });

  test("ends when all approved entries are removed or declared again", () => {
    const inventory = { approval: approvalOf(one) };
    expect(planOf({ inventory }).inventory.approval).toBeUndefined();
    expect(planOf(recorded([one], { rules }, { inventory })).inventory.approval).toBeUndefined();
  });

  test("no longer covers entries that are declared again, even if nothing else must be recorded", () => {
    const instance = anInstance({ policies: { blocklist: "Observe" } });
    const inventory = { approval: approvalOf(one, two) };
    const plan = planOf(recorded([one, two], { instance, rules }, { inventory }));
    expect([...(plan.inventory.approval?.removals.blocklist ?? [])]).toStrictEqual([two]);
  });

  test("ends if a source breaks that may declare the entries", () => {
    const base = approving(removing(150, 1), "", approved(removing(150, 1)).inventory.approval);
    const plan = planOf({ ...base, gathered: { ...base.gathered, brokenSources: ["a.yaml can't be read."] } });
    expect(plan.operations).toStrictEqual([]);
    expect([plan.held, plan.inventory.approval]).toStrictEqual([undefined, undefined]);
  });
});

test("The share applies to a list of ten entries, even if a declared network replaces some of them", () => {
  const declared = ["192.0.2.0/28", "192.0.2.32/30", "192.0.2.40"];
  const merged = ["192.0.2.0/30", "192.0.2.14/31"];
  const gone = Array.from({ length: 5 }, (_, index) => `198.51.100.${index}`);
  const shown = observed({ blocklist: [...declared, ...merged, ...gone] });
  const { entries, ...rest } = anInventory({ blocklist: [...declared, ...merged, ...gone] });
  const lines = (one: string): object => (merged.includes(one) ? { lines: 2 } : {});
  const blocklist = new Map([...entries.blocklist].map(([one, record]) => [one, { ...record, ...lines(one) }]));
  const inventory = { ...rest, entries: { ...entries, blocklist } };
  const desired = compileDesired(gathered({ rules: [blocking("wide", declared)] }), nowMs, inventory, shown);
  const { held, operations } = planInstance({ desired, observed: shown, inventory, nowMs });
  expect(held?.removals.blocklist).toHaveLength(5);
  expect(operations.map((operation) => "entry" in operation && operation.entry)).toStrictEqual(merged);
});

test("The hash identifies a set of removals in any order, and differs for each list and each use", () => {
  const [a, b] = ["192.0.2.1", "192.0.2.2"].map((text) => ({ entry: entry(text), owners: unknownOwners }));
  const hashOf = (blocklist: HeldRemoval[], allowlist: HeldRemoval[], approvals = 0) =>
    hashRemovals({ removals: { blocklist, allowlist } }, approvals);
  const hash = hashOf([a!, b!], []);
  expect(hashOf([b!, a!], [])).toBe(hash);
  expect(hashOf([a!], [b!])).not.toBe(hashOf([b!], [a!]));
  expect(hashOf([a!, b!], [], 1)).not.toBe(hash);
  expect(hashOf([], [])).toBeUndefined();
});
