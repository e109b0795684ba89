import { describe, expect, test } from "@jest/globals";
import { ApiKey } from "../../src/model/api-key.ts";
import {
  addresses,
  aMeta,
  aCacheClear,
  anInstance,
  anOrigin,
  aRule,
  blocking,
  createdMs,
  instanceName,
  mapSource,
} from "../support/builders/declare.ts";
import { disputesMax } from "../../src/decide/disputes.ts";
import { anInventory, entry } from "../support/builders/gathered.ts";
import { ConvergeWorld, type ConvergeWorldOptions, converged } from "../support/worlds/converge-world.ts";

/** A world in which a rule added `count` entries and was then deleted. */
async function worldAfter(count: number, options: ConvergeWorldOptions = {}) {
  const world = new ConvergeWorld(options);
  await world.pass({ rules: [blocking("feed", addresses(count))] });
  world.declare({ rules: [] });
  world.source.confirmCount = 0;
  return world;
}

describe("While declared objects are being replaced", () => {
  test("additions go first, removals wait until the files are settled, and neither is reported as on hold", async () => {
    const world = await worldAfter(3);
    world.declare({ rules: [blocking("urgent", ["198.51.100.1"])] });
    let before: readonly string[] = [];
    world.source.unsettle(() => (before = [...world.waf.lists.blocklist]));
    expect((await world.pass()).result).toStrictEqual({ kind: "Done" });
    expect(before).toStrictEqual([...addresses(3), "198.51.100.1"]);
    expect(world.waf.lists.blocklist).toStrictEqual(["198.51.100.1"]);
    expect(world.status.events.map(({ reason }) => reason)).not.toContain("RemovalsHeld");
  });

  test("a rule that retains its entries does not count as deleted: the entries stay managed", async () => {
    const world = new ConvergeWorld();
    const retaining = { ...blocking("feed", addresses(3)), deletionPolicy: "Retain" as const };
    await world.pass({ rules: [retaining] });
    world.declare({ rules: [] });
    world.source.unsettle(() => world.declare({ rules: [retaining] }));
    await world.pass();
    expect(world.owned().entries.blocklist.size).toBe(3);
  });
});

describe("A new process", () => {
  /** A world whose process has restarted while its cache still shows a rule that was deleted meanwhile. */
  async function staleWorld(options: ConvergeWorldOptions = {}): Promise<ConvergeWorld> {
    const world = new ConvergeWorld(options);
    await world.pass();
    world.declare({ rules: [blocking("lifted", ["192.0.2.1"])] });
    world.source.freezeCache();
    world.declare({ rules: [] });
    world.restart();
    world.source.confirmCount = 0;
    return world;
  }

  test("adds nothing that only its stale cache declares, in the first run and in a later one", async () => {
    const world = await staleWorld();
    for (const run of [1, 2]) {
      expect((await world.pass()).result).toStrictEqual({ kind: "Done" });
      expect(world.source.confirmCount).toBe(run);
      expect(world.waf.writes()).toStrictEqual([]);
      expect(world.owned().entries.blocklist.size).toBe(0);
    }
    world.source.thawCache();
    await world.pass({ rules: [blocking("new", ["192.0.2.2"])] });
    await world.pass({ rules: [blocking("new", ["192.0.2.2", "192.0.2.3"])] });
    expect(world.source.confirmCount).toBe(3);
    expect(world.waf.lists.blocklist).toStrictEqual(["192.0.2.2", "192.0.2.3"]);
  });

  test("writes nothing while it can't confirm the declared state, and reports this", async () => {
    const world = await staleWorld();
    world.source.thawCache();
    world.declare({ rules: [blocking("new", ["192.0.2.2"])] });
    world.source.failConfirm("The API server does not answer.");
    expect((await world.pass()).result).toMatchObject({ kind: "Blocked", blocker: "Unconfirmed" });
    expect(world.waf.writes()).toStrictEqual([]);
    expect(world.status.message(world.instance, "Ready")).toContain("The API server does not answer.");
    world.source.failConfirm(undefined);
    await world.passAfter(2_000);
    expect(world.waf.lists.blocklist).toStrictEqual(["192.0.2.2"]);
  });

  test("that can't confirm the declared state backs off, with increasing delays between reads of the WAF", async () => {
    const world = new ConvergeWorld({ declared: { rules: [blocking("feed", addresses(2))] } });
    world.source.failConfirm("The API server does not answer.");
    const pausesMs: number[] = [];
    for (let run = 0; run < 8; run += 1) {
      const { result, wakeAtMs } = await world.pass();
      expect(result).toMatchObject({ blocker: "Unconfirmed" });
      pausesMs.push((wakeAtMs ?? 0) - world.clock.nowMs());
      await world.sleepUntil(wakeAtMs);
    }
    expect(pausesMs[0]).toBeLessThanOrEqual(2_000);
    expect(pausesMs[7]).toBeGreaterThan(60_000);
    world.source.failConfirm(undefined);
    await world.pass();
    expect(world.waf.lists.blocklist).toStrictEqual(addresses(2));
  });

  test("adds nothing that its cache still declares, after a run that read the declared state several times", async () => {
    const world = await staleWorld({ latencyMs: 10_000, declared: { rules: [blocking("feed", addresses(5))] } });
    await world.pass();
    expect(world.waf.lists.blocklist).toStrictEqual([]);
    // Later reads of the same run match the first one, but that says nothing about the cache.
    expect(world.source.confirmCount).toBeGreaterThan(1);
    await world.pass();
    expect(world.waf.writes()).not.toContain("AddEntry blocklist 192.0.2.1");
  });

  test("reads the declared state once for all its additions, and not at all if there is nothing to write", async () => {
    const world = await converged({ rules: [blocking("feed", addresses(3))] });
    world.restart();
    world.source.confirmCount = 0;
    await world.pass();
    expect(world.source.confirmCount).toBe(0);
    await world.pass({ rules: [blocking("feed", addresses(5))] });
    await world.pass({ rules: [blocking("feed", addresses(8))] });
    expect(world.source.confirmCount).toBe(1);
    expect(world.waf.lists.blocklist).toHaveLength(8);
  });

  test("clears no cache for an object that only its stale cache declares", async () => {
    const world = await converged();
    world.declare({ cacheClears: [aCacheClear("deploy")] });
    world.source.freezeCache();
    world.declare({ cacheClears: [] });
    world.restart();
    await world.pass();
    expect(world.waf.cacheClears).toBe(0);
    world.source.thawCache();
    await world.pass({ cacheClears: [aCacheClear("deploy")] });
    expect(world.waf.cacheClears).toBe(1);
  });
});

describe("Before removals", () => {
  const missing = { state: "Missing", source: mapSource("edge/b"), problem: "ConfigMap edge/b is missing." } as const;

  test("the declared state is read once more, and entries that are declared after all stay", async () => {
    const world = await worldAfter(3);
    world.declare({ rules: [blocking("feed", addresses(3))] });
    world.source.freezeCache();
    await world.pass();
    world.source.thawCache();
    world.declare({ rules: [] });
    world.source.freezeCache();
    await world.pass({ rules: [blocking("feed", addresses(1))] });
    expect(world.source.confirmCount).toBe(1);
    expect(world.waf.lists.blocklist).toStrictEqual(addresses(1));
  });

  test("a failed read puts the removals on hold, and additions continue", async () => {
    const world = await worldAfter(3);
    world.declare({ rules: [blocking("new", ["192.0.2.1"])] });
    world.source.failConfirm("The API server does not answer.");
    expect((await world.pass()).result).toStrictEqual({ kind: "Done" });
    expect(world.waf.lists.blocklist).toStrictEqual([...addresses(3), "192.0.2.1"]);
    expect(world.status.condition(world.instance, "RemovalsHeld")).toBe("True Unconfirmed");
    expect(world.status.message(world.instance, "RemovalsHeld")).toContain("The API server does not answer.");
    expect(world.status.condition(world.instance, "Ready")).toBe("False Held");
    world.source.failConfirm(undefined);
    await world.pass();
    expect(world.waf.lists.blocklist).toStrictEqual(["192.0.2.1"]);
    expect(world.status.condition(world.instance, "RemovalsHeld")).toBeUndefined();
  });

  test("a confirmation counts for 30 s", async () => {
    const world = await worldAfter(9, { latencyMs: 10_000 });
    await world.pass();
    expect(world.waf.lists.blocklist).toStrictEqual([]);
    // Nine calls of 10 s, and one that verifies the domain after the first confirmation.
    expect(world.source.confirmCount).toBe(4);
  });

  test("a confirmation with the key of another WAF ends the run without a removal", async () => {
    const world = await worldAfter(3);
    world.source.freezeCache();
    const { result } = await world.pass({ key: { state: "Present", key: new ApiKey("the-key-of-another") } });
    expect(result).toStrictEqual({ kind: "Outdated" });
    expect(world.waf.lists.blocklist).toHaveLength(3);
  });

  test.each([
    ["a broken source", { brokenSources: ["rules/a.yaml could not be read."] }],
    ["a missing ConfigMap", { rules: [aRule("b", { texts: [missing] })] }],
    ["an invalid line", { rules: [aRule("feed", { texts: ["192.0.2.1\nnonsense"] })] }],
  ])("%s keeps the entries, before and after a restart", async (_what, broken) => {
    const world = await worldAfter(3);
    await world.pass(broken);
    expect(world.waf.count("RemoveEntry")).toBe(0);
    expect(world.source.confirmCount).toBe(0);
    expect(world.status.condition(world.instance, "SourceBroken")).toBe("True SourceBroken");
    expect(world.status.condition(world.instance, "Ready")).toBe("False SourceBroken");
    expect(world.status.condition(world.instance, "RemovalsHeld")).toBeUndefined();
    world.restart();
    await world.pass();
    expect(world.waf.count("RemoveEntry")).toBe(0);
    // The way out: the object, or the reference, is deleted.
    await world.pass({ rules: [], brokenSources: [] });
    expect(world.waf.lists.blocklist).toStrictEqual([]);
    expect(world.status.condition(world.instance, "SourceBroken")).toBeUndefined();
  });
});

describe("More removals than the guards allow", () => {
  test("wait for an approval of exactly these removals, which survives a crash", async () => {
    const world = await worldAfter(150);
    await world.pass({ rules: [blocking("new", ["192.0.2.1"])] });
    expect(world.waf.count("RemoveEntry")).toBe(0);
    expect(world.waf.lists.blocklist).toContain("192.0.2.1");
    const { heldPlan } = world.status.read(world.instance) as { heldPlan: string };
    expect(heldPlan).toMatch(/^[0-9a-f]{12}$/);
    const message = world.status.message(world.instance, "RemovalsHeld");
    expect(message).toContain("150 removals from the blocklist (198.18.0.0, ");
    expect(message).toContain(`wafsync.dev/approve-removals=${heldPlan}`);
    await world.pass();
    expect(world.status.eventReasons().filter((reason) => reason === "RemovalsHeld")).toHaveLength(1);

    const annotations = { "wafsync.dev/approve-removals": heldPlan };
    world.declare({ instance: anInstance({ meta: { annotations } }) });
    world.waf.failOn({ on: "RemoveEntry", nth: 60, effect: "After", fault: "Crash" });
    expect(await world.passOrCrash()).toBeUndefined();
    expect(world.waf.lists.blocklist).toHaveLength(91);
    await world.pass();
    expect(world.waf.lists.blocklist).toStrictEqual(["192.0.2.1"]);
    expect(world.owned().approval).toBeUndefined();
    expect(world.status.condition(world.instance, "RemovalsHeld")).toBeUndefined();
    expect(world.status.read(world.instance)).not.toHaveProperty("heldPlan");
  });

  test("by several plans count together until the window has passed, including those of a killed process", async () => {
    const all = addresses(400);
    const world = new ConvergeWorld({ declared: { rules: [blocking("feed", all)] } });
    await world.passesUntilDone();
    world.declare({ rules: [blocking("feed", all.slice(60))] });
    world.waf.failOn({ on: "RemoveEntry", nth: 30, effect: "After", fault: "Crash" });
    await world.passesUntilDone();
    expect(world.waf.lists.blocklist).toHaveLength(340);
    world.restart();
    await world.pass({ rules: [blocking("feed", all.slice(101))] });
    expect(world.status.condition(world.instance, "Ready")).toBe("False Held");
    expect(world.status.message(world.instance, "Synced")).toContain(
      "guards allow at most 100 removals and 30% of a list per plan and within 1h, and 60 entries were already removed in this time.",
    );
    await world.pass({ rules: [blocking("feed", all.slice(100))] });
    expect(world.waf.lists.blocklist).toHaveLength(300);
    await world.pass({ rules: [blocking("feed", all.slice(101))] });
    expect(world.waf.lists.blocklist).toHaveLength(300);
    await world.passAfter(3_600_000);
    expect(world.waf.lists.blocklist).toHaveLength(299);
    expect(world.status.condition(world.instance, "Ready")).toBe("True Synced");
  });

  test("that were allowed continue, although a rule expires before they are done", async () => {
    const all = addresses(400);
    const world = new ConvergeWorld();
    const expiresAtMs = world.clock.nowMs() + 60_000;
    const temporary = blocking("temporary", addresses(70, 1_000), { expiresAtMs });
    world.declare({ rules: [blocking("feed", all), temporary] });
    await world.passesUntilDone();
    world.declare({ rules: [blocking("feed", all.slice(100)), temporary] });
    world.waf.failOn({ on: "RemoveEntry", nth: 40, effect: "After", fault: "Crash" });
    expect(await world.passOrCrash()).toBeUndefined();
    await world.passAfter(60_000);
    expect(world.waf.lists.blocklist).toHaveLength(300);
    expect(world.owned().allowed.blocklist).toMatchObject({ pending: new Set(), count: 100 });
  });

  test("do not include planned removals that a fresh read does not confirm", async () => {
    const all = addresses(400);
    const urgent = blocking("urgent", ["192.0.2.1"]);
    const world = new ConvergeWorld({ declared: { rules: [blocking("feed", all)] } });
    await world.passesUntilDone();
    world.declare({ rules: [blocking("feed", all), urgent] });
    world.at("AddEntry", 401, () => {
      // The cache lacks 60 entries for the rest of the run.
      world.declare({ rules: [blocking("feed", all.slice(60)), urgent] });
      world.source.freezeCache();
      world.declare({ rules: [blocking("feed", all), urgent] });
    });
    await world.pass();
    expect(world.waf.lists.blocklist).toHaveLength(401);
    expect(world.source.confirmCount).toBe(2);
    world.source.thawCache();
    await world.pass({ rules: [blocking("feed", all.slice(0, 300)), urgent] });
    expect(world.waf.lists.blocklist).toHaveLength(301);
  });
});

test("Another domain stops all writes until expectedDomain names it, and the earlier entries stay recorded", async () => {
  const world = await converged({ rules: [blocking("feed", addresses(2))] });
  world.waf.domain = "staging.shop.example";
  world.waf.lists.blocklist.splice(0);
  world.waf.lists.blocklist.push("198.18.0.0", "203.0.113.9");
  const writes = world.waf.writes().length;
  const { result, wakeAtMs } = await world.pass();
  expect(result).toMatchObject({ kind: "Blocked", blocker: "DomainChanged" });
  expect(wakeAtMs).toBe(world.clock.nowMs() + 300_000);
  expect(world.waf.writes()).toHaveLength(writes);
  expect(world.status.condition(world.instance, "Ready")).toBe("False Blocked");
  expect(world.status.message(world.instance, "Ready")).toContain("spec.expectedDomain: staging.shop.example");
  world.waf.keys.add("the-key-of-staging");
  await world.pass({
    instance: anInstance({ expectedDomain: "staging.shop.example", meta: { generation: 2 } }),
    key: { state: "Present", key: new ApiKey("the-key-of-staging") },
  });
  expect(world.waf.lists.blocklist).toStrictEqual(["198.18.0.0", "203.0.113.9", "198.18.0.1"]);
  expect([...world.owned().entries.blocklist.keys()]).toStrictEqual(["198.18.0.1"]);
  expect([...(world.owned().otherDomains.get("shop.example")?.entries.blocklist.keys() ?? [])]).toStrictEqual(
    addresses(2),
  );
  expect(world.status.eventReasons()).toContain("DomainMoved");
  expect(world.status.eventReasons()).not.toContain("DriftDetected");
  expect(world.owned().disputes).toStrictEqual([]);
});

describe("The inventory", () => {
  test("that another writer saved ends the run without a write", async () => {
    const world = new ConvergeWorld({ declared: { rules: [blocking("feed", addresses(2))] } });
    world.inventory.failNext("Conflict");
    const { result, wakeAtMs } = await world.pass();
    expect(result).toMatchObject({ kind: "Blocked", blocker: "InventoryUnwritable" });
    expect(world.waf.writes()).toStrictEqual([]);
    expect(wakeAtMs).toBeLessThanOrEqual(world.clock.nowMs() + 2_000);
    await world.passAfter(2_000);
    expect(world.waf.lists.blocklist).toHaveLength(2);
  });

  test("that a newer process saved during a run ends it at the next save", async () => {
    const world = new ConvergeWorld({ declared: { rules: [blocking("feed", addresses(4))] } });
    world.at("AddEntry", 2, () => {
      world.inventory.put(world.instance, world.owned());
      world.declare({ rules: [blocking("feed", addresses(6))] });
    });
    expect((await world.pass()).result).toMatchObject({ blocker: "InventoryUnwritable" });
    expect(world.waf.count("AddEntry")).toBe(2);
  });

  test("that can't be read stops everything, and the status reports this", async () => {
    const world = new ConvergeWorld({ declared: { rules: [blocking("feed", addresses(2))] } });
    world.inventory.makeUnreadable("ConfigMap shop-wafsync-inventory-0 is damaged.");
    expect((await world.pass()).result).toMatchObject({ blocker: "InventoryUnreadable" });
    expect(world.waf.calls).toStrictEqual([]);
    expect(world.status.condition(world.instance, "Ready")).toBe("False Blocked");
    expect(world.status.condition(world.instance, "RemovalsHeld")).toBe("True InventoryUnreadable");
    world.inventory.makeUnreadable(undefined);
    await world.pass();
    expect(world.status.condition(world.instance, "Ready")).toBe("True Synced");
    expect(world.status.condition(world.instance, "RemovalsHeld")).toBeUndefined();
  });
});

describe("The WAF is not called", () => {
  test("if its base URL is not allowed", async () => {
    const world = new ConvergeWorld();
    world.baseUrlObjection = "spec.baseUrl is not https.";
    expect((await world.pass()).result).toMatchObject({ blocker: "BaseUrlNotAllowed" });
    expect(world.status.condition(world.instance, "Ready")).toBe("False NotAllowed");
    expect(world.waf.calls).toStrictEqual([]);
  });

  test("without a key", async () => {
    const world = new ConvergeWorld({ declared: { rules: [blocking("feed", addresses(1))] } });
    expect(
      (await world.pass({ key: { state: "Missing", problem: "Secret edge/shop-key does not exist." } })).result,
    ).toMatchObject({ blocker: "MissingApiKey" });
    expect(world.status.condition(world.instance, "Ready")).toBe("False BadApiKey");
    expect(world.waf.calls).toStrictEqual([]);
  });

  test("as long as an older instance has the same key", async () => {
    const older = aMeta("WafInstance", "edge/older", { createdAtMs: createdMs - 1 });
    const world = new ConvergeWorld({ declared: { sameKey: [older] } });
    expect((await world.pass()).result).toMatchObject({ blocker: "DuplicateKey" });
    expect(world.status.condition(world.instance, "Ready")).toBe("False Conflict");
    expect(world.status.message(world.instance, "Ready")).toContain("WafInstance edge/older is older");
    expect(world.waf.calls).toStrictEqual([]);
    const younger = aMeta("WafInstance", "edge/younger", { createdAtMs: createdMs + 1 });
    expect((await world.pass({ sameKey: [younger] })).result).toStrictEqual({ kind: "Done" });
  });
});

describe("During a run", () => {
  test("an urgent rule that appears is sent next, and recorded first", async () => {
    const world = new ConvergeWorld({ declared: { rules: [blocking("feed", addresses(40))] } });
    world.onCall((call) => {
      if (call.name === "AddEntry" && world.waf.count("AddEntry") === 10) {
        world.declare({ rules: [blocking("feed", addresses(40)), blocking("urgent", ["203.0.113.66"])] });
      }
      if (call.text === "203.0.113.66") expect(world.owned().entries.blocklist.has(entry("203.0.113.66"))).toBe(true);
    });
    await world.pass();
    expect(world.waf.writes()[10]).toBe("AddEntry blocklist 203.0.113.66");
    expect(world.waf.writes()).toHaveLength(41);
  });

  test("no further entries of a deleted rule are added, and its added entries are removed in the end", async () => {
    const world = new ConvergeWorld({ declared: { rules: [blocking("feed", addresses(20))] } });
    world.at("AddEntry", 5, () => world.declare({ rules: [] }));
    await world.pass();
    expect(world.waf.count("AddEntry")).toBe(5);
    expect(world.waf.lists.blocklist).toStrictEqual([]);
    await world.lookAgain();
    expect(world.owned().entries.blocklist.size).toBe(0);
  });

  test.each(["stop", "abandon"] as const)(
    "the end of the process (%s) interrupts the run, and the next one continues",
    async (how) => {
      const world = new ConvergeWorld({ declared: { rules: [blocking("feed", addresses(10))] }, latencyMs: 100 });
      world.at("AddEntry", 4, () => world[how]());
      expect((await world.pass()).result).toStrictEqual({ kind: "Interrupted" });
      expect(world.waf.count("AddEntry")).toBe(4);
      world.restart();
      await world.pass();
      expect(world.waf.lists.blocklist.toSorted()).toStrictEqual(addresses(10).toSorted());
      expect(world.waf.count("AddEntry")).toBe(10);
      expect(world.owned().entries.blocklist.size).toBe(10);
    },
  );

  test("the end of the process interrupts a long wait immediately", async () => {
    const world = new ConvergeWorld({ declared: { rules: [blocking("feed", addresses(3))] } });
    const fault = { code: "RateLimited", message: "Wait.", retryAfterMs: 3_600_000 } as const;
    world.waf.failOn({ on: "AddEntry", effect: "Before", fault });
    const startedMs = world.clock.nowMs();
    const { promise } = world.begin();
    await world.clock.advance(10_000);
    world.stop();
    expect((await promise).result).toStrictEqual({ kind: "Interrupted" });
    expect(world.clock.nowMs()).toBe(startedMs + 10_000);
  });

  test("another key starts a new run, and is not a failure", async () => {
    const world = new ConvergeWorld({ declared: { rules: [blocking("feed", addresses(9))] } });
    world.at("AddEntry", 3, () => {
      world.waf.keys.add("the-next-key");
      world.declare({ key: { state: "Present", key: new ApiKey("the-next-key") } });
    });
    const [first, second] = await world.passesUntilDone();
    expect(first).toMatchObject({ result: { kind: "Outdated" }, wakeAtMs: world.clock.nowMs() });
    expect(second?.result).toStrictEqual({ kind: "Done" });
    expect(world.waf.lists.blocklist).toHaveLength(9);
    expect(world.status.eventReasons()).not.toContain("Contested");
  });

  test("an origin is added again if it is declared after all while the outcome of its removal is unknown", async () => {
    for (const effect of ["Before", "After"] as const) {
      const world = await converged({ origins: [anOrigin("a.example")] });
      world.declare({ origins: [] });
      world.waf.failOn({ on: "RemoveOrigin", effect, fault: "Crash" });
      await world.passOrCrash();
      await world.pass({ origins: [anOrigin("a.example")] });
      const state = effect === "After" ? "Added" : "AddedUnconfirmed";
      expect([...world.waf.origins]).toStrictEqual([["a.example", "Alternate"]]);
      expect(world.status.read(world.declared().origins[0]!.meta)).toMatchObject({ state });
    }
  });

  test("the primary origin is not removed before another host is the primary", async () => {
    const world = await converged({ origins: [anOrigin("a.example")] });
    world.waf.primary = "a.example";
    await world.pass({ origins: [] });
    expect(world.waf.origins.has("a.example")).toBe(true);
    expect(world.status.message(world.instance, "Ready")).toContain("Origin a.example is the primary, and stays");
    world.waf.primary = "b.example";
    await world.pass();
    expect(world.waf.origins.has("a.example")).toBe(false);
  });
});

describe("A dispute over an entry", () => {
  test("pauses corrections after the fourth change within an hour, with increasing pauses", async () => {
    const world = await converged({ rules: [blocking("feed", ["192.0.2.1", "192.0.2.2"])] });
    const addedAtMs: number[] = [];
    const startedMs = world.clock.nowMs();
    const verdicts = new Set<string | undefined>();
    for (let minute = 0; minute < 360; minute += 5) {
      const { length } = world.waf.writes();
      world.waf.lists.blocklist = world.waf.lists.blocklist.filter((text) => text !== "192.0.2.1");
      await world.passAfter(300_000);
      verdicts.add(world.status.condition(world.instance, "Ready"));
      if (world.waf.writes().length > length) addedAtMs.push((world.clock.nowMs() - startedMs) / 60_000);
    }
    const gaps = addedAtMs.slice(1).map((at, index) => at - addedAtMs[index]!);
    expect(gaps.slice(0, 2)).toStrictEqual([5, 5]);
    expect(gaps.length).toBeLessThan(12);
    expect(gaps.at(-1)).toBeGreaterThan(60);
    expect([...verdicts]).toStrictEqual(["True Synced", "False Contested"]);
    expect(world.status.eventReasons()).toContain("Contested");
    expect(world.waf.lists.blocklist).toContain("192.0.2.2");
  });

  test("over more entries than wafsync tracks pauses corrections for these, and corrects the others", async () => {
    const feed = addresses(disputesMax + 2);
    const world = new ConvergeWorld({ declared: { rules: [blocking("feed", feed)] } });
    const atMs = [4, 3, 2, 1].map((minutes) => world.clock.nowMs() - minutes * 60_000);
    const tracked = feed.slice(0, disputesMax);
    const disputes = tracked.map((text) => ({ list: "blocklist" as const, entry: entry(text), atMs }));
    world.inventory.put(world.instance, anInventory({ blocklist: feed, disputes }));
    await world.pass();
    expect(world.waf.lists.blocklist).toStrictEqual(feed.slice(disputesMax));
    expect(world.status.condition(world.instance, "Ready")).toBe("False Contested");
  });

  test("does not exist if another writer adds a removed entry again and the policy leaves it on the list", async () => {
    const world = await worldAfter(1);
    await world.pass();
    for (let count = 0; count < 6; count += 1) {
      world.waf.lists.blocklist.push(addresses(1)[0]!);
      await world.pass();
      world.waf.lists.blocklist.splice(0);
      await world.pass();
    }
    expect(world.status.eventReasons()).not.toContain("Contested");
    expect(world.status.condition(world.instance, "Ready")).toBe("True Synced");
  });
});

describe("Facts that a list does not show", () => {
  test("a key that moves to another WAF between two reads drops nothing from the inventory", async () => {
    const world = await converged({ rules: [blocking("feed", addresses(3))] });
    world.declare({ rules: [] });
    const mine = [...world.waf.lists.blocklist];
    world.onCall(({ name, list }) => {
      if (name !== "ReadList" || list !== "blocklist") return;
      world.waf.domain = "staging.example";
      world.waf.lists.blocklist = [];
    });
    expect((await world.pass()).result).toMatchObject({ kind: "Blocked", blocker: "DomainChanged" });
    expect([...world.owned().entries.blocklist.keys()].toSorted()).toStrictEqual(mine.toSorted());
  });

  test("a refusal by another WAF drops no origin from the inventory", async () => {
    const world = await converged({ origins: [anOrigin("a.example")] });
    world.declare({ origins: [] });
    world.at("RemoveOrigin", 1, () => {
      world.waf.domain = "staging.example";
      world.waf.origins.clear();
    });
    expect((await world.pass()).result).toMatchObject({ kind: "Blocked", blocker: "DomainChanged" });
    expect([...world.owned().origins.keys()]).toStrictEqual(["a.example"]);
  });

  // With a window of 0 s, one read is enough to drop a record: it must not be the read before the addition.
  test.each([0, 5_000])(
    "a rate-limited addition that took effect anyway stays managed if its rule is deleted meanwhile, with a window of %d ms",
    async (consistencyWindowMs) => {
      const instance = anInstance({ consistencyWindowMs });
      const world = new ConvergeWorld({ declared: { instance, rules: [blocking("feed", addresses(2))] } });
      const fault = { code: "RateLimited", message: "The WAF asks to wait (429).", retryAfterMs: 3_000 } as const;
      world.waf.failOn({ on: "AddEntry", effect: "After", fault });
      const { promise, isOver } = world.begin();
      await world.clock.advanceUntil(() => world.waf.count("AddEntry") === 1, 60_000);
      world.declare({ rules: [] });
      await world.clock.advanceUntil(isOver, 60_000);
      expect((await promise).result).toStrictEqual({ kind: "Done" });
      expect(world.waf.lists.blocklist).toStrictEqual([]);
      await world.lookAgain();
      expect(world.owned().entries.blocklist.size).toBe(0);
    },
  );

  test("an instance without a record is reconciled only if a fresh read still shows it", async () => {
    const world = new ConvergeWorld({ declared: { rules: [blocking("feed", addresses(2))] } });
    world.source.freezeCache();
    world.source.remove(world.instance);
    expect((await world.pass()).result).toStrictEqual({ kind: "Gone" });
    expect(world.waf.writes()).toStrictEqual([]);
    expect(world.inventory.saves).toStrictEqual([]);
  });
});

test("A guard that can't be read stops all writes until it is corrected, and is reported", async () => {
  const rules = [blocking("feed", addresses(2))];
  const world = await converged({ rules, instance: anInstance({ guards: { neverBlock: ["office"] } }) });
  expect(world.waf.writes()).toStrictEqual([]);
  expect(world.owned().entries.blocklist.size).toBe(0);
  expect(world.status.message(world.instance, "Accepted")).toContain("spec.guards.neverBlock[0]");
  await world.pass({ instance: anInstance({ meta: { generation: 2 } }) });
  expect(world.waf.lists.blocklist).toStrictEqual(addresses(2));
});

describe("A stale cache", () => {
  test.each([
    ["new", true],
    ["running", false],
  ])("of a %s process drops nothing that a rule or an origin retains", async (_, isNew) => {
    const rules = [blocking("feed", addresses(2), { deletionPolicy: "Retain" })];
    const origins = [anOrigin("a.example", { deletionPolicy: "Retain" })];
    const world = await converged({ rules, origins });
    if (isNew) world.restart();
    world.declare({ rules: [], origins: [] });
    world.source.freezeCache();
    await world.pass({ rules, origins });
    expect([...world.owned().entries.blocklist.keys()]).toStrictEqual(addresses(2));
    expect([...world.owned().origins.keys()]).toStrictEqual(["a.example"]);
    await world.pass({ rules: [], origins: [] });
    expect(world.owned().entries.blocklist.size).toBe(0);
    expect(world.waf.lists.blocklist).toStrictEqual(addresses(2));
  });

  test("that lags behind a change of the WAF does not cause runs without a pause", async () => {
    const world = await converged({ rules: [blocking("feed", addresses(3))] });
    world.declare({ rules: [] });
    world.source.freezeCache();
    const { result, wakeAtMs } = await world.pass({
      instance: anInstance({ expectedDomain: "shop.example", meta: { generation: 2 } }),
    });
    expect(result).toStrictEqual({ kind: "Outdated" });
    expect(wakeAtMs).toBe(world.clock.nowMs() + 1_000);
    expect(world.waf.lists.blocklist).toHaveLength(3);
  });
});

describe("An inventory that is older than the status", () => {
  const all = addresses(6);

  /** After an older inventory was restored and two addresses are no longer declared. */
  async function restored() {
    const world = new ConvergeWorld();
    await world.pass({ rules: [blocking("feed", all.slice(0, 4))] });
    const backup = world.owned();
    await world.pass({ rules: [blocking("feed", all)] });
    world.inventory.put(instanceName, backup);
    world.declare({ rules: [blocking("feed", [...all.slice(2), "192.0.2.1"])] });
    return world;
  }

  const accept = (world: ConvergeWorld, hash: unknown) =>
    world.declare({
      instance: anInstance({
        guards: { maxRemovalPercent: 100 },
        meta: { annotations: { "wafsync.dev/approve-removals": String(hash) } },
      }),
    });

  test("puts all removals on hold until it is accepted, and nothing else", async () => {
    const world = await restored();
    await world.pass();
    expect(world.waf.lists.blocklist).toStrictEqual([...all, "192.0.2.1"]);
    expect(world.status.condition(world.instance, "RemovalsHeld")).toBe("True InventoryUnreadable");
    const message = world.status.message(world.instance, "RemovalsHeld") ?? "";
    expect(message).toMatch(
      /^The inventory has version \d+, but the status describes version \d+: .* accept this one\./,
    );
    const { heldPlan } = world.status.read(world.instance) as { heldPlan: string };
    expect(message).toContain(
      `To accept this inventory: kubectl annotate --overwrite wafinstance -n edge shop wafsync.dev/approve-removals=${heldPlan}`,
    );
    // Neither more runs nor a restart make it any newer.
    world.restart();
    for (let run = 0; run < 5; run += 1) {
      await world.pass({ rules: [blocking("feed", [...all.slice(2), "192.0.2.1", `192.0.2.${run + 2}`])] });
    }
    expect(world.status.read(world.instance)).toHaveProperty("heldPlan", heldPlan);
    world.declare({ rules: [blocking("feed", [...all.slice(2), "192.0.2.1"])] });
    accept(world, heldPlan);
    await world.pass();
    await world.pass();
    expect(world.waf.lists.blocklist).toStrictEqual([...all.slice(2), "192.0.2.1"]);
    expect(world.status.condition(world.instance, "Ready")).toBe("True Synced");
    // The same hash accepts no other inventory.
    const backup = { ...world.owned(), version: world.owned().version - 1 };
    world.inventory.put(instanceName, backup);
    await world.pass();
    expect(world.status.condition(world.instance, "RemovalsHeld")).toBe("True InventoryUnreadable");
  });

  test("is reported even if there is nothing to remove", async () => {
    const world = await restored();
    await world.pass({ rules: [blocking("feed", all)] });
    expect(world.status.condition(world.instance, "Ready")).toBe("False Held");
    expect(world.status.eventReasons()).toContain("RemovalsHeld");
  });

  test.each([
    ["a lost status", (world: ConvergeWorld) => world.status.forget(world.instance)],
    ["a missing inventory", (world: ConvergeWorld) => void world.inventory.remove(instanceName)],
    [
      "a status that was not written because of a crash",
      (world: ConvergeWorld) => world.inventory.put(instanceName, { ...world.owned(), version: 99 }),
    ],
  ])("is not confused with %s", async (_what, lose) => {
    const world = await restored();
    lose(world);
    for (let run = 0; run < 2; run += 1) {
      await world.pass();
      expect(world.status.condition(world.instance, "RemovalsHeld")).toBeUndefined();
      expect(world.status.condition(world.instance, "Ready")).toBe("True Synced");
    }
  });
});
