import { describe, expect, test } from "@jest/globals";
import type { GatheredRule } from "../../src/model/gathered.ts";
import { addresses, allowing, anInstance, blocking, feedSource } from "../support/builders/declare.ts";
import { entry } from "../support/builders/gathered.ts";
import { crash } from "../support/fakes/crash.ts";
import { ConvergeWorld, converged } from "../support/worlds/converge-world.ts";

interface Limits {
  readonly maxEntries?: number;
  readonly maxRemovals?: number;
  readonly maxRemovalPercent?: number;
}

/** An instance whose guards allow everything by default. */
function limited({ maxEntries, maxRemovals = 1_000, maxRemovalPercent = 100 }: Limits) {
  return anInstance({ guards: { maxRemovals, maxRemovalPercent }, lists: { blocklist: { maxEntries } } });
}

async function worldWith(rules: readonly GatheredRule[], limits: Limits = {}): Promise<ConvergeWorld> {
  return await converged({ rules, instance: limited(limits) });
}

/** The writes of one run with these rules, for example `AddEntry 203.0.113.7`. */
async function writesOf(world: ConvergeWorld, rules = world.declared().rules): Promise<readonly string[]> {
  const before = world.waf.calls.length;
  await world.pass({ rules });
  const calls = world.waf.calls.slice(before).filter(({ name }) => name === "AddEntry" || name === "RemoveEntry");
  return calls.map(({ name, text }) => `${name} ${text}`);
}

function synced(world: ConvergeWorld, rule: string): string {
  return world.status.message(blocking(rule, []).rule.meta, "Synced");
}

const four = ["203.0.113.4", "203.0.113.5", "203.0.113.6", "203.0.113.7"];
const merged = "203.0.113.4/30";

describe("The entries of a rule with aggregate", () => {
  const aggregate = true;
  const rules = [blocking("hosts", four, { aggregate })];
  const rest = [blocking("hosts", four.slice(1), { aggregate })];

  test("need as few calls as possible, and removing one of them makes additions before the removal", async () => {
    const world = await worldWith(rules);
    expect(world.waf.lists.blocklist).toStrictEqual([merged]);
    expect(world.owned().entries.blocklist.get(entry(merged))?.lines).toBe(4);
    const said = "The entry is on the blocklist.";
    expect(synced(world, "hosts")).toBe(said);
    const writes = ["AddEntry 203.0.113.5", "AddEntry 203.0.113.6/31", `RemoveEntry ${merged}`];
    expect(await writesOf(world, rest)).toStrictEqual(writes);
  });

  test("are added before those that they replace are removed, and no guard counts the removals", async () => {
    const plain = [blocking("hosts", four)];
    const world = await worldWith(plain, { maxRemovals: 0, maxRemovalPercent: 0 });
    expect(world.waf.lists.blocklist).toStrictEqual(four);
    expect(await writesOf(world, rules)).toStrictEqual([
      `AddEntry ${merged}`,
      ...four.map((one) => `RemoveEntry ${one}`),
    ]);
    expect(await writesOf(world, plain)).toStrictEqual([
      ...four.map((one) => `AddEntry ${one}`),
      `RemoveEntry ${merged}`,
    ]);
    expect(await writesOf(world)).toStrictEqual([]);
  });

  test("keep the wide entry while the API refuses one that replaces it, and the instance names it", async () => {
    const world = await worldWith(rules);
    world.waf.refusedTexts.add("203.0.113.5");
    expect(await writesOf(world, rest)).toStrictEqual(["AddEntry 203.0.113.5", "AddEntry 203.0.113.6/31"]);
    expect(world.waf.lists.blocklist).toContain(merged);
    expect(world.status.message(world.instance, "Synced")).toContain(`1 removal waits for them (${merged})`);
  });

  test("keep the narrow entries while the API refuses the network that replaces them", async () => {
    const world = await worldWith([blocking("hosts", four)]);
    world.waf.refusedTexts.add(merged);
    expect(await writesOf(world, rules)).toStrictEqual([`AddEntry ${merged}`]);
    expect(world.waf.lists.blocklist).toStrictEqual(four);
  });

  test.each([
    { title: "all of them", left: [], maxRemovals: 3, isHeld: true },
    { title: "three of them", left: four.slice(3), maxRemovals: 2, isHeld: true },
    { title: "three of them, if the guard allows three", left: four.slice(3), maxRemovals: 3, isHeld: false },
    { title: "one of them, if the guard allows one", left: four.slice(1), maxRemovals: 1, isHeld: false },
  ])("are counted by the guards as they are declared: $title", async ({ left, maxRemovals, isHeld }) => {
    const world = await worldWith(rules, { maxRemovals });
    world.restart();
    const writes = await writesOf(world, [blocking("hosts", left, { aggregate })]);
    expect(writes.includes(`RemoveEntry ${merged}`)).toBe(!isHeld);
    expect(world.status.message(world.instance, "RemovalsHeld").includes(merged)).toBe(isHeld);
  });

  test("a percentage of the list is one of the declared entries, too", async () => {
    const wide = blocking("wide", addresses(512), { aggregate });
    const world = await worldWith([wide, blocking("few", four)], { maxRemovalPercent: 30 });
    // 4 of 516 declared entries, but 4 of 6 on the list.
    expect(await writesOf(world, [wide])).toHaveLength(4);
  });

  test("make a list long enough for a percentage while the API refuses their network", async () => {
    const world = await worldWith([blocking("old", addresses(4))], { maxRemovalPercent: 30 });
    world.waf.refusedTexts.add(merged);
    // 4 of 10 declared entries are removed; 6 of them are on the list in the second run.
    const six = blocking("hosts", [...four, "203.0.113.8", "203.0.113.9"], { aggregate });
    expect(await writesOf(world, [six])).toStrictEqual([`AddEntry ${merged}`, "AddEntry 203.0.113.8/31"]);
    await world.pass();
    expect(world.waf.lists.blocklist).toStrictEqual([...addresses(4), "203.0.113.8/31"]);
  });

  test("do not keep the guards from counting what is inside a declared network, but was never merged", async () => {
    const old = blocking("old", [...addresses(6), "198.51.100.1", "198.51.100.3", "198.51.100.5"]);
    const world = await worldWith([old, ...rules], { maxRemovalPercent: 30 });
    expect(await writesOf(world, [blocking("old", ["198.18.0.0/29"])])).toStrictEqual(["AddEntry 198.18.0.0/29"]);
    expect(world.status.condition(world.instance, "RemovalsHeld")).toBe("True TooManyRemovals");
  });

  test("stay blocked by themselves where an Allow rule is an exception to one of them", async () => {
    const halves = blocking("halves", ["203.0.113.0/25", "203.0.113.128/25"], { aggregate });
    const world = await worldWith([halves, allowing("office", ["203.0.113.7"])]);
    expect(world.waf.lists.blocklist).toStrictEqual(halves.rule.addresses);
  });

  test("are not merged with those of another rule, and stay on the list if both declare them", async () => {
    const others = blocking("others", ["203.0.113.5", "203.0.113.8"]);
    const world = await worldWith([...rules, others]);
    expect(world.waf.lists.blocklist.toSorted()).toStrictEqual([merged, "203.0.113.5", "203.0.113.8"]);
    expect(await writesOf(world, [others])).toStrictEqual([`RemoveEntry ${merged}`]);
  });

  test("stay as they are if the rule adopts them", async () => {
    const world = new ConvergeWorld();
    world.waf.lists.blocklist.push("203.0.113.4", "203.0.113.5");
    const meta = { annotations: { "wafsync.dev/adopt": "true" } };
    const adopting = blocking("hosts", four, { aggregate, meta });
    expect(await writesOf(world, [adopting])).toStrictEqual(["AddEntry 203.0.113.6/31"]);
    expect(await writesOf(world)).toStrictEqual([]);
    expect(world.owned().entries.blocklist.get(entry("203.0.113.4"))?.manner).toBe("Adopted");
  });

  test("stay as they are if they expire by themselves", async () => {
    const entries = four.map(entry);
    const ending = new Map([[entries[0]!, Date.UTC(2026, 0, 1) + 60_000]]);
    const feed = { state: "Listed", source: feedSource("edge/threats"), entries, ending } as const;
    const world = await worldWith([blocking("threats", [], { aggregate, texts: [feed] })]);
    expect(world.waf.lists.blocklist).toStrictEqual(["203.0.113.4", "203.0.113.5", "203.0.113.6/31"]);
  });

  test("uncover nothing if a crash comes between the additions and the removal", async () => {
    const world = await worldWith(rules);
    world.declare({ rules: rest });
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

  test("are reported while they are on the WAF although the rule has expired", async () => {
    const expiresAtMs = new ConvergeWorld().clock.nowMs() + 60_000;
    const world = await worldWith([blocking("hosts", four, { aggregate, expiresAtMs })], { maxRemovals: 1 });
    await world.passAfter(60_000);
    expect(world.waf.lists.blocklist).toStrictEqual([merged]);
    expect(synced(world, "hosts")).toContain("1 of its entries is still on the blocklist");
  });
});

describe("A list with a limit", () => {
  test("leaves out entries of the lowest priority first, then the most recently declared ones, and reports this", async () => {
    const rules = [
      blocking("old", ["192.0.2.1", "192.0.2.3"], { meta: { createdAtMs: 1 } }),
      blocking("new", ["192.0.2.5", "192.0.2.7"], { meta: { createdAtMs: 2 } }),
      blocking("urgent", ["192.0.2.9"], { priority: 5, meta: { createdAtMs: 3 } }),
    ];
    const world = await worldWith(rules, { maxEntries: 4 });
    expect(world.waf.lists.blocklist.toSorted()).toStrictEqual(["192.0.2.1", "192.0.2.3", "192.0.2.5", "192.0.2.9"]);
    expect(world.status.condition(rules[1]!.rule.meta, "Synced")).toBe("False CapacityExceeded");
    expect(synced(world, "new")).toContain("1 of 2 entries are on the blocklist; 1 entry (192.0.2.7) does not fit");
    expect(world.status.condition(world.instance, "Synced")).toBe("False CapacityExceeded");
    expect(world.status.eventReasons()).toContain("CapacityExceeded");
    expect(world.status.condition(rules[0]!.rule.meta, "Synced")).toBe("True Synced");
  });

  test("replaces a less urgent entry by a more urgent one, and no other, and keeps the evicted one in the record", async () => {
    const old = blocking("old", ["192.0.2.1", "192.0.2.3"]);
    const world = await worldWith([old], { maxEntries: 2 });
    expect(await writesOf(world, [old, blocking("later", ["192.0.2.5"])])).toStrictEqual([]);
    const urgent = blocking("urgent", ["192.0.2.5"], { priority: 5 });
    expect(await writesOf(world, [old, urgent])).toStrictEqual(["RemoveEntry 192.0.2.3", "AddEntry 192.0.2.5"]);
    await world.lookAgain();
    await world.lookAgain();
    const recorded = [...world.owned().entries.blocklist.keys()];
    expect(recorded.toSorted()).toStrictEqual(["192.0.2.1", "192.0.2.3", "192.0.2.5"]);
  });

  test("counts the entries of other writers, and evicts none of them", async () => {
    const instance = limited({ maxEntries: 3 });
    const world = new ConvergeWorld({ declared: { instance, rules: [blocking("hosts", addresses(3))] } });
    world.waf.lists.blocklist.push("198.51.100.1", "198.51.100.2");
    await world.pass();
    expect(world.waf.lists.blocklist).toStrictEqual(["198.51.100.1", "198.51.100.2", addresses(1)[0]]);
  });

  test("evicts no more entries than the guards allow", async () => {
    const world = await worldWith([blocking("hosts", addresses(20))], { maxRemovals: 5 });
    world.declare({ instance: limited({ maxEntries: 10, maxRemovals: 5 }) });
    expect(await writesOf(world)).toStrictEqual([]);
    expect(world.status.condition(world.instance, "RemovalsHeld")).toBe("True TooManyRemovals");
  });

  test("names the entries that wait for removals on hold, and does not record them", async () => {
    const world = await worldWith([blocking("hosts", ["192.0.2.1", "192.0.2.3"])], { maxEntries: 2, maxRemovals: 0 });
    const rule = blocking("hosts", ["192.0.2.5", "192.0.2.7"]);
    expect(await writesOf(world, [rule])).toStrictEqual([]);
    expect(world.status.condition(rule.rule.meta, "Synced")).toBe("False CapacityExceeded");
    expect(synced(world, "hosts")).toContain("2 entries (192.0.2.5, 192.0.2.7) do not fit on the blocklist");
    expect(synced(world, "hosts")).toContain("Removals that are on hold would make room");
    expect([...world.owned().entries.blocklist.keys()]).toStrictEqual(["192.0.2.1", "192.0.2.3"]);
  });
});
