import { describe, expect, test } from "@jest/globals";
import type { DeclaredInstance } from "../../../src/model/declared.ts";
import {
  addresses,
  allowing,
  anInstance,
  anOrigin,
  aRule,
  blocking,
  createdMs,
} from "../../support/builders/declare.ts";
import { desiredOf, entry, nowMs, planOf } from "../../support/builders/gathered.ts";

const older = { meta: { createdAtMs: createdMs - 1 } };

function carving(neverBlock: readonly string[], guards: Partial<DeclaredInstance["guards"]> = {}): DeclaredInstance {
  return anInstance({ guards: { neverBlock, onNeverBlock: "Carve", ...guards } });
}

describe("An entry of a special-purpose network", () => {
  test.each(["Block", "Allow"] as const)(
    "is rejected from a rule with action %s, whose other entries apply",
    (action) => {
      const [rule] = desiredOf({ rules: [aRule("a", { action, addresses: ["10.0.0.1", "192.0.2.1"] })] }).rules;
      expect(rule).toMatchObject({ verdict: "GuardRejected" });
      expect(rule?.rejected).toStrictEqual([
        { entry: "10.0.0.1", source: "spec.addresses[0]", message: expect.stringContaining("10.0.0.0/8 (private use") },
      ]);
      expect([...(rule?.entries ?? [])]).toStrictEqual(["192.0.2.1"]);
    },
  );

  test("is accepted if the instance allows it", () => {
    const instance = anInstance({ guards: { specialPurpose: "Allow" } });
    const rules = [blocking("a", ["10.0.0.0/8"]), allowing("b", ["fd00::/48"])];
    const desired = desiredOf({ instance, rules });
    expect(desired.rules.map(({ verdict }) => verdict)).toStrictEqual(["Accepted", "Accepted"]);
  });

  test("puts no removals on hold, because it is readable", () => {
    expect(desiredOf({ rules: [blocking("a", ["10.0.0.1"])] }).holds).toStrictEqual([]);
  });
});

const feed = "WafFeed edge/threats";

function feedRule(entries: readonly string[], own: readonly string[] = []) {
  return aRule("a", {
    addresses: own,
    texts: [{ state: "Listed", source: feed, entries: entries.map(entry) }],
  });
}

describe("A special-purpose network that a feed lists", () => {
  test("is left out without a fault of the rule, because users of the feed can't correct it", () => {
    // Lists of unused networks contain these, and 224.0.0.0/3 is wider than the guard allows.
    const [rule] = desiredOf({ rules: [feedRule(["10.0.0.0/8", "127.0.0.1", "224.0.0.0/3", "192.0.2.1"])] }).rules;
    expect(rule).toMatchObject({ verdict: "Accepted", rejected: [] });
    expect([...(rule?.entries ?? [])]).toStrictEqual(["192.0.2.1"]);
  });

  test("is rejected if it is too wide and partly public, or if the rule itself declares it", () => {
    const [rule] = desiredOf({ rules: [feedRule(["0.0.0.0/0", "10.0.0.1", "10.0.0.2"], ["10.0.0.2"])] }).rules;
    expect(rule?.verdict).toBe("GuardRejected");
    expect(rule?.rejected.map((one) => one.entry).sort()).toStrictEqual(["0.0.0.0/0", "10.0.0.2"]);
  });

  test("is accepted if the instance allows it", () => {
    const instance = anInstance({ guards: { specialPurpose: "Allow" } });
    const [rule] = desiredOf({ instance, rules: [feedRule(["10.0.0.0/8"])] }).rules;
    expect([...(rule?.entries ?? [])]).toStrictEqual(["10.0.0.0/8"]);
  });
});

describe("An entry of a feed that a guard refuses", () => {
  const instance = anInstance({ guards: { neverBlock: ["192.0.2.7"] } });
  const origins = [anOrigin("198.51.100.7")];

  test("is reported without a remedy, and is no fault of the rule", () => {
    const rules = [feedRule(["192.0.2.0/24", "198.51.100.7", "2.0.0.0/7", "203.0.113.1"])];
    const [rule] = desiredOf({ instance, origins, rules }).rules;
    expect(rule).toMatchObject({ verdict: "Accepted", message: "" });
    expect([...(rule?.entries ?? [])]).toStrictEqual(["203.0.113.1"]);
    const reachable = "which must stay reachable (spec.guards.neverBlock of the instance, or a declared origin).";
    expect(rule?.rejected.map((one) => [one.entry, one.message])).toStrictEqual([
      ["192.0.2.0/24", `192.0.2.0/24 overlaps 192.0.2.7, ${reachable}`],
      ["198.51.100.7", `198.51.100.7 overlaps 198.51.100.7, ${reachable}`],
      ["2.0.0.0/7", expect.stringMatching(/^2\.0\.0\.0\/7 is wider than \/8, .* of the instance\.$/)],
    ]);
  });

  test("does not hide a fault of the rule itself", () => {
    const [rule] = desiredOf({ instance, origins, rules: [feedRule(["198.51.100.7"], ["192.0.2.7"])] }).rules;
    expect(rule).toMatchObject({ verdict: "GuardRejected", message: expect.stringMatching(/^1 entry is not applied/) });
    expect(rule?.rejected).toHaveLength(2);
  });
});

describe("An entry that a changed guard refuses", () => {
  test("is removed if wafsync added it, and counts as a removal", () => {
    const rules = [blocking("a", ["10.0.0.0/8", "192.0.2.1"])];
    const situation = {
      gathered: { rules },
      observed: { blocklist: ["10.0.0.0/8", "192.0.2.1"] },
      inventory: { blocklist: ["10.0.0.0/8", "192.0.2.1"] },
    };
    const plan = planOf(situation);
    expect(plan.operations).toMatchObject([{ kind: "RemoveEntry", entry: "10.0.0.0/8" }]);
    const careful = anInstance({ guards: { maxRemovals: 0 } });
    const held = planOf({ ...situation, gathered: { rules, instance: careful } });
    expect(held.operations).toStrictEqual([]);
    expect(held.held?.removals.blocklist.map(({ entry }) => entry)).toStrictEqual(["10.0.0.0/8"]);
  });

  test("stays if it is foreign", () => {
    const plan = planOf({
      gathered: { rules: [blocking("a", ["10.0.0.0/8"])] },
      observed: { blocklist: ["10.0.0.0/8"] },
    });
    expect(plan.operations).toStrictEqual([]);
  });
});

describe("A Block entry around an address that must stay reachable", () => {
  test("is rejected by default, with both remedies", () => {
    const instance = anInstance({ guards: { neverBlock: ["192.0.2.5"] } });
    const [rule] = desiredOf({ instance, rules: [blocking("a", ["192.0.2.0/29"])] }).rules;
    expect(rule).toMatchObject({ verdict: "GuardRejected", carved: [] });
    expect(rule?.rejected[0]?.message).toBe(
      "192.0.2.0/29 overlaps 192.0.2.5, which must stay reachable (spec.guards.neverBlock of the instance, or a declared origin): write narrower networks that leave it out, or set spec.guards.onNeverBlock of the instance to Carve.",
    );
  });

  test("is carved if the instance is configured so: the rule declares the remaining networks", () => {
    const rules = [blocking("a", ["203.0.113.9", "192.0.2.0/29"])];
    const { rules: compiled, lists } = desiredOf({ instance: carving(["192.0.2.5"]), rules });
    const [rule] = compiled;
    expect(rule).toMatchObject({ verdict: "Accepted", rejected: [] });
    expect(rule?.carved).toStrictEqual([
      {
        entry: "192.0.2.0/29",
        source: "spec.addresses[1]",
        leftOut: ["192.0.2.5"],
        pieces: ["192.0.2.0/30", "192.0.2.4", "192.0.2.6/31"],
      },
    ]);
    expect([...lists.blocklist.keys()]).toStrictEqual(["203.0.113.9", "192.0.2.0/30", "192.0.2.4", "192.0.2.6/31"]);
  });

  test("is carved around the addresses of declared origins, too", () => {
    const desired = desiredOf({
      instance: carving([]),
      origins: [anOrigin("198.51.100.1")],
      rules: [blocking("a", ["198.51.100.0/31"])],
    });
    expect([...desired.lists.blocklist.keys()]).toStrictEqual(["198.51.100.0"]);
  });

  test("is carved around all such networks together", () => {
    const instance = carving(["192.0.2.0/26", "192.0.2.200", "192.0.2.128/25", "203.0.113.0/24"]);
    const [rule] = desiredOf({ instance, rules: [blocking("a", ["192.0.2.0/24"])] }).rules;
    expect(rule?.carved[0]?.leftOut).toStrictEqual(["192.0.2.0/26", "192.0.2.128/25"]);
    expect([...(rule?.entries ?? [])]).toStrictEqual(["192.0.2.64/26"]);
  });

  test.each(["192.0.2.0/24", "192.0.2.7", "192.0.2.128/25"])(
    "is rejected nevertheless if nothing of it remains: %s",
    (text) => {
      const instance = carving(["192.0.2.0/25", "192.0.2.128/25"]);
      const [rule] = desiredOf({ instance, rules: [blocking("a", [text])] }).rules;
      expect(rule).toMatchObject({ verdict: "GuardRejected", carved: [] });
      expect(rule?.message).toContain("remove it from the rule");
    },
  );

  test("is rejected if it would become more than 256 networks", () => {
    const everySecond = addresses(514).filter((_, index) => index % 2 === 0);
    const rules = [blocking("fits", ["198.18.0.0/23"]), blocking("too-many", ["198.18.0.0/22"])];
    const desired = desiredOf({ instance: carving(everySecond), rules });
    expect(desired.rules.map(({ verdict }) => verdict)).toStrictEqual(["Accepted", "GuardRejected"]);
    expect(desired.lists.blocklist.size).toBe(256);
    expect(desired.rules[1]?.message).toContain(
      "Without the 257 protected networks in it, it would become more than 256 networks: write narrower networks that leave them out.",
    );
  });

  test("is still rejected for its width, and for special-purpose networks", () => {
    const rules = [blocking("a", ["8.0.0.0/7", "192.168.0.0/16"])];
    const instance = carving(["9.9.9.9", "192.168.1.1"]);
    expect(desiredOf({ instance, rules }).rules[0]?.rejected.map(({ message }) => message)).toStrictEqual([
      expect.stringContaining("spec.guards.minPrefixLength.ipv4"),
      expect.stringContaining("spec.guards.specialPurpose"),
    ]);
  });

  test("is replaced by adding its parts before removing it, so the other addresses stay blocked", () => {
    const plan = planOf({
      gathered: { instance: carving(["192.0.2.0/25"]), rules: [blocking("a", ["192.0.2.0/24"])] },
      observed: { blocklist: ["192.0.2.0/24"] },
      inventory: { blocklist: ["192.0.2.0/24"] },
    });
    expect(plan.operations).toMatchObject([
      { kind: "AddEntry", entry: "192.0.2.128/25" },
      { kind: "RemoveEntry", entry: "192.0.2.0/24" },
    ]);
  });

  test("declares nothing once its rule has expired", () => {
    const rule = blocking("a", ["192.0.2.0/24"], { expiresAtMs: nowMs });
    expect(desiredOf({ instance: carving(["192.0.2.5"]), rules: [rule] }).rules[0]).toMatchObject({ carved: [] });
  });
});

describe("A carved entry and the rules of the other list", () => {
  const instance = carving(["192.0.2.0/25"]);
  const whole = "192.0.2.0/24";

  test("are in conflict if one of them allows the same entry: the older rule decides", () => {
    const lost = desiredOf({ instance, rules: [blocking("block", [whole]), allowing("allow", [whole], older)] });
    expect(lost.rules.map(({ id, verdict }) => [id, verdict])).toStrictEqual([
      ["edge/allow", "Accepted"],
      ["edge/block", "Conflict"],
    ]);
    expect(lost.rules[1]).toMatchObject({ carved: [], rejected: [{ entry: whole, source: "spec.addresses[0]" }] });
    expect(lost.lists.blocklist.size).toBe(0);
    const won = desiredOf({ instance, rules: [blocking("block", [whole], older), allowing("allow", [whole])] });
    expect(won.rules.map(({ verdict }) => verdict)).toStrictEqual(["Accepted", "Conflict"]);
    expect([...won.lists.blocklist.keys()]).toStrictEqual(["192.0.2.128/25"]);
    expect(won.lists.allowlist.size).toBe(0);
  });

  test("are in no conflict if one allows a part of it, which is an exception whatever its age", () => {
    for (const [blockAge, allowAge] of [
      [older, {}],
      [{}, older],
    ]) {
      const rules = [blocking("block", [whole], blockAge), allowing("allow", ["192.0.2.128/25"], allowAge)];
      const desired = desiredOf({ instance, rules });
      expect(desired.rules.map(({ verdict }) => verdict)).toStrictEqual(["Accepted", "Accepted"]);
      expect(desired.lists.blocklist.size).toBe(0);
      expect([...desired.lists.allowlist.keys()]).toStrictEqual(["192.0.2.128/25"]);
    }
  });

  test("are in conflict if the part is also declared itself", () => {
    const rules = [
      blocking("block", [whole, "192.0.2.128/25"], older),
      allowing("allow", ["192.0.2.128/25", "203.0.113.1"]),
    ];
    const desired = desiredOf({ instance, rules });
    expect(desired.rules.map(({ verdict }) => verdict)).toStrictEqual(["Accepted", "Conflict"]);
    expect([...desired.lists.blocklist.keys()]).toStrictEqual([entry("192.0.2.128/25")]);
  });

  test("share the parts with a rule that declares them itself", () => {
    const rules = [blocking("wide", [whole]), blocking("narrow", ["192.0.2.128/25"])];
    const wanting = desiredOf({ instance, rules }).lists.blocklist.get(entry("192.0.2.128/25"));
    expect(wanting?.map(({ id }) => id)).toStrictEqual(["edge/narrow", "edge/wide"]);
  });
});
