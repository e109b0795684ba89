// What can't be read counts as declaring what the record says it last declared: each row of the table in remembered.ts.
import { describe, expect, test } from "@jest/globals";
import type { DeclaredOrigin, DeclaredRule } from "../../src/model/declared.ts";
import { readOwners, writeOwners } from "../../src/model/rule-id.ts";
import type { AddressText, BrokenReferences, Gathered } from "../../src/model/gathered.ts";
import { operationKey } from "../../src/model/operation.ts";
import { resourceKey, type ResourceMeta } from "../../src/model/resource.ts";
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
  operationsOf,
  planOf,
  recorded,
  type Situation,
  anOwnedOrigin,
} from "../support/builders/gathered.ts";

const list = "ConfigMap edge/list-0, key list";
const missing: AddressText = { state: "Missing", source: mapSource("edge/list-0"), problem: `${list} does not exist.` };
const [one, two, three, four] = ["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"] as const;
const shpo = { namespace: "edge", name: "shpo" };
const problem = "There is no WafInstance edge/shpo; did you mean shop?";
const selector = { matchLabels: { team: "shop" }, matchExpressions: [] };
const byLabels = anInstance({ access: [{ ...openGrant, namespaces: { from: "Selector", selector } }] });

function broken(objects: readonly (DeclaredRule | DeclaredOrigin)[], others?: readonly string[]): BrokenReferences {
  return {
    objects: new Map(objects.map((declared) => [resourceKey(declared.meta), { declared, problem }])),
    existing: others === undefined ? undefined : new Set([...others, ...objects.map(({ meta }) => resourceKey(meta))]),
  };
}

function outcome(of: Situation): { readonly removed: string[]; readonly kept: string[] } {
  const plan = planOf(of);
  const removed = plan.operations.flatMap((operation) => (operation.kind === "RemoveEntry" ? [operation.entry] : []));
  return { removed, kept: plan.kept.map(({ value }) => value).toSorted() };
}

const stray = blocking("scanners", [one], { instance: shpo }).rule;
const strayIn = (meta: Partial<ResourceMeta>) => ({ ...stray, meta: { ...stray.meta, ...meta } });
const alone = { instance: anInstance({ access: [] }) };
const moved = blocking("egde/scanners", [one], { instance: { namespace: "egde", name: "shop" } }).rule;
const feed = aRule("feed", { texts: [missing] });
const invalid = { invalidObjects: new Map([["WafIpRule edge/scanners", "It is not understood"]]) };
const all = [
  ownedBy(one, ["edge/scanners"]),
  ownedBy(two, ["edge/other"]),
  ownedBy(three, ["edge/x", "edge/scanners"]),
];

const unreadable = { brokenSources: ["a.yaml can't be read."] };
const by = (text: string, ...rules: readonly string[]): Owned => ownedBy(text, rules);

describe("The entries stay that were last declared by", () => {
  const other = blocking("other", []);
  const withoutAccess = {
    instance: anInstance({ access: [], meta: { uid: "" } }),
    rules: [blocking("egde/scanners", [one], { meta: { uid: "" } })],
    brokenReferences: broken([], ["WafIpRule egde/scanners"]),
  };
  const continues = { annotations: { "wafsync.dev/continues": "edge/shop" } };
  const former = {
    instance: anInstance({ name: "shpo/shop", meta: continues }),
    brokenReferences: broken([{ ...stray, instance: { namespace: "edge", name: "shop" } }], []),
  };
  const brokenScanners: readonly (readonly [string, Partial<Gathered>])[] = [
    ["an object that is not understood", invalid],
    ["a rule that refers to a missing instance", { brokenReferences: broken([stray]) }],
    ["it, whatever its action is now", { brokenReferences: broken([{ ...stray, action: "Allow" }]) }],
    ["a rule in a directory whose namespace is mistyped", { brokenReferences: broken([moved], []) }],
    ["it, also if its namespace has no access", withoutAccess],
    ["a rule that still refers to the former instance in another namespace", former],
  ];
  const changedRules = [blocking("a", [four]), allowing("b", []), blocking("c", [], { expiresAtMs: nowMs - 1 })];
  const ofFeed = [ownedBy(one, ["edge/feed"], list), by(two, "edge/other"), by(three, "edge/feed")];
  const unsourced = [by(one, "edge/feed"), by(two, "edge/former"), by(three, "edge/other"), by(four, "news/former")];
  const odd = [by(one, "edge/odd"), by(two, "edge/other"), by(three, "edge/odd", "edge/other")];
  const unlabeled = { instance: byLabels, rules: [blocking("other/feed", [])] };

  test.each<readonly [string, readonly Owned[], Partial<Gathered>, readonly string[], readonly string[]]>([
    ...brokenScanners.map(([title, given]) => [title, all, given, [one, three], [two]] as const),
    ["anything, while a file can't be read", all, unreadable, [one, two, three], []],
    [
      "anything, even if its rule no longer declares it, is declared for the other list, or has expired",
      [by(one, "edge/a"), by(two, "edge/b"), by(three, "edge/c")],
      { ...unreadable, rules: changedRules },
      [one, two, three],
      [],
    ],
    ["a missing ConfigMap", ofFeed, { rules: [feed] }, [one], [two, three]],
    ["it for another rule", [ownedBy(one, ["edge/former"], list)], { rules: [feed] }, [one], []],
    [
      "the rule and deleted rules of its namespace, if the record has nothing of the ConfigMap",
      unsourced,
      { rules: [feed, other] },
      [one, two],
      [three, four],
    ],
    ["a rule with an invalid line", odd, { rules: [blocking("odd", ["nonsense"]), other] }, [one, three], [two]],
    ["a namespace with unknown labels", [by(one, "other/feed"), by(two, "edge/other")], unlabeled, [one], [two]],
  ])("%s", (_, owned, given, kept, removed) => {
    const of = recorded(owned, given);
    expect(outcome(of)).toStrictEqual({ kept: kept.toSorted(), removed: [...removed] });
    // After a restart, with the record of that plan.
    const record = { ...anInventory(), entries: planOf(of).inventory.entries };
    const again = compileDesired(gathered(given), nowMs, record, observed(of.observed));
    const entries = [...again.lists.blocklist.keys()].filter((entry) => kept.includes(entry));
    expect(entries.toSorted()).toStrictEqual(kept.toSorted());
  });

  test.each<readonly [string, Partial<Gathered>]>([
    ["a rule of the other list", { rules: [aRule("scanners", { action: "Allow", addresses: ["nonsense"] })] }],
    ["an expired rule", { rules: [blocking("scanners", ["nonsense"], { expiresAtMs: nowMs - 1, texts: [missing] })] }],
    ["an unattached rule that has expired", { brokenReferences: broken([{ ...stray, expiresAtMs: nowMs }]) }],
    ["an unattached rule that is being deleted", { brokenReferences: broken([strayIn({ deleting: true })]) }],
    ["a rule with the same name in another namespace of a cluster", { brokenReferences: broken([moved]) }],
    ["a rule that exists elsewhere", { brokenReferences: broken([moved], ["WafIpRule edge/scanners"]) }],
    ["a rule of a namespace without access", { ...alone, brokenReferences: broken([strayIn({ namespace: "news" })]) }],
  ])("no broken part of %s", (_, given) => {
    expect(outcome(recorded([ownedBy(one, ["edge/scanners"])], given))).toStrictEqual({ kept: [], removed: [one] });
  });
});

describe("A remembered entry", () => {
  test("is added again if another writer removed it", () => {
    const of = { gathered: { rules: [feed] }, inventory: { blocklist: [ownedBy(one, ["edge/feed"], list)] } };
    expect(operationsOf(of)).toStrictEqual([`blocklist +${one}`]);
  });

  test("counts as declared by its rule", () => {
    const rules = [aRule("feed", { addresses: [three], texts: [missing] })];
    const owned = [...addresses(1_413).map((text) => ownedBy(text, ["edge/feed"], list)), by(three, "edge/feed")];
    const of = recorded(owned, { rules });
    const plan = planOf(of);
    const desired = compileDesired(gathered({ rules }), nowMs, anInventory(of.inventory));
    const progress = progressOf(desired.rules, plan.outcomes).get(desired.rules[0]!);
    expect(progress).toMatchObject({ desired: 1_414, synced: 1_414, pending: 0 });
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
    const rules = [feed, blocking("other", [one])];
    const { inventory } = planOf(recorded([ownedBy(one, ["edge/feed"], list)], { rules }));
    const [record] = inventory.entries.blocklist.values();
    expect(readOwners(record!.owners)).toMatchObject([{ source: list }, { name: "edge/other" }]);
  });

  test("takes part in guards: a network that must stay reachable is not blocked because of the record", () => {
    const instance = anInstance({ guards: { neverBlock: [one] } });
    const owned = [ownedBy(one, ["edge/feed"], list), ownedBy(two, ["edge/feed"], list)];
    expect(outcome(recorded(owned, { instance, rules: [feed] }))).toStrictEqual({ kept: [two], removed: [one] });
  });

  test("takes part in grants: a guest can't exceed its number of entries with sources that break", () => {
    const instance = anInstance({ access: [aGrant({ maxEntries: 2 })] });
    const rules = [aRule("news/feed", { texts: [missing] }), blocking("news/more", [three])];
    const owned = [ownedBy(one, ["news/feed"], list), ownedBy(two, ["news/feed"], list)];
    const desired = compileDesired(gathered({ instance, rules }), nowMs, anInventory({ blocklist: owned }));
    expect([...desired.lists.blocklist.keys()]).toStrictEqual([one, two]);
  });

  test.each([
    { how: "whole", except: [], now: [two, three], left: "192.0.2.2/31" },
    { how: "cut by spec.except", except: ["192.0.2.6/31"], now: ["192.0.2.4", "192.0.2.5"], left: "192.0.2.4/31" },
  ])(
    "is no merged network, $how, whose addresses its rule still declares, so it takes nothing of a guest's grant",
    (row) => {
      const before = row.how === "whole" ? row.now : [...row.now, "192.0.2.6", "192.0.2.7"];
      const given = { instance: anInstance({ access: [aGrant({ maxEntries: before.length })] }) };
      const rulesOf = (texts: string[], except: string[]) => [
        blocking("news/feed", texts, { aggregate: true, except }),
      ];
      const { entries } = planOf({ gathered: { ...given, rules: rulesOf(before, []) } }).inventory;
      const changed = gathered({ ...given, rules: rulesOf(row.now, row.except), ...unreadable });
      const { lists, rules } = compileDesired(changed, nowMs, { ...anInventory(), entries });
      expect([...lists.blocklist.keys()]).toStrictEqual([row.left]);
      expect(rules).toMatchObject([{ verdict: "Accepted", remembered: new Map() }]);
    },
  );

  test("takes part in conflicts: an Allow rule does not lift it", () => {
    const rules = [feed, allowing("partner", [one, two])];
    const record = anInventory({ blocklist: [ownedBy(one, ["edge/feed"], list)] });
    const { lists } = compileDesired(gathered({ rules }), nowMs, record);
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
    const countAfter = (given: Partial<Gathered>): number =>
      planOf(recorded([retained], given)).inventory.entries.blocklist.size;
    expect(countAfter({ rules: [feed] })).toBe(1);
    expect(countAfter({ brokenReferences: broken([strayIn({ name: "gone" })]) })).toBe(1);
    expect(countAfter({ rules: [blocking("odd", ["nonsense"])] })).toBe(0);
  });
});

describe("An entry that no record assigns to a rule stays on an Exclusive list while something is broken that", () => {
  const instance = anInstance({ policies: { blocklist: "Exclusive" }, access: [] });
  const kept = (given: Partial<Gathered>): readonly string[] =>
    planOf({ gathered: { instance, ...given }, observed: { blocklist: [two] } }).kept.map(({ value }) => value);

  test.each<readonly [string, Partial<Gathered>, boolean]>([
    ["may declare anything", unreadable, true],
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
  const removed = (given: Partial<Gathered>) => operationsOf({ gathered: given, inventory: { origins } });
  const [a, b] = ["origins -a.example Alternate", "origins -b.example Alternate"];

  test.each<readonly [string, Partial<Gathered>, readonly (string | undefined)[]]>([
    ["is removed while a rule can't be read", { rules: [feed] }, [a, b]],
    ["stays while a file can't be read", unreadable, []],
    ["stays while its WafOrigin refers to a missing instance", { brokenReferences: broken([strayOrigin]) }, [b]],
    ["stays while its WafOrigin is odd", { invalidObjects: new Map([["WafOrigin edge/standby", "?"]]) }, [b]],
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
    expect(removed({ ...unreadable, origins: [origin] })).toStrictEqual([]);
  });
});

test("A failed fresh read puts everything on hold, and no approval helps", () => {
  const owned = [ownedBy(one, ["edge/gone"])];
  const unconfirmed = "The API server does not answer.";
  const instance = anInstance({ meta: { annotations: { "wafsync.dev/approve-removals": "abc" } } });
  const { operations, held } = planOf(recorded(owned, { unconfirmed, instance }));
  expect(operations).toStrictEqual([]);
  expect(held).toMatchObject({ hash: undefined, mismatch: undefined, obstacle: { reason: unconfirmed } });
});
