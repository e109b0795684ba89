import { describe, expect, test } from "@jest/globals";
import { compileDesired } from "../../src/decide/desired.ts";
import { allowing, aRule, blocking, createdMs, feedSource } from "../support/builders/declare.ts";
import {
  anInventory,
  entry,
  gathered,
  type InventoryOverrides,
  nowMs,
  observed,
  type ObservedOverrides,
  ownedBy,
} from "../support/builders/gathered.ts";

const one = "192.0.2.1";
const older = { meta: { createdAtMs: createdMs - 1 } };

function desiredWith(rules: Parameters<typeof gathered>[0], managed: InventoryOverrides, shown?: ObservedOverrides) {
  return compileDesired(gathered(rules), nowMs, anInventory(managed), shown && observed(shown));
}

describe("An entry in Block and in Allow", () => {
  const places = [
    ["on the blocklist belongs there", { blocklist: [one] }, "blocklist"],
    ["on the allowlist belongs there", { allowlist: [one] }, "allowlist"],
    ["on both lists belongs on the blocklist", { blocklist: [one], allowlist: [one] }, "blocklist"],
    ["on neither list belongs to the older rule", {}, "allowlist"],
  ] as const;

  test.each(places)("that is managed %s", (_what, managed, winner) => {
    const rules = [blocking("young", [one]), allowing("old", [one], older), blocking("third", [one])];
    const { lists } = desiredWith({ rules }, managed);
    expect([lists.blocklist.has(one as never), lists.allowlist.has(one as never)]).toStrictEqual([
      winner === "blocklist",
      winner === "allowlist",
    ]);
  });

  test.each(places)("that the lists show as unmanaged %s", (_what, shown, winner) => {
    const rules = [blocking("young", [one]), allowing("old", [one], older)];
    const { lists } = desiredWith({ rules }, {}, shown);
    expect([...lists.blocklist.keys()]).toStrictEqual(winner === "blocklist" ? [one] : []);
    expect([...lists.allowlist.keys()]).toStrictEqual(winner === "allowlist" ? [one] : []);
  });

  test.each(places)("that is recorded on the blocklist and shown %s stays blocked", (_what, shown, _winner) => {
    const rules = [blocking("young", [one]), allowing("old", [one], older)];
    const { lists } = desiredWith({ rules }, { blocklist: [one], allowlist: [one] }, shown);
    expect([[...lists.blocklist.keys()], lists.allowlist.size]).toStrictEqual([[one], 0]);
  });

  test("that another writer added to the other list stays where it is recorded", () => {
    const rules = [blocking("young", [one]), allowing("old", [one], older)];
    const { lists } = desiredWith({ rules }, { blocklist: [one] }, { allowlist: [one] });
    expect([...lists.blocklist.keys()]).toStrictEqual([one]);
  });

  test("is reported on the losing rule with the reason", () => {
    const rules = [blocking("scanners", [one]), allowing("a-partner", [one], older)];
    const desired = desiredWith({ rules }, { blocklist: [one] });
    expect(desired.dependsOnManaged).toBe(true);
    expect(desired.rules.map(({ id, verdict }) => [id, verdict])).toStrictEqual([
      ["edge/a-partner", "Conflict"],
      ["edge/scanners", "Accepted"],
    ]);
    expect(desired.rules[0]?.message).toContain(
      `WafIpRule edge/scanners with action Block already has ${one} on the blocklist: remove it from one of the two rules.`,
    );
  });

  test.each(["recorded", "only shown"])("belongs to the blocklist if a merged network there contains it: %s", (how) => {
    const hosts = ["192.0.2.0", "192.0.2.1"];
    const rules = [
      allowing("office", ["192.0.2.1"], older),
      blocking("scanners", hosts, { aggregate: how === "only shown" }),
    ];
    const network = "192.0.2.0/31";
    const managed = anInventory({ blocklist: [ownedBy(network, ["edge/scanners"])] }).entries.blocklist;
    const merged = new Map([...managed].map(([one, record]) => [one, { ...record, lines: 2 }]));
    const isRecorded = how === "recorded";
    const owned = { blocklist: isRecorded ? merged : new Map(), allowlist: new Map() };
    const shown = observed({ blocklist: isRecorded ? [] : [network] });
    const desired = compileDesired(gathered({ rules }), nowMs, { ...anInventory(), entries: owned }, shown);
    expect(desired.rules.map(({ verdict }) => verdict)).toStrictEqual(["Conflict", "Accepted"]);
  });

  test("does not require the managed entries unless there is a conflict or a missing source", () => {
    expect(desiredWith({ rules: [blocking("a", [one]), allowing("b", ["192.0.2.2"])] }, {}).dependsOnManaged).toBe(
      false,
    );
  });

  test("is no fault of the rule whose feed lists it", () => {
    const threats = aRule("threats", {
      texts: [{ state: "Listed", source: feedSource("edge/threats"), entries: [entry(one)] }],
    });
    const winning = desiredWith({ rules: [allowing("partner", [one], older), threats] }, {});
    expect(winning.rules.map(({ id, verdict }) => [id, verdict])).toStrictEqual([
      ["edge/partner", "Accepted"],
      ["edge/threats", "Accepted"],
    ]);
    expect(winning.rules[1]?.rejected).toMatchObject([{ entry: one, isOfFeed: true }]);
    const losing = desiredWith({ rules: [threats, allowing("partner", [one])] }, { blocklist: [one] });
    expect(losing.rules.find(({ id }) => id === "edge/partner")?.verdict).toBe("Conflict");
  });
});
