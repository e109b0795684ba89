import { describe, expect, test } from "@jest/globals";
import { addresses, allowing, anInstance, anOrigin, aRule, blocking, feedSource } from "../support/builders/declare.ts";
import { desiredOf, entry, operationsOf, planOf, recorded } from "../support/builders/gathered.ts";

const source = feedSource("edge/threats");

describe("An entry of a special-purpose network", () => {
  test.each(["Block", "Allow"] as const)("is rejected from a rule with action %s, whose others apply", (action) => {
    const [rule] = desiredOf({ rules: [aRule("a", { action, addresses: ["10.0.0.1", "192.0.2.1"] })] }).rules;
    const message = expect.stringContaining("10.0.0.0/8 (private use");
    const rejected = [{ entry: "10.0.0.1", source: "spec.addresses[0]", message }];
    expect(rule).toMatchObject({ verdict: "InvalidEntries", entries: new Set(["192.0.2.1"]), rejected });
  });

  test("is accepted if the instance allows it", () => {
    const instance = anInstance({ guards: { specialPurpose: "Allow" } });
    const rules = [blocking("b", ["10.0.0.0/8"]), allowing("c", ["fd00::/48"]), feedRule(["10.1.0.0/16"])];
    const desired = desiredOf({ instance, rules });
    expect(desired.rules.map(({ verdict, entries }) => `${verdict} ${[...entries].join()}`)).toStrictEqual([
      "Accepted 10.1.0.0/16",
      "Accepted 10.0.0.0/8",
      "Accepted fd00::/48",
    ]);
  });
});

function feedRule(entries: readonly string[], own: readonly string[] = []) {
  return aRule("a", { addresses: own, texts: [{ state: "Listed", source, entries: entries.map(entry) }] });
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
    expect(rule?.verdict).toBe("InvalidEntries");
    expect(rule?.rejected.map((one) => one.entry).sort()).toStrictEqual(["0.0.0.0/0", "10.0.0.2"]);
  });
});

describe("An entry of a feed that a guard refuses", () => {
  const instance = anInstance({ guards: { neverBlock: ["192.0.2.7"] } });
  const origins = [anOrigin("198.51.100.7")];

  test("is reported, with spec.except as the only remedy, and is no fault of the rule", () => {
    const rules = [feedRule(["192.0.2.0/24", "198.51.100.7", "2.0.0.0/7", "203.0.113.1"])];
    const [rule] = desiredOf({ instance, origins, rules }).rules;
    expect(rule).toMatchObject({ verdict: "Accepted", message: "" });
    expect([...(rule?.entries ?? [])]).toStrictEqual(["203.0.113.1"]);
    const reachable = "which must stay reachable (spec.guards.neverBlock of the instance, or a declared origin)";
    expect(rule?.rejected.map(({ message }) => message)).toStrictEqual([
      `192.0.2.0/24 overlaps 192.0.2.7, ${reachable}: add 192.0.2.7 to spec.except of the rule.`,
      `198.51.100.7 overlaps 198.51.100.7, ${reachable}.`,
      expect.stringMatching(/^2\.0\.0\.0\/7 is wider than \/8, .* of the instance\.$/),
    ]);
  });

  test("does not hide a fault of the rule itself", () => {
    const [rule] = desiredOf({ instance, origins, rules: [feedRule(["198.51.100.7"], ["192.0.2.7"])] }).rules;
    expect(rule).toMatchObject({
      verdict: "InvalidEntries",
      message: expect.stringMatching(/^1 entry is not applied/),
    });
    expect(rule?.rejected).toHaveLength(2);
  });
});

test("An entry that a changed guard refuses is removed if wafsync added it, and counts as a removal", () => {
  const rules = [blocking("a", ["10.0.0.0/8", "192.0.2.1"])];
  const owned = ["10.0.0.0/8", "192.0.2.1"];
  expect(operationsOf(recorded(owned, { rules }))).toStrictEqual(["blocklist -10.0.0.0/8"]);
  const held = planOf(recorded(owned, { rules, instance: anInstance({ guards: { maxRemovals: 0 } }) }));
  expect(held.operations).toStrictEqual([]);
  expect(held.held?.removals.blocklist.map(({ entry }) => entry)).toStrictEqual(["10.0.0.0/8"]);
});

describe("A Block entry around an address that must stay reachable", () => {
  test("is rejected, and the message says what to add to spec.except", () => {
    const instance = anInstance({ guards: { neverBlock: ["192.0.2.5", "192.0.2.7"] } });
    const [rule] = desiredOf({ instance, rules: [blocking("a", ["192.0.2.0/29"])] }).rules;
    expect(rule).toMatchObject({ verdict: "InvalidEntries" });
    expect(rule?.rejected[0]?.message).toBe(
      "192.0.2.0/29 overlaps 192.0.2.5, which must stay reachable (spec.guards.neverBlock of the instance, or a declared origin): add 192.0.2.5, 192.0.2.7 to spec.except of the rule.",
    );
  });

  test("is accepted once spec.except leaves out the network, or the address of the origin", () => {
    const instance = anInstance({ guards: { neverBlock: ["192.0.2.5"] } });
    const except = ["192.0.2.5", "198.51.100.1"];
    const rules = [blocking("a", ["192.0.2.0/29", "198.51.100.0/31"], { except })];
    const desired = desiredOf({ instance, origins: [anOrigin("198.51.100.1")], rules });
    expect(desired.rules[0]).toMatchObject({ verdict: "Accepted", rejected: [] });
    const left = ["192.0.2.0/30", "192.0.2.4", "192.0.2.6/31", "198.51.100.0"];
    expect([...desired.lists.blocklist.keys()]).toStrictEqual(left);
  });

  test("is rejected if more than 256 networks would be left of it", () => {
    const except = addresses(514).filter((_, index) => index % 2 === 0);
    const rules = [blocking("fits", ["198.18.0.0/23"], { except }), blocking("not", ["198.18.0.0/22"], { except })];
    const desired = desiredOf({ rules });
    expect(desired.lists.blocklist.size).toBe(256);
    expect(desired.rules.map(({ message }) => message)).toStrictEqual([
      "",
      "1 entry is not applied. spec.addresses[0]: 198.18.0.0/22 would become more than 256 networks without the networks in spec.except: write narrower networks.",
    ]);
  });

  test("has to be removed from its rule if it is inside the network", () => {
    const instance = anInstance({ guards: { neverBlock: ["192.0.2.0/25"] } });
    const [rule] = desiredOf({ instance, rules: [blocking("a", ["192.0.2.7"])] }).rules;
    expect(rule?.message).toContain("remove it from the rule");
  });
});
