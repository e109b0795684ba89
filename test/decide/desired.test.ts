import { describe, expect, test } from "@jest/globals";
import type { LabelSelector } from "../../src/model/declared.ts";
import { matchesSelector } from "../../src/model/gathered.ts";
import { compileDesired } from "../../src/decide/desired.ts";
import { readAddressLines } from "../../src/decide/compiled-rule.ts";
import {
  addresses,
  allowing,
  anInstance,
  anOrigin,
  aRule,
  blocking,
  createdMs,
  openGrant,
  mapSource,
} from "../support/builders/declare.ts";
import { anInventory, desiredOf, entry, gathered, nowMs } from "../support/builders/gathered.ts";

const source = mapSource("edge/feed");
const missing = { state: "Missing", source, problem: "ConfigMap edge/feed does not exist." } as const;

describe("A compiled rule", () => {
  test("declares each of its entries once, in canonical form, from its spec and its ConfigMaps", () => {
    const rule = aRule("feed", {
      addresses: ["2001:DB8::A", "192.0.2.1"],
      texts: ["# scanners\n192.0.2.1/32 # again\n\n  198.51.100.0/24\r\n"],
    });
    const [compiled] = desiredOf({ rules: [rule] }).rules;
    expect(compiled?.verdict).toBe("Accepted");
    expect([...(compiled?.entries ?? [])]).toStrictEqual(["2001:db8::a", "192.0.2.1", "198.51.100.0/24"]);
  });

  test("keeps its valid entries if others are invalid, and reports the positions of the invalid ones", () => {
    const rule = aRule("feed", { addresses: ["192.0.2.1", "198.51.100.7/24"], texts: ["192.0.2.2\nnonsense\n"] });
    const { rules } = desiredOf({ rules: [rule] });
    expect(rules[0]).toMatchObject({ verdict: "InvalidEntries" });
    expect([...(rules[0]?.entries ?? [])]).toStrictEqual(["192.0.2.1", "192.0.2.2"]);
    expect(rules[0]?.rejected.map(({ source }) => source)).toStrictEqual([
      "spec.addresses[1]",
      "ConfigMap edge/list-0, key list, line 2",
    ]);
    expect(rules[0]?.message).toMatch(/^2 entries are not applied\. spec\.addresses\[1\]: .*\.$/u);
  });

  test("shows no line of a Secret that is not an address", () => {
    const secret = {
      state: "Read",
      source: { ...source, kind: "Secret" },
      text: "192.0.2.1 # hunter2\nhunter2\n",
    } as const;
    const [rule] = desiredOf({ rules: [aRule("feed", { texts: [secret] })] }).rules;
    expect([...(rule?.entries ?? [])]).toStrictEqual(["192.0.2.1"]);
    expect(rule).toMatchObject({ verdict: "InvalidEntries", message: expect.stringContaining("key list, line 2") });
    const said = [rule?.message, rule?.rejected, [...(rule?.parts[0]?.notes ?? [])]];
    expect(JSON.stringify(said)).not.toContain("hunter2");
  });

  test("with many missing ConfigMaps names the first of them", () => {
    const texts = addresses(64).map((_, index) => ({ ...missing, problem: `There is no ConfigMap ${index}.` }));
    const [rule] = desiredOf({ rules: [aRule("feed", { texts })] }).rules;
    expect(rule?.message).toMatch(/^There is no ConfigMap 0\. .* There is no ConfigMap 7\. 56 more are missing\.$/u);
  });

  test("with a missing ConfigMap keeps its other entries", () => {
    const rule = allowing("feed", ["192.0.2.1"], { texts: [missing] });
    const { rules } = desiredOf({ rules: [rule] });
    expect(rules[0]).toMatchObject({ verdict: "SourceMissing", message: "ConfigMap edge/feed does not exist." });
    expect(rules[0]?.entries.size).toBe(1);
  });

  test("in a namespace with unknown labels declares nothing", () => {
    const selector = { matchLabels: { team: "shop" }, matchExpressions: [] };
    const instance = anInstance({ access: [{ ...openGrant, namespaces: { from: "Selector", selector } }] });
    const rules = [blocking("other/feed", ["192.0.2.1"])];
    const ofTeam = (team: string) => new Map([["other", { team }]]);
    const withLabels = (labels = new Map()) => desiredOf({ instance, rules, namespaceLabels: labels }).rules[0];
    expect([withLabels()?.verdict, withLabels(ofTeam("shop"))?.verdict]).toStrictEqual(["NotAllowed", "Accepted"]);
    // The guest must not learn the labels that the owner requires.
    expect(withLabels(ofTeam("news"))?.message).not.toContain("team=shop");
  });

  test("with ten thousand invalid lines says so in one sentence", () => {
    const text = Array.from({ length: 10_000 }, (_, index) => `nonsense-${index}`).join("\n");
    const declared = gathered({ rules: [aRule("feed", { texts: [text] })] });
    const { rules, unread } = compileDesired(declared, nowMs, anInventory());
    expect(unread.blocklist?.reason).toContain("line 1 (and 9999 more)");
    expect(rules[0]?.message.length).toBeLessThan(300);
  });
});

describe("The expiry of a rule", () => {
  test.each([
    ["expiresAt in the future", { expiresAtMs: nowMs + 1 }, false, nowMs + 1],
    ["expiresAt at the current time", { expiresAtMs: nowMs }, true, nowMs],
    ["a ttl that has not passed", { ttlMs: nowMs - createdMs + 5 }, false, nowMs + 5],
    ["a ttl that has passed", { ttlMs: 1_000 }, true, createdMs + 1_000],
    ["the earlier of both", { ttlMs: nowMs - createdMs + 5, expiresAtMs: nowMs + 3 }, false, nowMs + 3],
    ["neither", {}, false, undefined],
  ] as const)("is determined by %s", (_what, time, expired, expiresAtMs) => {
    const desired = desiredOf({ rules: [blocking("now", ["192.0.2.1"], time)] });
    expect(desired.rules[0]).toMatchObject({ expired, expiresAtMs });
    expect(desired.rules[0]?.entries.size).toBe(expired ? 0 : 1);
    expect(desired.nextExpiryMs).toBe(expired ? undefined : expiresAtMs);
  });

  test("with the earliest time determines the next run", () => {
    const at = (name: string, expiresAtMs: number) => blocking(name, ["192.0.2.1"], { expiresAtMs });
    const rules = [at("a", nowMs + 9), at("b", nowMs + 4), at("c", nowMs - 4)];
    expect(desiredOf({ rules }).nextExpiryMs).toBe(nowMs + 4);
  });

  test("is immediate once its deletion was requested", () => {
    const desired = desiredOf({ rules: [blocking("old", ["192.0.2.1"], { meta: { deleting: true } })] });
    expect(desired.lists.blocklist.size).toBe(0);
  });
});

describe("The guards on single entries", () => {
  const instance = anInstance({ guards: { neverBlock: ["192.0.2.0/24", "2001:db8::1"] } });

  test.each(["192.0.2.7", "192.0.2.0/24", "192.0.2.0/23", "2001:db8::/32"])("refuse to block %s", (text) => {
    const { rules } = desiredOf({ instance, rules: [blocking("a", [text, "203.0.113.9"])] });
    const rejected = [{ entry: entry(text), source: "spec.addresses[0]" }];
    expect(rules[0]).toMatchObject({ verdict: "InvalidEntries", rejected, entries: new Set(["203.0.113.9"]) });
    expect(rules[0]?.message).toContain("must stay reachable");
  });

  test("accept the same networks in Allow rules, and others in Block rules", () => {
    const declared = [allowing("a", ["192.0.2.7"]), blocking("b", ["192.0.3.0/24", "2001:db8::2"])];
    const { rules } = desiredOf({ instance, rules: declared });
    expect(rules.map(({ verdict }) => verdict)).toStrictEqual(["Accepted", "Accepted"]);
  });

  test("count the addresses of declared origins as listed, but not of those that are not attached", () => {
    const own = ["198.51.100.7", "2001:db8::7", "www.example"].map((host) => anOrigin(host));
    const origins = [...own, anOrigin("198.51.100.9", { name: "other/far" })];
    const declared = [blocking("a", ["198.51.100.0/29", "2001:db8::/64", "198.51.100.9"])];
    const { rules } = desiredOf({ instance: anInstance({ access: [] }), origins, rules: declared });
    expect(rules[0]?.rejected.map((item) => item.entry)).toStrictEqual(["198.51.100.0/29", "2001:db8::/64"]);
  });

  test.each([
    ["202.0.0.0/7", "203.0.0.0/8", "Block", "minPrefixLength.ipv4"],
    ["203.0.0.0/15", "203.0.0.0/16", "Allow", "allowMinPrefixLength.ipv4"],
    ["2600::/15", "2600::/16", "Block", "minPrefixLength.ipv6"],
    ["2600::/31", "2600::/32", "Allow", "allowMinPrefixLength.ipv6"],
  ] as const)("refuse %s for its width and accept %s (%s) by %s", (text, fitting, action, field) => {
    const [wide] = desiredOf({ rules: [aRule("wide", { action, addresses: [text] })] }).rules;
    expect(wide?.verdict).toBe("InvalidEntries");
    const widest = `${text} is wider than /${fitting.split("/")[1]}, the limit in spec.guards.${field}`;
    expect(wide?.message).toContain(widest);
    expect(desiredOf({ rules: [aRule("fits", { action, addresses: [fitting] })] }).rules[0]?.verdict).toBe("Accepted");
  });

  test("that are invalid are a fault of the instance", () => {
    const invalid = anInstance({ guards: { neverBlock: ["192.0.2.0/24", "nonsense"] } });
    const fault = expect.stringMatching(/^spec\.guards\.neverBlock\[1\]: .*\.$/u);
    expect(desiredOf({ instance: invalid }).instanceFaults).toStrictEqual([fault]);
  });
});

describe("The same entry in Block and in Allow", () => {
  const older = { meta: { createdAtMs: createdMs - 1 } };

  test("belongs to the older rule, whatever its action, and the younger one reports a conflict", () => {
    for (const first of [blocking, allowing]) {
      const second = first === blocking ? allowing : blocking;
      const rules = [second("young", ["192.0.2.1/32", "192.0.2.2"]), first("old", ["192.0.2.1"], older)];
      const [old, young] = desiredOf({ rules }).rules;
      expect(old).toMatchObject({ id: "edge/old", verdict: "Accepted" });
      expect(young).toMatchObject({ id: "edge/young", verdict: "Conflict", entries: new Set(["192.0.2.2"]) });
      expect(young?.message).toContain("192.0.2.1 is also in WafIpRule edge/old");
    }
  });

  test("belongs to the first by name if the ages are unknown", () => {
    const meta = { createdAtMs: undefined };
    const rules = [blocking("b", ["192.0.2.1"], { meta }), allowing("a", ["192.0.2.1"], { meta })];
    const desired = desiredOf({ rules });
    expect([...desired.lists.allowlist.keys()]).toStrictEqual(["192.0.2.1"]);
    expect(desired.lists.blocklist.size).toBe(0);
  });

  test("is no conflict if the older rule has expired, had it rejected, or is not attached", () => {
    const one = ["192.0.2.1"];
    const strict = anInstance({ guards: { neverBlock: one }, access: [] });
    for (const [old, instance] of [
      [blocking("old", one, { ...older, expiresAtMs: nowMs }), anInstance()],
      [blocking("old", one, older), strict],
      [blocking("other/old", one, older), strict],
    ] as const) {
      const { rules } = desiredOf({ instance, rules: [old, allowing("young", one)] });
      expect(rules.at(-1)?.verdict).toBe("Accepted");
    }
  });

  test("does not replace a worse verdict, but the rule still loses the entry", () => {
    const rules = [blocking("a", ["192.0.2.1"], older), allowing("b", ["192.0.2.1", "nonsense"])];
    const desired = desiredOf({ rules });
    expect(desired.rules[1]).toMatchObject({ verdict: "InvalidEntries" });
    expect(desired.rules[1]?.rejected).toHaveLength(2);
    expect(desired.lists.allowlist.size).toBe(0);
  });
});

test("Origins with the same host have the type of the oldest", () => {
  const old = anOrigin("a.example", { name: "old", type: "Backup", meta: { createdAtMs: createdMs - 1 } });
  const desired = desiredOf({
    origins: [anOrigin("a.example", { name: "young" }), anOrigin("a.example", { name: "same", type: "Backup" }), old],
  });
  expect(desired.origins.get("a.example")).toBe(old);
  expect(desired.compiledOrigins.map(({ origin, verdict }) => [origin.meta.name, verdict])).toStrictEqual([
    ["old", "Accepted"],
    ["same", "Accepted"],
    ["young", "Conflict"],
  ]);
});

describe("A label selector", () => {
  const term = (operator: "In" | "NotIn" | "Exists" | "DoesNotExist", values: string[] = []): LabelSelector => ({
    matchLabels: {},
    matchExpressions: [{ key: "team", operator, values }],
  });

  test.each([
    ["In", term("In", ["a", "b"]), { team: "b" }, true],
    ["In", term("In", ["a"]), {}, false],
    ["NotIn", term("NotIn", ["a"]), {}, true],
    ["NotIn", term("NotIn", ["a"]), { team: "a" }, false],
    ["Exists", term("Exists"), { team: "" }, true],
    ["Exists", term("Exists"), {}, false],
    ["DoesNotExist", term("DoesNotExist"), {}, true],
    ["no terms", { matchLabels: {}, matchExpressions: [] }, {}, true],
    ["two labels", { matchLabels: { a: "1", b: "2" }, matchExpressions: [] }, { a: "1" }, false],
  ])("with %s matches as Kubernetes does", (_name, selector, labels, matches) => {
    expect(matchesSelector(selector, labels)).toBe(matches);
  });
});

test("Lines of a ConfigMap are counted from 1, including comments and blank lines, and have their comments as notes", () => {
  expect([...readAddressLines("\n# all\n 192.0.2.1 #x\u202e\r\n\t\n192.0.2.2")]).toStrictEqual([
    { text: "192.0.2.1", number: 3, note: String.raw`x\u202e` },
    { text: "192.0.2.2", number: 5, note: "" },
  ]);
});
