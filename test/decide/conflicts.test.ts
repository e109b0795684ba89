import { describe, expect, test } from "@jest/globals";
import { NetworkIndex } from "../../src/address/ranges.ts";
import { writeOwners } from "../../src/model/rule-id.ts";
import { overlappingOthers } from "../../src/decide/conflicts.ts";
import { compileDesired, type DesiredState } from "../../src/decide/desired.ts";
import { allowing, aRule, blocking, createdMs, feedSource } from "../support/builders/declare.ts";
import {
  anInventory,
  anOwnedEntry,
  entry,
  gathered,
  type InventoryOverrides,
  nowMs,
  observed,
  type ObservedOverrides,
} from "../support/builders/gathered.ts";
import { seededRandom } from "../support/builders/seeded-random.ts";

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

  const rules = [blocking("young", [one]), allowing("old", [one], older)];
  const holders = ({ lists }: DesiredState) => [...lists.blocklist.keys(), ...[...lists.allowlist].map(() => "Allow")];

  test.each(places)("that is managed, or that the lists show as unmanaged, %s", (_what, shown, winner) => {
    const expected = [winner === "blocklist" ? one : "Allow"];
    expect(holders(desiredWith({ rules: [...rules, blocking("third", [one])] }, shown))).toStrictEqual(expected);
    expect(holders(desiredWith({ rules }, {}, shown))).toStrictEqual(expected);
  });

  test.each(places)("that is recorded on the blocklist and shown %s stays blocked", (_what, shown, _winner) => {
    expect(holders(desiredWith({ rules }, { blocklist: [one], allowlist: [one] }, shown))).toStrictEqual([one]);
  });

  test("that another writer added to the other list stays where it is recorded", () => {
    expect(holders(desiredWith({ rules }, { blocklist: [one] }, { allowlist: [one] }))).toStrictEqual([one]);
  });

  test("is reported on the losing rule with the reason", () => {
    const named = [blocking("scanners", [one]), allowing("a-partner", [one], older)];
    const desired = desiredWith({ rules: named }, { blocklist: [one] });
    expect(desired.dependsOnManaged).toBe(true);
    expect(desired.rules.map(({ id, verdict }) => [id, verdict])).toStrictEqual([
      ["edge/a-partner", "Conflict"],
      ["edge/scanners", "Accepted"],
    ]);
    expect(desired.rules[0]?.message).toContain(
      `${one} is also in WafIpRule edge/scanners with action Block, which takes precedence: remove it from one of the two rules.`,
    );
  });

  test.each(["recorded", "only shown"])("belongs to the blocklist if a merged network there contains it: %s", (how) => {
    const isRecorded = how === "recorded";
    const hosts = ["192.0.2.0", "192.0.2.1"];
    const scanners = blocking("scanners", hosts, { aggregate: !isRecorded });
    const owners = writeOwners([{ kind: "WafIpRule", name: "edge/scanners", source: undefined }]);
    const merged = new Map([[entry("192.0.2.0/31"), anOwnedEntry({ owners, lines: 2 })]]);
    const entries = { blocklist: isRecorded ? merged : new Map(), allowlist: new Map() };
    const shown = observed({ blocklist: isRecorded ? [] : ["192.0.2.0/31"] });
    const declared = gathered({ rules: [allowing("office", ["192.0.2.1"], older), scanners] });
    const desired = compileDesired(declared, nowMs, { ...anInventory(), entries }, shown);
    expect(desired.rules.map(({ verdict }) => verdict)).toStrictEqual(["Conflict", "Accepted"]);
  });

  test("does not require the managed entries unless there is a conflict or a missing source", () => {
    const others = [blocking("a", [one]), allowing("b", ["192.0.2.2"])];
    expect(desiredWith({ rules: others }, {}).dependsOnManaged).toBe(false);
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

test("The index of other namespaces finds exactly the entries of other namespaces, like one index per namespace", () => {
  for (let seed = 1; seed <= 200; seed += 1) {
    const random = seededRandom(seed);
    const below = (limit: number): number => Math.floor(random() * limit);
    const anEntry = () => entry(random() < 0.3 ? `192.0.2.${below(4) * 64}/26` : `192.0.2.${below(256)}`);
    const namespaces = Array.from({ length: 1 + below(9) }, (_, index) => `team-${index}`);
    const aNamespace = (): string => namespaces[below(namespaces.length)] ?? "";
    const entries = Array.from({ length: below(30) }, () => ({ entry: anEntry(), namespace: aNamespace() }));
    for (const namespace of [...namespaces, "nobody"]) {
      const others = new NetworkIndex(entries.filter((of) => of.namespace !== namespace).map((of) => of.entry));
      const asked = anEntry();
      expect([seed, overlappingOthers(entries, [asked])(asked, namespace)]).toStrictEqual([
        seed,
        others.overlaps(asked) !== undefined,
      ]);
    }
  }
});
