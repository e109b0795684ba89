import { describe, expect, test } from "@jest/globals";
import type { BrokenReferences, Gathered } from "../../../src/model/gathered.ts";
import { resourceKey } from "../../../src/model/resource.ts";
import { operationKey } from "../../../src/model/operation.ts";
import { anInstance, anOrigin, aRule, blocking, openGrant } from "../../support/builders/declare.ts";
import type { DeclaredOrigin, DeclaredRule } from "../../../src/model/declared.ts";
import { compileDesired } from "../../../src/plan/instance/desired.ts";
import { anInventory, gathered, nowMs, ownedBy, planOf } from "../../support/builders/gathered.ts";
import { anOwnedOrigin } from "../../support/builders/owned.ts";
import { writeOwners } from "../../../src/model/entry-owners.ts";
import { approvalAnnotation } from "../../../src/model/approval-annotation.ts";

const [one, two, three] = ["192.0.2.1", "192.0.2.2", "192.0.2.3"] as const;
const shpo = { namespace: "edge", name: "shpo" };
const problem = "There is no WafInstance edge/shpo; did you mean shop?";

function broken(objects: readonly (DeclaredRule | DeclaredOrigin)[], others?: readonly string[]): BrokenReferences {
  return {
    objects: new Map(objects.map((declared) => [resourceKey(declared.meta), { declared, problem, place: "" }])),
    existing: others === undefined ? undefined : new Set([...others, ...objects.map(({ meta }) => resourceKey(meta))]),
  };
}

const owned = [
  ownedBy(one, ["edge/scanners"]),
  ownedBy(two, ["edge/former"]),
  ownedBy(three, ["edge/scanners", "edge/x"]),
];

function outcome(given: Partial<Gathered>) {
  const plan = planOf({ gathered: given, observed: { blocklist: [one, two, three] }, inventory: { blocklist: owned } });
  return {
    removed: plan.operations.map(operationKey),
    held: (plan.held?.removals.blocklist ?? []).map(({ entry }) => entry),
    reasons: [...new Set(plan.held?.removals.blocklist.flatMap(({ holds }) => holds.map(({ reason }) => reason)))],
    managed: [...plan.inventory.entries.blocklist.keys()],
  };
}

const held = { removed: [`blocklist -${two}`], held: [one, three] };

describe("A rule that refers to a missing instance", () => {
  const stray = blocking("scanners", [one], { instance: shpo }).rule;

  test("puts only its own entries on hold, and says what to correct", () => {
    const { reasons, ...rest } = outcome({ brokenReferences: broken([stray]) });
    expect(rest).toStrictEqual({ ...held, managed: [one, two, three] });
    expect(reasons).toStrictEqual([
      "WafIpRule edge/scanners is not attached to an instance. There is no WafInstance edge/shpo; did you mean shop? Correct spec.instanceRef, or delete the object if wafsync should remove its entries.",
    ]);
  });

  test("puts its former entries on hold, whatever its current action", () => {
    const allow = { ...stray, action: "Allow" } as const;
    expect(outcome({ brokenReferences: broken([allow]) })).toMatchObject(held);
  });

  test("keeps its retained entries managed, because it was not deleted", () => {
    const plan = planOf({
      gathered: { brokenReferences: broken([{ ...stray, deletionPolicy: "Retain" }]) },
      observed: { blocklist: [one] },
      inventory: {
        blocklist: [[one, "edge/scanners", [{ kind: "WafIpRule", name: "edge/scanners", source: undefined }]]],
      },
    });
    expect([...plan.inventory.entries.blocklist.keys()]).toStrictEqual([one]);
  });

  test.each([
    ["that expired", { expiresAtMs: nowMs }],
    ["whose time to live is over", { ttlMs: 1 }],
    ["that is being deleted", { meta: { ...stray.meta, deleting: true } }],
  ])("puts nothing on hold if it is one %s", (_, change) => {
    expect(outcome({ brokenReferences: broken([{ ...stray, ...change }]) }).held).toStrictEqual([]);
  });

  test("puts nothing on hold if its namespace has no access, because its entries would not apply", () => {
    const elsewhere = blocking("news/scanners", [one], { instance: shpo }).rule;
    const newsOwned = [ownedBy(one, ["news/scanners"])];
    const plan = (from: "Same" | "All") =>
      planOf({
        gathered: {
          instance: anInstance({ access: from === "All" ? [openGrant] : [] }),
          brokenReferences: broken([elsewhere]),
        },
        observed: { blocklist: [one] },
        inventory: { blocklist: newsOwned },
      });
    expect(plan("All").held).toBeDefined();
    expect(plan("Same").held).toBeUndefined();
  });

  test("puts entries with unknown owners on hold only if it declares them", () => {
    const plan = planOf({
      gathered: { brokenReferences: broken([stray]) },
      observed: { blocklist: [one, two] },
      inventory: { blocklist: [one, two] },
    });
    expect(plan.operations.map(operationKey)).toStrictEqual([`blocklist -${two}`]);
    expect(plan.held?.removals.blocklist.map(({ entry }) => entry)).toStrictEqual([one]);
  });

  test("keeps the unmanaged entries that it declares on a list with the policy Exclusive", () => {
    const instance = anInstance({ policies: { blocklist: "Exclusive" }, access: [] });
    const wide = "192.0.2.0/31";
    const heldBy = (rule: DeclaredRule, more: Partial<Gathered> = {}) => {
      const given = { instance, brokenReferences: broken([rule]), ...more };
      const { operations, held: onHold } = planOf({ gathered: given, observed: { blocklist: [wide, two, three] } });
      const entries = (onHold?.removals.blocklist ?? []).map(({ entry }) => entry);
      expect(operations.filter(({ kind }) => kind === "RemoveEntry")).toHaveLength(3 - entries.length);
      return entries;
    };
    expect(heldBy(stray)).toStrictEqual([wide]);
    expect(heldBy({ ...stray, action: "Allow" })).toStrictEqual([]);
    expect(heldBy({ ...stray, expiresAtMs: nowMs - 1 })).toStrictEqual([]);
    expect(heldBy({ ...stray, addresses: [], feeds: [{ namespace: "edge", name: "drop" }] })).toHaveLength(3);
    const elsewhere = { ...stray, meta: { ...stray.meta, namespace: "news" } };
    expect(heldBy(elsewhere)).toStrictEqual([]);
    expect(heldBy(elsewhere, { brokenReferences: broken([elsewhere], []) })).toStrictEqual([wide]);
    expect(heldBy(elsewhere, { instance: { ...instance, access: [openGrant] } })).toStrictEqual([wide]);
  });

  test("keeps the entries of a rule that still refers to the former instance, which is in another namespace", () => {
    const instance = anInstance({ name: "shpo/shop", meta: { annotations: { "wafsync.dev/continues": "edge/shop" } } });
    const { rule } = blocking("edge/scanners", [one], { instance: { namespace: "edge", name: "shop" } });
    expect(outcome({ instance, brokenReferences: broken([rule], []) })).toMatchObject(held);
  });

  test("that can't be understood keeps all unmanaged entries on a list with the policy Exclusive", () => {
    const instance = anInstance({ policies: { blocklist: "Exclusive" } });
    const invalidObjects = new Map([["WafIpRule edge/scanners", "It is not understood."]]);
    const plan = planOf({ gathered: { instance, invalidObjects }, observed: { blocklist: [one] } });
    expect(plan.operations).toStrictEqual([]);
    expect(plan.held?.removals.blocklist.map(({ entry }) => entry)).toStrictEqual([one]);
  });
});

describe("A rule that appears under another namespace", () => {
  const moved = blocking("egde/scanners", [one], { instance: { namespace: "egde", name: "shop" } }).rule;

  test("in a directory, puts the entries of the missing rule with the same name on hold", () => {
    expect(outcome({ brokenReferences: broken([moved], []) })).toMatchObject(held);
  });

  test("puts nothing on hold if the rule with that name still exists, for example with another instance", () => {
    expect(outcome({ brokenReferences: broken([moved], ["WafIpRule edge/scanners"]) }).held).toStrictEqual([]);
  });

  test("puts nothing on hold in a cluster, where anyone can use the name in their own namespace", () => {
    expect(outcome({ brokenReferences: broken([moved]) }).held).toStrictEqual([]);
  });

  test("in a directory, puts entries on hold also if it refers to the instance but has no access", () => {
    const instance = anInstance({ access: [], meta: { uid: "" } });
    const rules = [blocking("egde/scanners", [one], { meta: { uid: "" } })];
    const { reasons, ...rest } = outcome({
      instance,
      rules,
      brokenReferences: broken([], ["WafIpRule egde/scanners"]),
    });
    expect(rest).toMatchObject(held);
    expect(reasons[0]).toContain("WafInstance edge/shop does not grant access to namespace egde");
    expect(outcome({ instance, rules }).held).toStrictEqual([]);
  });
});

describe("A WafOrigin that refers to a missing instance", () => {
  const stray = anOrigin("a.example", { name: "standby", instance: shpo });
  const owners = writeOwners([{ kind: "WafOrigin", name: "edge/standby", source: undefined }]);
  const origins = {
    "a.example": anOwnedOrigin({ owners }),
    "b.example": anOwnedOrigin({ owners: writeOwners([{ kind: "WafOrigin", name: "edge/other", source: undefined }]) }),
  };
  const planWith = (annotations: Readonly<Record<string, string>> = {}) =>
    planOf({
      gathered: { brokenReferences: broken([stray]), instance: anInstance({ meta: { annotations } }) },
      inventory: { origins },
    });

  test("puts only its own origin on hold, which is listed and can be approved", () => {
    const plan = planWith();
    expect(plan.operations.map(operationKey)).toStrictEqual(["origins -b.example Alternate"]);
    expect(plan.held?.origins.map(({ host }) => host)).toStrictEqual(["a.example"]);
    expect(plan.inventory.origins.has("a.example")).toBe(true);
    const approved = planWith({ [approvalAnnotation]: plan.held?.hash ?? "" });
    expect(approved.held).toBeUndefined();
    expect(approved.operations.map(operationKey)).toStrictEqual([
      "origins -a.example Alternate",
      "origins -b.example Alternate",
    ]);
    expect([...(approved.inventory.approval?.origins ?? [])]).toStrictEqual(["a.example"]);
  });
});

describe("An object that this version does not understand", () => {
  const invalid = (key: string) => ({
    invalidObjects: new Map([[key, `${key} is invalid: spec.reputation: unknown.`]]),
  });

  test("puts only its own entries on hold", () => {
    const { reasons, ...rest } = outcome(invalid("WafIpRule edge/scanners"));
    expect(rest).toStrictEqual({ ...held, managed: [one, two, three] });
    expect(reasons).toStrictEqual(["WafIpRule edge/scanners is invalid: spec.reputation: unknown."]);
  });

  test("puts nothing on hold if it owned nothing", () => {
    expect(outcome(invalid("WafIpRule guest/new")).held).toStrictEqual([]);
  });

  test("prevents guests from allowing the entries that it blocks", () => {
    const guestsAllowed = anInstance({ access: [openGrant] });
    const guest = aRule("guest/lift", { action: "Allow", addresses: [one] });
    const declared = gathered({ ...invalid("WafIpRule edge/scanners"), rules: [guest], instance: guestsAllowed });
    const { entries } = anInventory({ blocklist: [ownedBy(one, ["edge/scanners"])] });
    expect(compileDesired(declared, nowMs, entries).lists.allowlist.size).toBe(0);
  });
});
