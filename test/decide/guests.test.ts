// What guest namespaces may do with an instance, and what they can't do to its owner or to each other.
import { describe, expect, test } from "@jest/globals";
import type { Grant } from "../../src/model/declared.ts";
import { type GatheredRule, decideAttachment } from "../../src/model/gathered.ts";
import { resourceKey } from "../../src/model/resource.ts";
import type { CompiledRule } from "../../src/decide/compiled-rule.ts";
import {
  addresses,
  aGrant,
  allowing,
  anInstance,
  anOrigin,
  aRule,
  blocking,
  createdMs,
  mapSource,
} from "../support/builders/declare.ts";
import { compileDesired } from "../../src/decide/desired.ts";
import {
  anInventory,
  desiredOf,
  gathered,
  nowMs,
  observed,
  operationsOf,
  ownedBy,
  planOf,
  recorded,
} from "../support/builders/gathered.ts";

const instanceWith = (...access: readonly Grant[]) => anInstance({ access });
const one = "192.0.2.1";
const older = { meta: { createdAtMs: createdMs - 1 } };
const adopts = { meta: { annotations: { "wafsync.dev/adopt": "true" } } };
const missing = { state: "Missing", source: mapSource("team-a/list"), problem: "It does not exist." } as const;
const everything = aGrant({ kinds: ["WafIpRule", "WafOrigin", "WafCacheClear"], actions: ["Block", "Allow"] });

/** The compiled rule of a guest with this grant. */
function ofGuest(rule: GatheredRule, grant: Partial<Grant> = {}): CompiledRule {
  const [compiled] = desiredOf({ instance: instanceWith(aGrant(grant)), rules: [rule] }).rules;
  if (compiled === undefined) throw new Error("No rule was compiled");
  return compiled;
}

/** The entries on both lists if these rules are declared, with `+` for Block and `!` for Allow. */
function wanted(rules: readonly GatheredRule[], grant: Partial<Grant> = everything): string[] {
  const { lists } = desiredOf({ instance: instanceWith(aGrant(grant)), rules });
  const marked = { "+": lists.blocklist, "!": lists.allowlist };
  return Object.entries(marked).flatMap(([mark, list]) => [...list.keys()].map((entry) => `${mark}${entry}`));
}

describe("A grant", () => {
  const labels = { team: "shop" };
  const selector = { matchLabels: labels, matchExpressions: [] };

  test("is the first one that matches the namespace", () => {
    const first = aGrant({ namespaces: { from: "Names", names: ["team-a"] }, maxEntries: 1 });
    const second = aGrant({ namespaces: { from: "Selector", selector }, maxEntries: 2 });
    const last = aGrant({ maxEntries: 3 });
    const instance = instanceWith(first, second, last);
    const maxOf = (namespace: string, of: Readonly<Record<string, string>>) => {
      const attachment = decideAttachment(instance, "WafIpRule", namespace, of);
      return attachment.state === "Allowed" ? attachment.grant?.maxEntries : attachment.state;
    };
    expect([maxOf("team-a", labels), maxOf("team-b", labels), maxOf("team-c", {})]).toStrictEqual([1, 2, 3]);
    expect(maxOf("edge", {})).toBeUndefined();
  });

  test("is required for every namespace except the owner's", () => {
    expect(decideAttachment(instanceWith(), "WafIpRule", "edge", undefined).state).toBe("Allowed");
    expect(decideAttachment(instanceWith(), "WafIpRule", "team-a", {}).state).toBe("NotAllowed");
  });

  test("is unknown while the labels of the namespace are unknown", () => {
    const bySelector = aGrant({ namespaces: { from: "Selector", selector } });
    expect(decideAttachment(instanceWith(bySelector), "WafIpRule", "team-a", undefined).state).toBe("Unknown");
    const byName = aGrant({ namespaces: { from: "Names", names: ["team-a"] } });
    expect(decideAttachment(instanceWith(byName, bySelector), "WafIpRule", "team-a", undefined).state).toBe("Allowed");
  });

  test("covers only Block rules by default", () => {
    const instance = instanceWith(aGrant());
    expect(decideAttachment(instance, "WafOrigin", "team-a", {})).toMatchObject({
      state: "NotAllowed",
      message: expect.stringContaining("does not grant WafOrigin objects to namespace team-a"),
    });
    expect(ofGuest(allowing("team-a/partners", [one]))).toMatchObject({
      verdict: "NotAllowed",
      entries: new Set(),
      message: expect.stringContaining("does not grant the action Allow"),
    });
  });
});

describe("A guest's rule", () => {
  test("has no higher priority than granted", () => {
    expect(ofGuest(blocking("team-a/feed", [one], { priority: 1_000 })).rule.priority).toBe(0);
    expect(ofGuest(blocking("team-a/feed", [one], { priority: -5 })).rule.priority).toBe(-5);
  });

  test("has no wider networks than granted, and the others apply", () => {
    const rule = ofGuest(blocking("team-a/feed", ["198.51.100.0/23", one, "2001:db8::/32"]));
    expect([...rule.entries]).toStrictEqual([one]);
    expect(
      rule.rejected.map(({ entry, message }) => [entry, message.includes("that the instance grants")]),
    ).toStrictEqual([
      ["198.51.100.0/23", true],
      ["2001:db8::/32", true],
    ]);
  });

  test("expires at the time of the grant, whatever its own expiry", () => {
    const maxTtlMs = 3_600_000;
    const endOf = (rule: GatheredRule) => ofGuest(rule, { maxTtlMs }).expiresAtMs;
    for (const own of [{}, { ttlMs: 10 * maxTtlMs }, { expiresAtMs: nowMs + 10 * maxTtlMs }])
      expect(endOf(blocking("team-a/feed", [one], own))).toBe(createdMs + maxTtlMs);
    expect(endOf(blocking("team-a/feed", [one], { ttlMs: 1_000 }))).toBe(createdMs + 1_000);
  });

  test("must have an expiry if its creation time is unknown", () => {
    const inFile = { meta: { createdAtMs: undefined } } as const;
    expect(ofGuest(blocking("team-a/feed", [one], inFile), { maxTtlMs: 1_000 })).toMatchObject({
      verdict: "NotAllowed",
      message: expect.stringContaining("set spec.expiresAt"),
    });
  });

  test("shares a number of entries with the other rules of its namespace, the oldest first", () => {
    const rules = [
      blocking("team-a/new", ["192.0.2.3", "192.0.2.1", "192.0.2.4"]),
      blocking("team-a/old", ["192.0.2.1", "192.0.2.2"], older),
      blocking("team-b/own", ["192.0.2.8", "192.0.2.9"]),
      blocking("edge/owners", addresses(20)),
    ];
    const { rules: compiled } = desiredOf({ instance: instanceWith(aGrant({ maxEntries: 3 })), rules });
    const entriesOf = (id: string) => [...(compiled.find((rule) => rule.id === id)?.entries ?? [])];
    expect(entriesOf("team-a/old")).toStrictEqual(["192.0.2.1", "192.0.2.2"]);
    expect(entriesOf("team-a/new")).toStrictEqual(["192.0.2.3", "192.0.2.1"]);
    expect(entriesOf("team-b/own")).toHaveLength(2);
    expect(entriesOf("edge/owners")).toHaveLength(20);
    expect(compiled.find(({ id }) => id === "team-a/new")).toMatchObject({
      verdict: "InvalidEntries",
      rejected: [{ entry: "192.0.2.4", message: expect.stringContaining("grants 3 entries to this namespace") }],
    });
  });

  test("adopts nothing without a grant, and reports this", () => {
    const adopting = blocking("team-a/feed", [one], adopts);
    const plan = (grant: Partial<Grant>) => {
      const gathered = { instance: instanceWith(aGrant(grant)), rules: [adopting] };
      return planOf({ gathered, observed: { blocklist: [one] } });
    };
    expect(plan({}).adoptions).toStrictEqual([]);
    expect(plan({ adopt: true }).adoptions).toHaveLength(1);
    expect(ofGuest(adopting)).toMatchObject({ verdict: "NotAllowed", message: expect.stringContaining("adoption") });
  });

  test("retains nothing, because rules could otherwise leave more entries than the quota one after another", () => {
    const rule = ofGuest(blocking("team-a/feed", [one], { deletionPolicy: "Retain" }));
    expect(rule.rule.deletionPolicy).toBe("Delete");
    expect(rule).toMatchObject({ verdict: "NotAllowed", message: expect.stringContaining("deletionPolicy: Retain") });
    expect([...rule.entries]).toStrictEqual([one]);
  });

  test("limits origins in the same way: no adoption, and nothing is retained", () => {
    const mine = anOrigin("a.example", { name: "team-a/mine", deletionPolicy: "Retain", ...adopts });
    const originOf = (adopt: boolean) =>
      desiredOf({ instance: instanceWith({ ...everything, adopt }), origins: [mine] }).origins.get("a.example");
    expect(originOf(false)).toMatchObject({ deletionPolicy: "Delete", meta: { annotations: {} } });
    expect(originOf(true)).toMatchObject({ deletionPolicy: "Delete", meta: mine.meta });
    expect(originOf(false)?.meta.annotations).toStrictEqual({});
  });
});

describe("A conflict", () => {
  test("is won by the owner, whatever the age and the current list of the entry", () => {
    const guestAllows = [allowing("team-a/partners", [one], older), blocking("edge/scanners", [one])];
    expect(wanted(guestAllows)).toStrictEqual([`+${one}`]);
    const rules = [blocking("team-a/feed", [one], older), allowing("edge/office", [one])];
    expect(wanted(rules)).toStrictEqual([`!${one}`]);
    const listed = recorded([ownedBy(one, ["team-a/feed"])], { instance: instanceWith(everything), rules });
    expect(operationsOf(listed)).toStrictEqual([`allowlist +${one}`, `blocklist -${one}`]);
  });

  test("is resolved between the owner's rules if they disagree, whatever a guest declares", () => {
    const rules = [
      blocking("team-a/old", [one], { meta: { createdAtMs: createdMs - 2 } }),
      blocking("scanners", [one], { meta: { createdAtMs: createdMs - 1 } }),
      allowing("partner", [one]),
    ];
    expect(wanted(rules)).toStrictEqual([`+${one}`]);
  });

  test("among guests is won by age, and the message names no rules of other namespaces", () => {
    const declared = [blocking("team-a/feed", [one], older), allowing("team-b/partners", [one])];
    const { rules } = desiredOf({ instance: instanceWith(everything), rules: declared });
    const loser = rules.find(({ id }) => id === "team-b/partners");
    expect(loser).toMatchObject({ verdict: "Conflict", entries: new Set() });
    expect(loser?.message).not.toContain("team-a");
  });
});

describe("A message for a guest does not name objects of other namespaces, and one for the owner does:", () => {
  const everyKind = instanceWith(everything);

  test.each([
    ["team-b", "Conflict", "A rule of another namespace with action Block also declares"],
    ["edge", "Accepted", ""],
  ])("an Allow rule of %s for an entry of a missing source", (namespace, verdict, text) => {
    const source = "ConfigMap team-a/list, key list";
    const rules = [aRule("team-a/feed", { texts: [missing] }), allowing(`${namespace}/partner`, [one])];
    const managed = anInventory({ blocklist: [ownedBy(one, ["team-a/feed"], source)] });
    const scene = gathered({ instance: everyKind, rules });
    const loser = compileDesired(scene, nowMs, managed).rules.find(({ id }) => id === `${namespace}/partner`);
    expect([loser?.verdict, loser?.message]).toStrictEqual([verdict, expect.stringContaining(text)]);
    expect(loser?.message).not.toContain("team-a");
  });

  test("a WafOrigin for the host of another one", () => {
    const host = "origin.shop.example";
    const ofGuests = (other: string) => [
      anOrigin(host, { name: "team-a/first", meta: { createdAtMs: createdMs - 1 }, type: "Alternate" }),
      anOrigin(host, { name: `${other}/second`, type: "Backup" }),
    ];
    const messageFor = (other: string) => {
      const { compiledOrigins } = desiredOf({ instance: everyKind, origins: ofGuests(other) });
      return compiledOrigins.find(({ verdict }) => verdict === "Conflict")?.message;
    };
    expect(messageFor("team-b")).toContain(`${host} is declared as Alternate by a WafOrigin of another namespace`);
    expect(messageFor("team-a")).toContain(`${host} is declared as Alternate by WafOrigin team-a/first`);
  });
});

describe("Only the owner overrides what another namespace declared:", () => {
  const net = "203.0.113.0/24";
  const host = "203.0.113.7";

  test.each([
    ["no guest overlaps a network of the owner", "edge blocks net, team-a allows host", "+net"],
    ["no guest overlaps an address of the owner", "edge blocks host, team-a allows net", "+host"],
    ["no guest overlaps a network of another guest", "team-b blocks net, team-a allows host", "+net"],
    ["a guest makes exceptions in its own namespace", "team-a blocks net, team-a allows host", "+net !host"],
    ["the owner makes exceptions everywhere", "team-a blocks net, edge allows host", "+net !host"],
    ["no guest blocks what the owner allows", "edge allows net, team-a blocks host", "!net"],
  ])("%s: %s", (_what, declared, expected) => {
    const rules = declared.split(", ").map((text, index) => {
      const [namespace, action, what] = text.split(" ");
      const declare = action === "blocks" ? blocking : allowing;
      return declare(`${namespace}/rule-${index}`, [what === "net" ? net : host]);
    });
    expect(wanted(rules).join(" ")).toBe(expected.replace("net", net).replace("host", host));
  });

  test("a guest's exception survives a later block of another guest, not one of the owner, and does not come back", () => {
    const managed = anInventory({ allowlist: [ownedBy(host, ["team-a/one"])] });
    const allowedBeside = (namespace: string, allowlist: readonly string[]) => {
      const rules = [allowing("team-a/one", [host]), blocking(`${namespace}/net`, [net])];
      const scene = gathered({ instance: instanceWith(everything), rules });
      return [...compileDesired(scene, nowMs, managed, observed({ allowlist })).lists.allowlist.keys()];
    };
    expect(allowedBeside("team-b", [host])).toStrictEqual([host]);
    expect(allowedBeside("team-b", [])).toStrictEqual([]);
    expect(allowedBeside("edge", [host])).toStrictEqual([]);
  });

  test("a guest's exception can't override the block of an owner's rule with a broken reference", () => {
    const stray = blocking("edge/scanners", ["192.0.2.7"], { instance: { namespace: "edge", name: "shpo" } }).rule;
    const objects = new Map([[resourceKey(stray.meta), { declared: stray, problem: "There is no shpo." }]]);
    const scene = gathered({
      instance: instanceWith(everything),
      rules: [allowing("team-a/mine", ["192.0.2.7"])],
      brokenReferences: { objects, existing: undefined },
    });
    const managed = anInventory({ blocklist: [ownedBy("192.0.2.7", ["edge/scanners"])] });
    const { lists } = compileDesired(scene, nowMs, managed, observed({ blocklist: ["192.0.2.7"] }));
    expect([...lists.allowlist.keys()]).toStrictEqual([]);
  });

  test("a guest's origin does not prevent blocks", () => {
    const situation = recorded([ownedBy(one, ["edge/scanners"])], {
      instance: instanceWith(everything),
      rules: [blocking("edge/scanners", [one])],
      origins: [anOrigin(one, { name: "team-a/mine" })],
    });
    expect(operationsOf(situation)).toStrictEqual([`origins +${one} Alternate`]);
  });

  test("a guest's broken source puts none of the owner's entries on hold", () => {
    const rules = [blocking("team-a/feed", [], { texts: [missing] }), blocking("edge/scanners", addresses(20))];
    const owned = addresses(21).map((text) => ownedBy(text, ["edge/scanners"]));
    const situation = recorded(owned, { instance: instanceWith(everything), rules });
    expect(planOf(situation).held).toBeUndefined();
    expect(operationsOf(situation)).toStrictEqual(["blocklist -198.18.0.20"]);
  });
});

test("Additions with the same priority take turns between namespaces, so none waits for another one's long list", () => {
  const rules = [
    blocking("team-a/a", addresses(3)),
    blocking("team-a/b", addresses(3, 10)),
    blocking("edge/owners", addresses(7, 100)),
  ];
  const { operations } = planOf({ gathered: { instance: instanceWith(everything), rules } });
  const namespaces = operations.map((operation) => ("rules" in operation ? operation.rules[0]?.split("/")[0] : ""));
  expect(namespaces.slice(0, 6)).toStrictEqual(["team-a", "edge", "team-a", "edge", "team-a", "edge"]);
  expect(namespaces).toHaveLength(13);
});
