// The status of a rule without entries, with rejected or expired entries, and with entries that were already on the list.
import { describe, expect, test } from "@jest/globals";
import type { ResourceMeta } from "../../../src/model/resource.ts";
import { addresses, allowing, anInstance, aRule, blocking, createdMs } from "../../support/builders/declare.ts";
import { messageFaults } from "../../support/worlds/conformance.ts";
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

describe("A rule without entries", () => {
  test("is not Ready, and says what to write", async () => {
    const world = await converged({ rules: [blocking("empty", [])] });
    expect(world.status.condition(metaOf(world), "Accepted")).toBe("False InvalidEntries");
    expect(readyOf(world)).toBe("False InvalidEntries");
    expect(messageOf(world)).toBe(
      "The rule declares no entries: write addresses or networks into spec.addresses, name ConfigMaps in spec.addressesFrom, or delete the rule.",
    );
  });

  test.each([
    [["# none\n"], "because ConfigMap edge/list-0, key list is empty: write"],
    [["", "\n", ""], "because ConfigMap edge/list-0, key list and 2 more of spec.addressesFrom are empty: write"],
  ])("names its empty sources %j", async (texts, part) => {
    const world = await converged({ rules: [aRule("empty", { texts })] });
    expect(readyOf(world)).toBe("False InvalidEntries");
    expect(messageOf(world)).toContain(part);
  });

  test("is Ready as soon as it has one", async () => {
    const world = await converged({ rules: [blocking("empty", [])] });
    world.declare({ rules: [blocking("empty", ["192.0.2.1"], { meta: { generation: 2 } })] });
    await world.pass();
    expect(readyOf(world)).toBe("True Synced");
  });
});

describe("The progress of a rule", () => {
  test("counts rejected entries among the declared ones", async () => {
    const world = await converged({ rules: [blocking("a", ["192.0.2.1", "nonsense", "10.0.0.0/8"])] });
    expect(world.status.read(metaOf(world))).toMatchObject({
      progress: "1/3",
      entries: { desired: 1, synced: 1, rejected: 2 },
    });
  });

  test("matches its message, its event and its counts", async () => {
    const world = await converged({
      rules: [
        allowing("older", ["192.0.2.9"], { meta: { createdAtMs: createdMs - 1 } }),
        blocking("a", ["192.0.2.1", "nonsense", "10.0.0.0/8", "192.0.2.9"]),
      ],
    });
    expect(world.status.read(metaOf(world, 1))).toMatchObject({ progress: "1/4", entries: { rejected: 3 } });
    expect(world.status.message(metaOf(world, 1), "Accepted")).toMatch(/^3 entries are not applied\. /u);
    const event = world.status.events.find(({ reason }) => reason === "InvalidEntries");
    expect(event?.message).toMatch(/^3 entries are not applied\. /u);
  });
});

describe("An expired rule", () => {
  async function expired(world: ConvergeWorld): Promise<void> {
    await world.pass();
    await world.clock.advance(2 * hour);
    await world.pass();
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

  test("reports that the removal of its entries is on hold", async () => {
    const instance = anInstance({ guards: { maxRemovals: 1 } });
    const rules = [blocking("a", addresses(3), { expiresAtMs: inAnHour })];
    const world = new ConvergeWorld({ declared: { instance, rules } });
    await expired(world);
    expect(readyOf(world)).toBe("False Held");
    expect(messageOf(world)).toBe(
      "The rule expired at 2026-01-01T01:00:00Z, and 3 of its entries are still on the blocklist: removals are on hold. See the condition RemovalsHeld of the instance.",
    );
  });

  test("reports that its entries stay while the instance is suspended", async () => {
    const rules = [blocking("a", ["192.0.2.1"], { expiresAtMs: inAnHour })];
    const world = await converged({ rules });
    world.declare({ instance: anInstance({ suspend: true, meta: { generation: 2 } }) });
    await world.clock.advance(2 * hour);
    await world.pass();
    expect(readyOf(world)).toBe("Unknown Suspended");
    expect(messageOf(world)).toBe(
      "The rule expired at 2026-01-01T01:00:00Z, and 1 of its entries is still on the blocklist; the instance is suspended.",
    );
  });

  test("reports that an entry of another writer stays", async () => {
    const rules = [blocking("a", ["192.0.2.1", "192.0.2.2"], { expiresAtMs: inAnHour })];
    const world = new ConvergeWorld({ declared: { rules } });
    world.waf.lists.blocklist.push("192.0.2.1");
    await expired(world);
    expect(world.waf.lists.blocklist).toStrictEqual(["192.0.2.1"]);
    expect(messageOf(world)).toBe(
      "The rule expired at 2026-01-01T01:00:00Z; it no longer declares entries. 1 of its entries stays on the blocklist: another writer added it.",
    );
    expect(world.status.read(metaOf(world))).toMatchObject({ entries: { foreign: 1 } });
  });
});

describe("A rule whose entries were already on the list", () => {
  test.each([
    [["192.0.2.1"], ["192.0.2.1"], "The entry is on the blocklist. It was added by another writer, and stays on the"],
    [
      addresses(3),
      addresses(1),
      "All 3 entries are on the blocklist. 1 of them was added by another writer, and stays",
    ],
    [
      addresses(3),
      addresses(2),
      "All 3 entries are on the blocklist. 2 of them were added by another writer, and stay",
    ],
  ])("says of %j that %j stay", async (declared, foreign, part) => {
    const world = new ConvergeWorld({ declared: { rules: [blocking("a", declared)] } });
    world.waf.lists.blocklist.push(...foreign);
    await world.pass();
    expect(readyOf(world)).toBe("True Synced");
    expect(messageOf(world)).toContain(part);
    expect(messageOf(world)).toMatch(/ on the blocklist when the rule expires or is deleted\.$/u);
    expect(world.status.read(metaOf(world))).toMatchObject({ entries: { foreign: foreign.length } });
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
  const from = (...names: readonly string[]) =>
    names.map((name) => ({ kind: "ConfigMap", namespace: "edge", name, key: "list" }) as const);

  test("are listed with the number of valid entries", async () => {
    const missing = { state: "Missing", source: "ConfigMap edge/c, key list", problem: "There is none." } as const;
    const rule = aRule("feed", {
      addressesFrom: from("a", "b", "c"),
      texts: ["192.0.2.1\n192.0.2.2\nnonsense\n", "# none\n", missing],
    });
    const world = await converged({ rules: [rule] });
    expect(world.status.read(metaOf(world))?.["sources"]).toStrictEqual([
      { configMap: "a", key: "list", entries: 2 },
      { configMap: "b", key: "list", entries: 0 },
      { configMap: "c", key: "list" },
    ]);
  });

  test("are listed as far as there is room", async () => {
    const names = Array.from({ length: 64 }, (_, index) => `${"n".repeat(250)}${index}`);
    const texts = names.map((_, index) => `192.0.2.${index}\n`);
    const rule = aRule("feed", { addressesFrom: from(...names), texts });
    const world = await converged({ rules: [rule] });
    expect(world.status.read(metaOf(world))?.["sources"]).toHaveLength(5);
  });
});

test("The message about what is kept consists of sentences, regardless of the reasons", async () => {
  const world = await converged({ rules: [blocking("a", ["192.0.2.1"])] });
  world.declare({ rules: [], brokenSources: ["b.yaml:3: spec: is missing", "c.yaml:1: is no YAML"] });
  await world.pass();
  const told = world.status.events.find(({ reason }) => reason === "SourceBroken");
  expect(told?.message).toContain(
    "wafsync keeps 1 entry on the blocklist (192.0.2.1), last declared by WafIpRule edge/a: b.yaml:3: spec: is missing. There is 1 more such problem.",
  );
  expect(messageFaults(told?.message ?? "")).toStrictEqual([]);
});
