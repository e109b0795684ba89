// The status of a rule without entries, with rejected or expired entries, and with entries that were already on the list.
import { describe, expect, test } from "@jest/globals";
import type { ResourceMeta } from "../../../src/model/resource.ts";
import {
  addresses,
  allowing,
  anInstance,
  aRule,
  blocking,
  createdMs,
  mapSource,
} from "../../support/builders/declare.ts";
import { ConvergeWorld, converged } from "../../support/worlds/converge-world.ts";

const hour = 3_600_000;
const inAnHour = createdMs + 2 * hour;

function metaOf(world: ConvergeWorld, rule = 0): ResourceMeta {
  return world.declared().rules[rule]!.rule.meta;
}

function readyOf(world: ConvergeWorld): string | undefined {
  return world.status.condition(metaOf(world), "Ready");
}

function messageOf(world: ConvergeWorld): string {
  return world.status.message(metaOf(world), "Ready");
}

test("A rule without entries is not Ready, and says what to write", async () => {
  const world = await converged({ rules: [blocking("empty", [])] });
  expect(world.status.condition(metaOf(world), "Accepted")).toBe("False InvalidEntries");
  expect(readyOf(world)).toBe("False InvalidEntries");
  expect(messageOf(world)).toBe(
    "The rule declares no entries: write addresses or networks into spec.addresses, name ConfigMaps in spec.addressesFrom, or delete the rule.",
  );
});

describe("The progress of a rule", () => {
  test("counts rejected entries among the declared ones, and matches its message and its event", async () => {
    const older = allowing("older", ["192.0.2.9"], { meta: { createdAtMs: createdMs - 1 } });
    const rules = [older, blocking("a", ["192.0.2.1", "nonsense", "10.0.0.0/8", "192.0.2.9"])];
    const world = await converged({ rules });
    const entries = { desired: 1, synced: 1, rejected: 3 };
    expect(world.status.read(metaOf(world, 1))).toMatchObject({ progress: "1/4", entries });
    expect(world.status.message(metaOf(world, 1), "Accepted")).toMatch(/^3 entries are not applied\. /u);
    const event = world.status.events.find(({ reason }) => reason === "InvalidEntries");
    expect(event?.message).toMatch(/^3 entries are not applied\. /u);
  });
});

describe("An expired rule", () => {
  async function expired(world: ConvergeWorld): Promise<void> {
    await world.pass();
    await world.passAfter(2 * hour);
  }

  test("is Ready with the reason Expired, and its progress is expired", async () => {
    const rules = [blocking("a", ["192.0.2.1", "nonsense"], { expiresAtMs: inAnHour })];
    const world = new ConvergeWorld({ declared: { rules } });
    await expired(world);
    expect(world.waf.lists.blocklist).toStrictEqual([]);
    expect(readyOf(world)).toBe("True Expired");
    expect(messageOf(world)).toBe("The rule expired at 2026-01-01T01:00:00Z; it no longer declares entries.");
    expect(world.status.read(metaOf(world))).toMatchObject({ progress: "expired", rejected: [] });
  });

  test("reports that an entry of another writer stays", async () => {
    const rules = [blocking("a", ["192.0.2.1", "192.0.2.2"], { expiresAtMs: inAnHour })];
    const world = new ConvergeWorld({ declared: { rules } });
    world.waf.lists.blocklist.push("192.0.2.1");
    await expired(world);
    expect(world.waf.lists.blocklist).toStrictEqual(["192.0.2.1"]);
    expect(messageOf(world)).toBe(
      "The rule expired at 2026-01-01T01:00:00Z; it no longer declares entries. Another writer added 1 of the entries, which stays on the blocklist without the rule.",
    );
    expect(world.status.read(metaOf(world))).toMatchObject({ entries: { foreign: 1 } });
  });
});

describe("A rule whose entries were already on the list", () => {
  test.each([
    [1, 1, "The entry is on the blocklist. Another writer added 1 of the entries, which stays on the"],
    [3, 1, "All 3 entries are on the blocklist. Another writer added 1 of the entries, which stays"],
    [3, 2, "All 3 entries are on the blocklist. Another writer added 2 of the entries, which stay"],
  ])("says of %d entries that %d stay", async (declared, foreign, part) => {
    const world = new ConvergeWorld({ declared: { rules: [blocking("a", addresses(declared))] } });
    world.waf.lists.blocklist.push(...addresses(foreign));
    await world.pass();
    expect(readyOf(world)).toBe("True Synced");
    expect(messageOf(world)).toContain(part);
    expect(messageOf(world)).toMatch(/ on the blocklist without the rule\.$/u);
    expect(world.status.read(metaOf(world))).toMatchObject({ entries: { foreign } });
  });

  test("does not report them if the policy is Exclusive", async () => {
    const instance = anInstance({ policies: { blocklist: "Exclusive" } });
    const world = new ConvergeWorld({ declared: { instance, rules: [blocking("a", ["192.0.2.1"])] } });
    world.waf.lists.blocklist.push("192.0.2.1");
    await world.pass();
    expect(messageOf(world)).toBe("The entry is on the blocklist.");
  });
});

describe("The sources of a rule", () => {
  const from = (...names: readonly string[]) => names.map((name) => mapSource(`edge/${name}`));

  test("are listed with the number of valid entries", async () => {
    const missing = { state: "Missing", source: mapSource("edge/c"), problem: "There is none." } as const;
    const rule = aRule("feed", {
      addressesFrom: from("list-0", "list-1", "c"),
      texts: ["192.0.2.1\n192.0.2.2\nnonsense\n", "# none\n", missing],
    });
    const world = await converged({ rules: [rule] });
    expect(world.status.read(metaOf(world))?.["sources"]).toStrictEqual([
      { configMap: "list-0", key: "list", entries: 2 },
      { configMap: "list-1", key: "list", entries: 0 },
      { configMap: "c", key: "list" },
    ]);
  });
});
