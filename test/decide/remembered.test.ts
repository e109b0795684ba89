// What can't be read counts as declaring what the record says it last declared: each row of the table in remembered.ts.
import { describe, expect, test } from "@jest/globals";
import type { DeclaredOrigin, DeclaredRule } from "../../src/model/declared.ts";
import { readOwners, writeOwners } from "../../src/model/entry-owners.ts";
import type { AddressText, BrokenReferences, Gathered } from "../../src/model/gathered.ts";
import { operationKey } from "../../src/model/operation.ts";
import { resourceKey } from "../../src/model/resource.ts";
import { compileDesired } from "../../src/decide/desired.ts";
import { progressOf } from "../../src/decide/progress.ts";
import {
  addresses,
  aGrant,
  allowing,
  anInstance,
  anOrigin,
  aRule,
  blocking,
  openGrant,
  mapSource,
} from "../support/builders/declare.ts";
import {
  anInventory,
  gathered,
  nowMs,
  observed,
  type Owned,
  ownedBy,
  planOf,
  type Situation,
} from "../support/builders/gathered.ts";
import { anOwnedOrigin } from "../support/builders/owned.ts";

const list = "ConfigMap edge/list-0, key list";
const missing: AddressText = { state: "Missing", source: mapSource("edge/list-0"), problem: `${list} does not exist.` };
const [one, two, three, four] = ["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"] as const;
const shpo = { namespace: "edge", name: "shpo" };
const problem = "There is no WafInstance edge/shpo; did you mean shop?";
const selector = { matchLabels: { team: "shop" }, matchExpressions: [] };
const byLabels = anInstance({ access: [{ ...openGrant, namespaces: { from: "Selector", selector } }] });

function broken(objects: readonly (DeclaredRule | DeclaredOrigin)[], others?: readonly string[]): BrokenReferences {
  return {
    objects: new Map(objects.map((declared) => [resourceKey(declared.meta), { declared, problem, place: "" }])),
    existing: others === undefined ? undefined : new Set([...others, ...objects.map(({ meta }) => resourceKey(meta))]),
  };
}

function situation(owned: readonly Owned[], given: Partial<Gathered>, more: Situation = {}): Situation {
  const shown = owned.map((item) => (typeof item === "string" ? item : item[0]));
  return {
    ...more,
    gathered: given,
    observed: { blocklist: shown },
    inventory: { ...more.inventory, blocklist: owned },
  };
}

function outcome(of: Situation): { readonly removed: string[]; readonly kept: string[] } {
  const plan = planOf(of);
  const removed = plan.operations.flatMap((operation) => (operation.kind === "RemoveEntry" ? [operation.entry] : []));
  return { removed, kept: plan.kept.map(({ value }) => value).toSorted() };
}

const stray = blocking("scanners", [one], { instance: shpo }).rule;
const moved = blocking("egde/scanners", [one], { instance: { namespace: "egde", name: "shop" } }).rule;
const feed = aRule("feed", { texts: [missing] });
const invalid = { invalidObjects: new Map([["WafIpRule edge/scanners", "It is not understood"]]) };
const all = [
  ownedBy(one, ["edge/scanners"]),
  ownedBy(two, ["edge/other"]),
  ownedBy(three, ["edge/x", "edge/scanners"]),
];

describe("The entries stay that were last declared by", () => {
  const other = blocking("other", []);
  test.each<readonly [string, readonly Owned[], Partial<Gathered>, readonly string[], readonly string[]]>([
    ["anything, while a file can't be read", all, { brokenSources: ["a.yaml can't be read."] }, [one, two, three], []],
    [
      "anything, even if its rule no longer declares it, is declared for the other list, or has expired",
      [ownedBy(one, ["edge/a"]), ownedBy(two, ["edge/b"]), ownedBy(three, ["edge/c"])],
      {
        brokenSources: ["a.yaml can't be read."],
        rules: [blocking("a", [four]), allowing("b", []), blocking("c", [], { expiresAtMs: nowMs - 1 })],
      },
      [one, two, three],
      [],
    ],
    [
      "a missing ConfigMap",
      [ownedBy(one, ["edge/feed"], list), ownedBy(two, ["edge/other"]), ownedBy(three, ["edge/feed"])],
      { rules: [feed] },
      [one],
      [two, three],
    ],
    ["it for another rule", [ownedBy(one, ["edge/former"], list)], { rules: [feed] }, [one], []],
    [
      "the rule and deleted rules of its namespace, if the record has nothing of the ConfigMap",
      [
        ownedBy(one, ["edge/feed"]),
        ownedBy(two, ["edge/former"]),
        ownedBy(three, ["edge/other"]),
        ownedBy(four, ["news/former"]),
      ],
      { rules: [feed, other] },
      [one, two],
      [three, four],
    ],
    [
      "a rule with an invalid line",
      [ownedBy(one, ["edge/odd"]), ownedBy(two, ["edge/other"]), ownedBy(three, ["edge/odd", "edge/other"])],
      { rules: [blocking("odd", ["nonsense"]), other] },
      [one, three],
      [two],
    ],
    [
      "a rule of a namespace with unknown labels",
      [ownedBy(one, ["other/feed"]), ownedBy(two, ["edge/other"])],
      { instance: byLabels, rules: [blocking("other/feed", [])] },
      [one],
      [two],
    ],
    ["an object that is not understood", all, invalid, [one, three], [two]],
    ["a rule that refers to a missing instance", all, { brokenReferences: broken([stray]) }, [one, three], [two]],
    [
      "it, whatever its action is now",
      all,
      { brokenReferences: broken([{ ...stray, action: "Allow" }]) },
      [one, three],
      [two],
    ],
    [
      "a rule in a directory whose namespace is mistyped",
      all,
      { brokenReferences: broken([moved], []) },
      [one, three],
      [two],
    ],
    [
      "it, also if its namespace has no access",
      all,
      {
        instance: anInstance({ access: [], meta: { uid: "" } }),
        rules: [blocking("egde/scanners", [one], { meta: { uid: "" } })],
        brokenReferences: broken([], ["WafIpRule egde/scanners"]),
      },
      [one, three],
      [two],
    ],
    [
      "a rule that still refers to the former instance in another namespace",
      all,
      {
        instance: anInstance({ name: "shpo/shop", meta: { annotations: { "wafsync.dev/continues": "edge/shop" } } }),
        brokenReferences: broken([{ ...stray, instance: { namespace: "edge", name: "shop" } }], []),
      },
      [one, three],
      [two],
    ],
  ])("%s", (_, owned, given, kept, removed) => {
    const of = situation(owned, given);
    expect(outcome(of)).toStrictEqual({ kept: kept.toSorted(), removed: [...removed] });
    // After a restart, with the record of that plan.
    const { entries } = planOf(of).inventory;
    const record = { ...anInventory(), entries };
    const shown = observed(of.observed);
    const again = compileDesired(gathered(given), nowMs, record, shown);
    expect([...again.lists.blocklist.keys()].filter((entry) => kept.includes(entry)).toSorted()).toStrictEqual(
      kept.toSorted(),
    );
  });

  test.each<readonly [string, Partial<Gathered>]>([
    ["a rule of the other list", { rules: [aRule("scanners", { action: "Allow", addresses: ["nonsense"] })] }],
    ["an expired rule", { rules: [blocking("scanners", ["nonsense"], { expiresAtMs: nowMs - 1, texts: [missing] })] }],
    ["an unattached rule that has expired", { brokenReferences: broken([{ ...stray, expiresAtMs: nowMs }]) }],
    [
      "an unattached rule that is being deleted",
      { brokenReferences: broken([{ ...stray, meta: { ...stray.meta, deleting: true } }]) },
    ],
    ["a rule with the same name in another namespace of a cluster", { brokenReferences: broken([moved]) }],
    ["a rule that exists elsewhere", { brokenReferences: broken([moved], ["WafIpRule edge/scanners"]) }],
    [
      "a rule of a namespace without access",
      {
        instance: anInstance({ access: [] }),
        brokenReferences: broken([{ ...stray, meta: { ...stray.meta, namespace: "news" } }]),
      },
    ],
  ])("no broken part of %s", (_, given) => {
    expect(outcome(situation([ownedBy(one, ["edge/scanners"])], given))).toStrictEqual({ kept: [], removed: [one] });
  });
});

describe("A remembered entry", () => {
  test("is added again if another writer removed it", () => {
    const of = { gathered: { rules: [feed] }, inventory: { blocklist: [ownedBy(one, ["edge/feed"], list)] } };
    expect(planOf(of).operations.map(operationKey)).toStrictEqual([`blocklist +${one}`]);
  });

  test("counts as declared by its rule", () => {
    const rules = [aRule("feed", { addresses: [three], texts: [missing] })];
    const owned = [
      ...addresses(1_413).map((text) => ownedBy(text, ["edge/feed"], list)),
      ownedBy(three, ["edge/feed"]),
    ];
    const of = situation(owned, { rules });
    const plan = planOf(of);
    const desired = compileDesired(gathered({ rules }), nowMs, anInventory(of.inventory));
    expect(progressOf(desired.rules, plan.outcomes).get(desired.rules[0]!)).toMatchObject({
      desired: 1_414,
      synced: 1_414,
      pending: 0,
    });
    expect(plan.kept).toHaveLength(1_413);
  });

  test.each(["pending", "missing"])("is none whose removal has begun: %s", (how) => {
    const inventory = anInventory({ blocklist: [ownedBy(one, ["edge/feed"], list)] });
    const [[entry, record]] = [...inventory.entries.blocklist] as [
      [typeof inventory.entries.blocklist extends ReadonlyMap<infer K, infer _> ? K : never, object],
    ];
    const entries = { ...inventory.entries, blocklist: new Map([[entry, { ...record, missingSinceMs: 1 }]]) };
    const pending = { ...inventory.allowed, blocklist: { pending: new Set([entry]), count: 1, sinceMs: nowMs } };
    const changed = how === "missing" ? { ...inventory, entries } : { ...inventory, allowed: pending };
    const desired = compileDesired(gathered({ rules: [feed] }), nowMs, changed as typeof inventory);
    expect(desired.lists.blocklist.size).toBe(0);
  });

  test("stays owned by its source while another rule declares it too", () => {
    const { inventory } = planOf(
      situation([ownedBy(one, ["edge/feed"], list)], { rules: [feed, blocking("other", [one])] }),
    );
    const [record] = inventory.entries.blocklist.values();
    expect(readOwners(record!.owners)).toMatchObject([{ source: list }, { name: "edge/other" }]);
  });

  test("takes part in guards: a network that must stay reachable is not blocked because of the record", () => {
    const instance = anInstance({ guards: { neverBlock: [one] } });
    const owned = [ownedBy(one, ["edge/feed"], list), ownedBy(two, ["edge/feed"], list)];
    expect(outcome(situation(owned, { instance, rules: [feed] }))).toStrictEqual({ kept: [two], removed: [one] });
  });

  test("takes part in grants: a guest can't exceed its number of entries with sources that break", () => {
    const instance = anInstance({ access: [aGrant({ maxEntries: 2 })] });
    const rules = [aRule("news/feed", { texts: [missing] }), blocking("news/more", [three])];
    const owned = [ownedBy(one, ["news/feed"], list), ownedBy(two, ["news/feed"], list)];
    const desired = compileDesired(gathered({ instance, rules }), nowMs, anInventory({ blocklist: owned }));
    expect([...desired.lists.blocklist.keys()]).toStrictEqual([one, two]);
  });

  test("takes part in conflicts: an Allow rule does not lift it", () => {
    const rules = [feed, allowing("partner", [one, two])];
    const { lists } = compileDesired(
      gathered({ rules }),
      nowMs,
      anInventory({ blocklist: [ownedBy(one, ["edge/feed"], list)] }),
    );
    expect([...lists.allowlist.keys()]).toStrictEqual([two]);
  });

  test.each(["invalid", "unattached"])("of an object that is %s is not lifted by a guest", (how) => {
    const guest = aRule("guest/lift", { action: "Allow", addresses: [one] });
    const given = how === "invalid" ? invalid : { brokenReferences: broken([stray]) };
    const declared = gathered({ ...given, rules: [guest], instance: anInstance({ access: [openGrant] }) });
    const record = anInventory({ blocklist: [ownedBy(one, ["edge/scanners"])] });
    expect(compileDesired(declared, nowMs, record).lists.allowlist.size).toBe(0);
  });

  test("that a rule retains stays in the record while that rule may exist, and leaves it when another is broken", () => {
    const retained: Owned = [one, "edge/gone", [{ kind: "WafIpRule", name: "edge/gone", source: list }]];
    const recorded = (given: Partial<Gathered>): number =>
      planOf(situation([retained], given)).inventory.entries.blocklist.size;
    expect(recorded({ rules: [feed] })).toBe(1);
    expect(recorded({ brokenReferences: broken([{ ...stray, meta: { ...stray.meta, name: "gone" } }]) })).toBe(1);
    expect(recorded({ rules: [blocking("odd", ["nonsense"])] })).toBe(0);
  });
});

describe("An entry that no record assigns to a rule stays on an Exclusive list while something is broken that", () => {
  const instance = anInstance({ policies: { blocklist: "Exclusive" }, access: [] });
  const kept = (given: Partial<Gathered>): readonly string[] =>
    planOf({ gathered: { instance, ...given }, observed: { blocklist: [two] } }).kept.map(({ value }) => value);

  test.each<readonly [string, Partial<Gathered>, boolean]>([
    ["may declare anything", { brokenSources: ["a.yaml can't be read."] }, true],
    ["is a source for this list", { rules: [feed] }, true],
    ["is a source for the other list", { rules: [aRule("feed", { action: "Allow", texts: [missing] })] }, false],
    ["is not understood", invalid, true],
    ["is an origin", { invalidObjects: new Map([["WafOrigin edge/a", "It is not understood"]]) }, false],
    ["is unattached", { brokenReferences: broken([stray]) }, true],
    ["is unattached, for the other list", { brokenReferences: broken([{ ...stray, action: "Allow" }]) }, false],
    ["is unattached, and has expired", { brokenReferences: broken([{ ...stray, expiresAtMs: nowMs - 1 }]) }, false],
    ["is unattached, without access", { brokenReferences: broken([moved]) }, false],
    ["is unattached in a directory, where the namespace may be wrong", { brokenReferences: broken([moved], []) }, true],
  ])("%s", (_, given, isKept) => {
    expect(kept(given)).toStrictEqual(isKept ? [two] : []);
  });
});

describe("An origin", () => {
  const owners = writeOwners([{ kind: "WafOrigin", name: "edge/standby", source: undefined }]);
  const strayOrigin = anOrigin("a.example", { name: "standby", instance: shpo });
  const other = writeOwners([{ kind: "WafOrigin", name: "edge/other", source: undefined }]);
  const origins = { "a.example": anOwnedOrigin({ owners }), "b.example": anOwnedOrigin({ owners: other }) };
  const removed = (given: Partial<Gathered>) =>
    planOf({ gathered: given, inventory: { origins } }).operations.map(operationKey);
  const [a, b] = ["origins -a.example Alternate", "origins -b.example Alternate"];

  test.each<readonly [string, Partial<Gathered>, readonly (string | undefined)[]]>([
    ["is removed while a rule can't be read", { rules: [feed] }, [a, b]],
    ["stays while a file can't be read", { brokenSources: ["a.yaml can't be read."] }, []],
    ["stays while its WafOrigin refers to a missing instance", { brokenReferences: broken([strayOrigin]) }, [b]],
    [
      "stays while its WafOrigin is not understood",
      { invalidObjects: new Map([["WafOrigin edge/standby", "?"]]) },
      [b],
    ],
  ])("%s", (_, given, expected) => {
    expect(removed(given)).toStrictEqual(expected);
  });

  test("of a namespace with unknown labels stays, and no other", () => {
    const ofGuest = writeOwners([{ kind: "WafOrigin", name: "other/a", source: undefined }]);
    const plan = planOf({
      gathered: { instance: byLabels, origins: [anOrigin("a.example", { name: "other/a" })] },
      inventory: { origins: { ...origins, "a.example": anOwnedOrigin({ owners: ofGuest }) } },
    });
    expect(plan.operations.map(operationKey)).toStrictEqual([b]);
    expect(plan.kept.map(({ value }) => value)).toStrictEqual(["a.example"]);
    expect(plan.inventory.origins.has("a.example")).toBe(true);
  });

  test("keeps its type while a file can't be read that may declare it", () => {
    const origin = anOrigin("a.example", { name: "standby", type: "Backup" });
    expect(removed({ brokenSources: ["a.yaml can't be read."], origins: [origin] })).toStrictEqual([]);
  });
});

test("A failed fresh read puts everything on hold, and no approval helps", () => {
  const owned = [ownedBy(one, ["edge/gone"])];
  const unconfirmed = "The API server does not answer.";
  const instance = anInstance({ meta: { annotations: { "wafsync.dev/approve-removals": "abc" } } });
  const { operations, held } = planOf(situation(owned, { unconfirmed, instance }));
  expect(operations).toStrictEqual([]);
  expect(held).toMatchObject({ hash: undefined, mismatch: undefined, obstacle: { reason: unconfirmed } });
});
