import { describe, expect, test } from "@jest/globals";
import { readOwners } from "../../../src/model/entry-owners.ts";
import type { AddressText } from "../../../src/model/gathered.ts";
import { operationKey } from "../../../src/model/operation.ts";
import { holdKey } from "../../../src/plan/lists/holds.ts";
import { ruleProgress } from "../../../src/plan/instance/progress.ts";
import { addresses, anInstance, anOrigin, aRule, blocking, openGrant } from "../../support/builders/declare.ts";
import type { Owned, Situation } from "../../support/builders/gathered.ts";
import { desiredOf, entry, nowMs, observed, ownedBy, planOf } from "../../support/builders/gathered.ts";
import { anOwnedOrigin } from "../../support/builders/owned.ts";

const list = "ConfigMap edge/list-0, key list";
const missing = (source = list): AddressText => ({ state: "Missing", source, problem: `${source} does not exist.` });
const [one, two, three] = ["192.0.2.1", "192.0.2.2", "192.0.2.3"] as const;

/** The managed, shown and declared entries. */
function situation(
  owned: readonly Owned[],
  gathered: NonNullable<Situation["gathered"]>,
  more: Situation = {},
): Situation {
  const shown = owned.map((item) => (typeof item === "string" ? item : item[0]));
  return { ...more, gathered, observed: { blocklist: shown }, inventory: { ...more.inventory, blocklist: owned } };
}

function outcome(of: Situation): { readonly removed: string[]; readonly held: string[] } {
  const plan = planOf(of);
  const removed = plan.operations.flatMap((one) => (one.kind === "RemoveEntry" ? [one.entry] : []));
  return { removed, held: (plan.held?.removals.blocklist ?? []).map((removal) => removal.entry) };
}

describe("A missing ConfigMap", () => {
  const gone = aRule("feed", { texts: [missing()] });

  test("puts the entries that it last declared on hold, and entries that other rules drop are removed", () => {
    const owned = [ownedBy(one, ["edge/feed"], list), ownedBy(two, ["edge/other"]), ownedBy(three, ["edge/feed"])];
    expect(outcome(situation(owned, { rules: [gone] }))).toStrictEqual({ removed: [two, three], held: [one] });
  });

  test("puts no entries on hold that only a different, expired rule declared", () => {
    const expired = blocking("old", [two], { expiresAtMs: nowMs - 1 });
    const owned = [ownedBy(one, ["edge/feed"], list), ownedBy(two, ["edge/old"])];
    expect(outcome(situation(owned, { rules: [gone, expired] }))).toStrictEqual({ removed: [two], held: [one] });
  });

  test("puts the entries that it last declared on hold, also for another rule that refers to it", () => {
    const owned = [ownedBy(one, ["edge/former"], list)];
    expect(outcome(situation(owned, { rules: [gone] }))).toStrictEqual({ removed: [], held: [one] });
  });

  test("without a record puts the entries of its rule and of deleted rules in its namespace on hold", () => {
    const owned = [
      ownedBy(one, ["edge/feed"]),
      ownedBy(two, ["edge/former"]),
      ownedBy(three, ["edge/other"]),
      ownedBy("192.0.2.4", ["news/former"]),
    ];
    const rules = [gone, blocking("other", [])];
    expect(outcome(situation(owned, { rules }))).toStrictEqual({ removed: [three, "192.0.2.4"], held: [one, two] });
  });

  test("puts every entry with unknown owners on hold, and foreign ones of an Exclusive list", () => {
    const owned = [one, ownedBy(two, ["edge/feed"], list), ownedBy(three, ["edge/other"])];
    expect(outcome(situation(owned, { rules: [gone] }))).toStrictEqual({ removed: [three], held: [one, two] });
    const instance = anInstance({ policies: { blocklist: "Exclusive" } });
    const exclusive = situation([ownedBy(two, ["edge/other"])], { instance, rules: [gone, blocking("other", [])] });
    const shown = { ...exclusive, observed: { blocklist: [one, two] } };
    expect(outcome(shown)).toStrictEqual({ removed: [two], held: [one] });
  });

  test("stays an owner of its entries while another rule declares them, and puts them on hold when that rule no longer does", () => {
    const before = situation([ownedBy(one, ["edge/feed"], list)], { rules: [gone, blocking("other", [one])] });
    const { inventory } = planOf(before);
    const [record] = inventory.entries.blocklist.values();
    expect(readOwners(record!.owners)).toMatchObject([{ source: list }, { name: "edge/other" }]);
    const after = planOf({
      ...before,
      gathered: { rules: [gone] },
      inventory: { entries: inventory.entries } as object,
    });
    expect(after.held?.removals.blocklist.map((removal) => removal.entry)).toStrictEqual([one]);
  });

  test("counts the entries that it last declared as desired, and as neither synced nor pending", () => {
    const gathered = { rules: [aRule("feed", { addresses: [three], texts: [missing()] })] };
    const owned = [...addresses(1_413).map((one) => ownedBy(one, ["edge/feed"], list)), ownedBy(three, ["edge/feed"])];
    const at = situation(owned, gathered);
    const { rules } = desiredOf(gathered);
    const plan = planOf(at);
    const progress = ruleProgress(rules[0]!, observed(at.observed), plan, plan.inventory.entries);
    expect(progress).toMatchObject({ desired: 1_414, synced: 1, pending: 0, awaited: 1_413 });
  });
});

describe("An invalid line", () => {
  test("puts the entries that its rule last declared on hold, and no others", () => {
    const rules = [blocking("odd", ["nonsense"]), blocking("other", [])];
    const owned = [
      ownedBy(one, ["edge/odd"]),
      ownedBy(two, ["edge/other"]),
      ownedBy(three, ["edge/odd", "edge/other"]),
    ];
    expect(outcome(situation(owned, { rules }))).toStrictEqual({ removed: [two], held: [one, three] });
  });

  test("puts nothing on hold on the other list", () => {
    const rules = [aRule("odd", { action: "Allow", addresses: ["nonsense"] })];
    expect(outcome(situation([ownedBy(one, ["edge/odd"])], { rules }))).toStrictEqual({ removed: [one], held: [] });
  });
});

describe("Origins", () => {
  const inventory = { origins: { "a.example": anOwnedOrigin() } };
  const removed = (of: Situation) => planOf({ inventory, ...of }).operations.map(operationKey);

  test("are removed while a rule is unreadable, but on hold while a file is unreadable or a WafOrigin's namespace is unknown", () => {
    expect(removed({ gathered: { rules: [aRule("odd", { texts: [missing()] })] } })).toStrictEqual([
      "origins -a.example Alternate",
    ]);
    expect(removed({ gathered: { brokenSources: ["a.yaml can't be read."] } })).toStrictEqual([]);
    const selector = { matchLabels: {}, matchExpressions: [] };
    const instance = anInstance({ access: [{ ...openGrant, namespaces: { from: "Selector", selector } }] });
    const origins = [anOrigin("b.example", { name: "other/b" })];
    expect(removed({ gathered: { instance, origins } })).toStrictEqual([]);
  });
});

describe("An approval of removals on hold because of an unreadable source", () => {
  const rules = [aRule("feed", { texts: [missing()] })];
  const owned = [ownedBy(one, ["edge/feed"], list), ownedBy(two, ["edge/feed"], list)];
  const held = situation(owned, { rules });
  const approved = (annotation: string | undefined, more: Situation["gathered"] = {}) => {
    const instance = anInstance({ meta: { annotations: { "wafsync.dev/approve-removals": annotation ?? "" } } });
    return { ...held, gathered: { rules, instance, ...more } };
  };

  test("approves exactly these, with a hash that includes the removals on hold by guards", () => {
    const instance = anInstance({ guards: { maxRemovals: 0 } });
    const both = situation([...owned, ownedBy(three, ["edge/other"])], { rules, instance });
    const { hash, removals } = planOf(both).held!;
    expect(removals.blocklist.map(({ entry, holds }) => [entry, holds.length])).toStrictEqual([
      [three, 0],
      [one, 1],
      [two, 1],
    ]);
    const annotations = { "wafsync.dev/approve-removals": hash! };
    const given = anInstance({ guards: { maxRemovals: 0 }, meta: { annotations } });
    expect(outcome({ ...both, gathered: { rules, instance: given } })).toStrictEqual({
      removed: [one, two, three],
      held: [],
    });
  });

  test("stays valid for the remaining removals, but does not cover later ones", () => {
    const plan = planOf(approved(planOf(held).held?.hash));
    expect(plan.inventory.approvals).toBe(1);
    const { approval, approvals } = plan.inventory;
    const later = situation(
      [owned[1]!, ownedBy(three, ["edge/feed"], list)],
      { rules },
      { inventory: { approval, approvals } },
    );
    expect(outcome(later)).toStrictEqual({ removed: [two], held: [three] });
  });

  test("waits if another source becomes unreadable, and a new one is required", () => {
    const { approval, approvals } = planOf(approved(planOf(held).held?.hash)).inventory;
    const more = { rules, brokenSources: ["a.yaml can't be read."] };
    const plan = planOf(situation(owned, more, { inventory: { approval, approvals } }));
    expect(plan.operations).toStrictEqual([]);
    expect(plan.held?.hash).toMatch(/^[0-9a-f]{12}$/);
    expect(plan.inventory.approval?.removals.blocklist.size).toBe(2);
  });

  test("is neither requested nor effective while the declared state can't be confirmed", () => {
    const unconfirmed = "The API server does not answer.";
    const { hash } = planOf(held).held!;
    expect(outcome(approved(hash, { unconfirmed }))).toStrictEqual({ removed: [], held: [one, two] });
    expect(planOf(approved(hash, { unconfirmed })).held).toMatchObject({ hash: undefined, mismatch: undefined });
    const { approval, approvals } = planOf(approved(hash)).inventory;
    const under = { rules, unconfirmed };
    const holds = new Set([...approval!.holds, ...desiredOf(under).holds.map(holdKey)]);
    const more = { inventory: { approval: { ...approval!, holds }, approvals } };
    expect(outcome(situation(owned, under, more))).toStrictEqual({ removed: [], held: [one, two] });
  });

  test("has no effect a second time, because the hash depends on the number of approvals", () => {
    const { hash } = planOf(held).held!;
    const again = { ...approved(hash), inventory: { ...held.inventory, approvals: 1 } };
    expect(outcome(again)).toStrictEqual({ removed: [], held: [one, two] });
    expect(planOf(again).held?.mismatch).toBe(hash);
    expect(planOf(held).held?.mismatch).toBeUndefined();
  });
});

test("A retained entry stays in the record while a hold applies to it, and is dropped while another source is unreadable", () => {
  const retained: Owned = [one, "edge/gone", [{ kind: "WafIpRule", name: "edge/gone", source: list }]];
  const ofMissing = planOf(situation([retained], { rules: [aRule("feed", { texts: [missing()] })] }));
  expect([...ofMissing.inventory.entries.blocklist.keys()]).toStrictEqual([entry(one)]);
  const ofOther = planOf(situation([retained], { rules: [blocking("odd", ["nonsense"])] }));
  expect(ofOther.inventory.entries.blocklist.size).toBe(0);
});
