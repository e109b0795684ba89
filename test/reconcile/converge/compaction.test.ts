import { describe, expect, test } from "@jest/globals";
import { readOwners } from "../../../src/model/entry-owners.ts";
import type { Compaction, ListSettings } from "../../../src/model/declared.ts";
import type { GatheredRule } from "../../../src/model/gathered.ts";
import type { WafIpRuleStatus } from "../../../src/api/waf-ip-rule.ts";
import { viewInstance } from "../../../src/cli/instance-view.ts";
import { planLines } from "../../../src/cli/print-plan.ts";
import { addresses, allowing, anInstance, blocking } from "../../support/builders/declare.ts";
import { entry } from "../../support/builders/gathered.ts";
import { crash } from "../../support/fakes/crash.ts";
import { ConvergeWorld } from "../../support/worlds/converge-world.ts";

const net = "203.0.113.0/24";
const inside = "203.0.113.7";
const guards = { maxRemovals: 1_000, maxRemovalPercent: 100 };

function instanceWith(settings: Partial<ListSettings>, others: Parameters<typeof anInstance>[0] = {}) {
  return anInstance({ guards, lists: { blocklist: settings }, ...others });
}

interface Declared {
  readonly rules: readonly GatheredRule[];
  readonly compaction?: Compaction;
  readonly maxEntries?: number;
  readonly guards?: Parameters<typeof anInstance>[0];
}

function declare(world: ConvergeWorld, { rules, compaction = "Covered", maxEntries, guards: more }: Declared): void {
  world.declare({ rules, instance: instanceWith({ compaction, maxEntries }, more) });
}

async function worldWith(declared: Declared): Promise<ConvergeWorld> {
  const world = new ConvergeWorld();
  declare(world, declared);
  await world.pass();
  return world;
}

/** The writes of one run, for example `AddEntry 203.0.113.7`. */
async function writesOf(world: ConvergeWorld): Promise<readonly string[]> {
  const before = world.waf.calls.length;
  await world.pass();
  const calls = world.waf.calls.slice(before).filter(({ name }) => name === "AddEntry" || name === "RemoveEntry");
  return calls.map(({ name, text }) => `${name} ${text}`);
}

function synced(world: ConvergeWorld, rule: string): string {
  return world.status.message(blocking(rule, []).rule.meta, "Synced");
}

describe("A declared entry inside another one", () => {
  const rules = [blocking("nets", [net]), blocking("hosts", [inside])];

  test("is not sent, counts as synced, and its rule names the entry that covers it", async () => {
    const world = await worldWith({ rules });
    expect(world.waf.lists.blocklist).toStrictEqual([net]);
    expect(synced(world, "hosts")).toContain(`Declared ${inside} is covered by ${net}, which is on the blocklist.`);
    const status = world.status.read(blocking("hosts", []).rule.meta) as Partial<WafIpRuleStatus>;
    expect(status).toMatchObject({ progress: "1/1", entries: { desired: 1, synced: 1, covered: 1 } });
  });

  test("is recorded with the entry that covers it, whose owners are the owners of both", async () => {
    const world = await worldWith({ rules });
    const record = world.owned().entries.blocklist.get(entry(net));
    expect(record?.standsFor).toStrictEqual([net, inside]);
    expect(readOwners(record?.owners ?? ("" as never)).map(({ name }) => name)).toStrictEqual([
      "edge/hosts",
      "edge/nets",
    ]);
  });

  test("is added before the entry that covers it is removed", async () => {
    const world = await worldWith({ rules });
    declare(world, { rules: [blocking("hosts", [inside])] });
    expect(await writesOf(world)).toStrictEqual([`AddEntry ${inside}`, `RemoveEntry ${net}`]);
  });

  test("is sent if the other entry expires earlier, so that nothing must be added then", async () => {
    const expiresAtMs = new ConvergeWorld().clock.nowMs() + 60_000;
    const world = await worldWith({ rules: [blocking("nets", [net], { expiresAtMs }), blocking("hosts", [inside])] });
    expect(world.waf.lists.blocklist.toSorted()).toStrictEqual([net, inside]);
    await world.clock.advance(60_000);
    expect(await writesOf(world)).toStrictEqual([`RemoveEntry ${net}`]);
  });

  test("is sent immediately if the API refuses the other entry", async () => {
    const world = new ConvergeWorld();
    world.waf.refusedTexts.add(net);
    declare(world, { rules: [...rules, blocking("others", addresses(30))] });
    const writes = await writesOf(world);
    expect(writes.slice(0, 2)).toStrictEqual([`AddEntry ${net}`, `AddEntry ${inside}`]);
    expect(writes).toHaveLength(32);
  });

  test("stays covered while the API refuses to add it, and the instance names the waiting removals", async () => {
    const world = await worldWith({ rules });
    world.waf.refusedTexts.add(inside);
    declare(world, { rules: [blocking("hosts", [inside])] });
    expect(await writesOf(world)).toStrictEqual([`AddEntry ${inside}`]);
    expect(world.waf.lists.blocklist).toStrictEqual([net]);
    expect(world.status.message(anInstance().meta, "Synced")).toContain(`1 removal waits for them (${net})`);
  });

  test("is sent if the other entry belongs to another namespace", async () => {
    const world = await worldWith({ rules: [blocking("guest/nets", [net]), blocking("hosts", [inside])] });
    expect(world.waf.lists.blocklist.toSorted()).toStrictEqual([net, inside]);
  });

  test("is sent if its rule retains it, and stays when both rules are deleted", async () => {
    const retained = blocking("hosts", [inside], { deletionPolicy: "Retain" });
    const world = await worldWith({ rules: [blocking("nets", [net]), retained] });
    expect(world.waf.lists.blocklist.toSorted()).toStrictEqual([net, inside]);
    declare(world, { rules: [] });
    await world.pass();
    expect(world.waf.lists.blocklist).toStrictEqual([inside]);
  });

  test("stays on the list if another writer added it, or if it was adopted", async () => {
    const world = new ConvergeWorld();
    world.waf.lists.blocklist.push(inside);
    const adopting = blocking("hosts", [inside], { meta: { annotations: { "wafsync.dev/adopt": "true" } } });
    declare(world, { rules: [blocking("nets", [net]), adopting] });
    expect(await writesOf(world)).toStrictEqual([`AddEntry ${net}`]);
    expect(await writesOf(world)).toStrictEqual([]);
    declare(world, { rules: [] });
    expect((await writesOf(world)).toSorted()).toStrictEqual([`RemoveEntry ${net}`, `RemoveEntry ${inside}`]);
  });

  test("is sent if only an unmanaged entry covers it", async () => {
    const world = new ConvergeWorld();
    world.waf.lists.blocklist.push(net);
    declare(world, { rules: [blocking("hosts", [inside])] });
    expect(await writesOf(world)).toStrictEqual([`AddEntry ${inside}`]);
  });

  test.each([
    ["is on the list for another namespace, too", true],
    ["is added for another namespace in the same plan", false],
  ])("the size of the list counts an entry once that is covered and %s", async (_what, isListed) => {
    // 4 of 13 entries are more than 30 %, and 4 of 14 are not.
    const strict = { guards: { maxRemovals: 1_000, maxRemovalPercent: 30 } };
    const kept = [blocking("nets", [net, inside]), blocking("hosts", addresses(7))];
    const guest = blocking("guest/hosts", [inside]);
    const gone = blocking("gone", ["192.0.2.101", "192.0.2.103", "192.0.2.105", "192.0.2.107"]);
    const world = await worldWith({ rules: [...kept, gone, ...(isListed ? [guest] : [])], guards: strict });
    expect(world.waf.lists.blocklist).toHaveLength(isListed ? 13 : 12);
    declare(world, { rules: [...kept, guest], guards: strict });
    expect(await writesOf(world)).toStrictEqual(isListed ? [] : [`AddEntry ${inside}`]);
    expect(world.status.condition(anInstance().meta, "RemovalsHeld")).toBe("True TooManyRemovals");
  });
});

describe("With Exact,", () => {
  const four = ["203.0.113.4", "203.0.113.5", "203.0.113.6", "203.0.113.7"];
  const merged = "203.0.113.4/30";

  test("adjacent entries need one call, and removing one of them makes additions before the removal", async () => {
    const world = await worldWith({ rules: [blocking("hosts", four)], compaction: "Exact" });
    expect(world.waf.lists.blocklist).toStrictEqual([merged]);
    declare(world, { rules: [blocking("hosts", four.slice(1))], compaction: "Exact" });
    expect(await writesOf(world)).toStrictEqual([
      "AddEntry 203.0.113.5",
      "AddEntry 203.0.113.6/31",
      `RemoveEntry ${merged}`,
    ]);
  });

  test("a change of the mode adds before it removes, and no guard counts the removals", async () => {
    const strict = { guards: { maxRemovals: 0, maxRemovalPercent: 0 } };
    const rules = [blocking("hosts", four)];
    const world = await worldWith({ rules, compaction: "None", guards: strict });
    expect(world.waf.lists.blocklist).toStrictEqual(four);
    declare(world, { rules, compaction: "Exact", guards: strict });
    expect(await writesOf(world)).toStrictEqual([`AddEntry ${merged}`, ...four.map((one) => `RemoveEntry ${one}`)]);
    declare(world, { rules, compaction: "Covered", guards: strict });
    expect(await writesOf(world)).toStrictEqual([...four.map((one) => `AddEntry ${one}`), `RemoveEntry ${merged}`]);
    expect(await writesOf(world)).toStrictEqual([]);
  });

  test("the guards count all entries that a merged entry represents", async () => {
    const strict = { guards: { maxRemovals: 3, maxRemovalPercent: 100 } };
    const world = await worldWith({ rules: [blocking("hosts", four)], compaction: "Exact", guards: strict });
    declare(world, { rules: [], compaction: "Exact", guards: strict });
    expect(await writesOf(world)).toStrictEqual([]);
    expect(world.status.message(anInstance().meta, "RemovalsHeld")).toContain(merged);
  });

  test("an Allow rule does not lift the block of a part that a merged entry blocks", async () => {
    // The Allow rule is older, so the block has precedence only because it is on the list.
    const hosts = blocking("hosts", four, { meta: { createdAtMs: 2 } });
    const world = await worldWith({ rules: [hosts], compaction: "Exact" });
    const allow = allowing("office", [inside], { meta: { createdAtMs: 1 } });
    declare(world, { rules: [hosts, allow], compaction: "Exact" });
    expect(await writesOf(world)).toStrictEqual([]);
    expect(world.waf.lists.blocklist).toStrictEqual([merged]);
  });

  test("a crash between the additions and the removal uncovers nothing", async () => {
    const world = await worldWith({ rules: [blocking("hosts", four)], compaction: "Exact" });
    declare(world, { rules: [blocking("hosts", four.slice(1))], compaction: "Exact" });
    world.waf.onCall = ({ text }) => {
      if (text === merged) throw crash("before the removal");
    };
    await world.passOrCrash();
    expect(world.waf.lists.blocklist).toContain(merged);
    world.waf.onCall = undefined;
    world.restart();
    await world.pass();
    expect(world.waf.lists.blocklist.toSorted()).toStrictEqual(["203.0.113.5", "203.0.113.6/31"]);
  });
});

describe("A list with a limit", () => {
  test("leaves out entries of the lowest priority first, then the most recently declared ones, and reports this", async () => {
    const rules = [
      blocking("old", ["192.0.2.1", "192.0.2.3"], { meta: { createdAtMs: 1 } }),
      blocking("new", ["192.0.2.5", "192.0.2.7"], { meta: { createdAtMs: 2 } }),
      blocking("urgent", ["192.0.2.9"], { priority: 5, meta: { createdAtMs: 3 } }),
    ];
    const world = await worldWith({ rules, maxEntries: 4 });
    expect(world.waf.lists.blocklist.toSorted()).toStrictEqual(["192.0.2.1", "192.0.2.3", "192.0.2.5", "192.0.2.9"]);
    expect(world.status.condition(rules[1]!.rule.meta, "Synced")).toBe("False CapacityExceeded");
    expect(synced(world, "new")).toContain("1 of 2 entries are on the blocklist; 1 entry (192.0.2.7) does not fit");
    expect(world.status.condition(anInstance().meta, "Synced")).toBe("False CapacityExceeded");
    expect(world.status.events.map(({ reason }) => reason)).toContain("CapacityExceeded");
    expect(world.status.condition(rules[0]!.rule.meta, "Synced")).toBe("True Synced");
  });

  test("replaces a less urgent entry by a more urgent one, and no other", async () => {
    const old = blocking("old", ["192.0.2.1", "192.0.2.3"]);
    const world = await worldWith({ rules: [old], maxEntries: 2 });
    declare(world, { rules: [old, blocking("later", ["192.0.2.5"])], maxEntries: 2 });
    expect(await writesOf(world)).toStrictEqual([]);
    declare(world, { rules: [old, blocking("urgent", ["192.0.2.5"], { priority: 5 })], maxEntries: 2 });
    expect(await writesOf(world)).toStrictEqual(["RemoveEntry 192.0.2.3", "AddEntry 192.0.2.5"]);
  });

  test("counts the entries of other writers, and evicts none of them", async () => {
    const world = new ConvergeWorld();
    world.waf.lists.blocklist.push("198.51.100.1", "198.51.100.2");
    declare(world, { rules: [blocking("hosts", addresses(3))], maxEntries: 3 });
    await world.pass();
    expect(world.waf.lists.blocklist).toStrictEqual(["198.51.100.1", "198.51.100.2", addresses(1)[0]]);
  });

  test("evicts no more entries than the guards allow", async () => {
    const rules = [blocking("hosts", addresses(20))];
    const strict = { guards: { maxRemovals: 5, maxRemovalPercent: 100 } };
    const world = await worldWith({ rules, guards: strict });
    declare(world, { rules, maxEntries: 10, guards: strict });
    expect(await writesOf(world)).toStrictEqual([]);
    expect(world.status.condition(anInstance().meta, "RemovalsHeld")).toBe("True TooManyRemovals");
  });

  test("evicts no larger share than the guards allow, if the evicted network covers others", async () => {
    // 3 of 13 entries are more than 22 %, and 3 of 15 are not.
    const strict = { guards: { maxRemovals: 1_000, maxRemovalPercent: 22 } };
    const nets = blocking("nets", [net, inside, "203.0.113.9"]);
    const hosts = blocking("hosts", addresses(9), { priority: 1 });
    const world = await worldWith({ rules: [nets, hosts], maxEntries: 10, guards: strict });
    const urgent = blocking("urgent", ["192.0.2.101"], { priority: 9 });
    declare(world, { rules: [nets, hosts, urgent], maxEntries: 10, guards: strict });
    expect(await writesOf(world)).toStrictEqual([]);
    expect(world.status.condition(anInstance().meta, "RemovalsHeld")).toBe("True TooManyRemovals");
  });

  test("evicts no more entries than the guards allow if the network that covers them has no room", async () => {
    const hosts = blocking("hosts", [inside, "203.0.113.9"]);
    const strict = { guards: { maxRemovals: 1, maxRemovalPercent: 100 } };
    const world = await worldWith({ rules: [hosts], guards: strict });
    const urgent = blocking("urgent", ["192.0.2.1", "192.0.2.3"], { priority: 9 });
    declare(world, { rules: [hosts, blocking("nets", [net]), urgent], maxEntries: 2, guards: strict });
    await writesOf(world);
    expect(world.waf.lists.blocklist).toStrictEqual(expect.arrayContaining([inside, "203.0.113.9"]));
    expect(world.status.condition(anInstance().meta, "RemovalsHeld")).toBe("True TooManyRemovals");
  });

  test("names the entries that wait for removals on hold, and does not record them", async () => {
    const strict = { maxEntries: 2, guards: { guards: { maxRemovals: 0, maxRemovalPercent: 100 } } };
    const world = await worldWith({ rules: [blocking("hosts", ["192.0.2.1", "192.0.2.3"])], ...strict });
    const rule = blocking("hosts", ["192.0.2.5", "192.0.2.7"]);
    declare(world, { rules: [rule], ...strict });
    expect(await writesOf(world)).toStrictEqual([]);
    expect(world.status.condition(rule.rule.meta, "Synced")).toBe("False CapacityExceeded");
    expect(synced(world, "hosts")).toContain("2 entries (192.0.2.5, 192.0.2.7) do not fit on the blocklist");
    expect(synced(world, "hosts")).toContain("Removals that are on hold would make room");
    expect([...world.owned().entries.blocklist.keys()]).toStrictEqual(["192.0.2.1", "192.0.2.3"]);
  });

  test("keeps evicted entries in the record", async () => {
    const old = blocking("old", ["192.0.2.1"]);
    const world = await worldWith({ rules: [old], maxEntries: 1 });
    declare(world, { rules: [old, blocking("urgent", ["192.0.2.5"], { priority: 5 })], maxEntries: 1 });
    expect(await writesOf(world)).toStrictEqual(["RemoveEntry 192.0.2.1", "AddEntry 192.0.2.5"]);
    await world.lookAgain();
    await world.lookAgain();
    expect([...world.owned().entries.blocklist.keys()].toSorted()).toStrictEqual(["192.0.2.1", "192.0.2.5"]);
  });

  test("is suggested if the API refuses further entries in the same words", async () => {
    const world = new ConvergeWorld();
    const all = addresses(6);
    for (const text of all.slice(2)) world.waf.refusedTexts.add(text);
    declare(world, { rules: [blocking("hosts", all)] });
    await world.pass();
    const suggestion = "If 2 entries are the WAF's limit, set spec.blocklist.maxEntries to 2.";
    expect(world.status.message(anInstance().meta, "Synced")).toContain(suggestion);
    expect(synced(world, "hosts")).toContain(suggestion);
  });
});

test("A plan explains covered entries and those that do not fit", async () => {
  const world = new ConvergeWorld();
  const rules = [blocking("a-nets", [net, inside, "203.0.113.8"]), blocking("more", addresses(2))];
  declare(world, { rules, maxEntries: 2 });
  const preview = await world.preview();
  const look = { readStatus: () => undefined, placeOf: () => "" };
  const text = planLines(viewInstance(preview!, look), (_style, line) => line, false).join("\n");
  expect(text).toContain(
    `declared ${inside} is covered by ${net}, which is not on the list yet (and 1 more like this)`,
  );
  expect(text).toContain("the list has no room for it (spec.blocklist.maxEntries of the instance)");
});
