// A renamed or moved instance takes over the record of the former one, and nothing changes on the WAF.
import { describe, expect, test } from "@jest/globals";
import { ApiKey } from "../../src/model/api-key.ts";
import type { Inventory } from "../../src/model/inventory.ts";
import { addresses, aMeta, anInstance, anOrigin, blocking } from "../support/builders/declare.ts";
import { anInventory, gathered, ownedBy, testKey, anOwnedOrigin } from "../support/builders/gathered.ts";
import { ConvergeWorld } from "../support/worlds/converge-world.ts";

const former = { namespace: "old", name: "shop" };
const continues = { annotations: { "wafsync.dev/continues": "old/shop" } };
const foreign = "203.0.113.200";
const keyMark = new ApiKey(testKey).markFor("shop.example");

/** The record of the former instance: 20 entries, an origin, and a completed cache clear. */
function leftRecord(change: Partial<Inventory> = {}): Inventory {
  return {
    ...anInventory({
      blocklist: addresses(20).map((text) => ownedBy(text, ["old/feed"])),
      origins: { "standby.example": anOwnedOrigin({ type: "Backup", addedAtMs: 1 }) },
      handledTriggers: [{ cacheClear: "old/deploy", trigger: "1", handledAtMs: 1 }],
    }),
    ...change,
  };
}

/** The new instance, which declares the same as the former one. */
function movedWorld(record: Inventory | undefined = leftRecord()): ConvergeWorld {
  const world = new ConvergeWorld({
    declared: {
      instance: anInstance({ meta: continues }),
      rules: [blocking("feed", addresses(20))],
      origins: [anOrigin("standby.example", { type: "Backup" })],
    },
  });
  world.waf.lists.blocklist.push(...addresses(20), foreign);
  world.waf.origins.set("standby.example", "Backup");
  if (record !== undefined) world.inventory.put(former, record);
  return world;
}

describe("An instance that continues another one", () => {
  test("manages everything without a write, and the former record is gone", async () => {
    const world = movedWorld();
    expect((await world.pass()).result).toStrictEqual({ kind: "Done" });
    expect(world.waf.writes()).toStrictEqual([]);
    expect(world.owned()).toMatchObject({ continued: "old/shop", handledTriggers: [{ cacheClear: "edge/deploy" }] });
    expect(world.owned().entries.blocklist.size).toBe(20);
    expect(world.owned().origins.size).toBe(1);
    expect(world.inventory.of(former).entries.blocklist.size).toBe(0);
    expect(world.status.condition(world.instance, "Ready")).toBe("True Synced");
    expect(world.status.eventReasons()).toContain("RecordContinued");
    expect(world.status.eventReasons()).not.toContain("RecordMissing");
    expect(world.continued).toStrictEqual(["old/shop by edge/shop"]);
  });

  test("takes over the former history in a later process if the first process was killed before it did", async () => {
    const world = movedWorld();
    await world.pass();
    world.restart();
    await world.pass();
    await world.pass();
    expect(world.continued).toStrictEqual(["old/shop by edge/shop", "old/shop by edge/shop"]);
    // Another instance has taken the name since.
    world.inventory.put(former, { ...leftRecord(), domain: "other.example" });
    world.restart();
    await world.pass();
    expect(world.continued).toHaveLength(2);
  });

  test("shows in a preview what it will manage, without writing anything", async () => {
    const world = movedWorld();
    const facts = await world.preview();
    expect(facts?.plan?.lists.blocklist).toMatchObject({ managed: 20, foreign: 1 });
    expect(facts?.plan?.operations).toStrictEqual([]);
    expect(world.inventory.saves).toStrictEqual([]);
    expect(world.inventory.of(former).entries.blocklist.size).toBe(20);
  });

  test.each(["CrashBefore", "CrashAfter"] as const)("finishes the takeover after a crash (%s)", async (fault) => {
    const world = movedWorld();
    world.inventory.failNext(fault);
    await world.passesUntilDone();
    expect(world.waf.writes()).toStrictEqual([]);
    expect(world.owned().entries.blocklist.size).toBe(20);
    expect(world.inventory.of(former).entries.blocklist.size).toBe(0);
  });

  const otherMark = new ApiKey("not-this-key").markFor("shop.example");

  test.each([
    ["of another domain", { domain: "other.example" }],
    // Any API can claim a domain.
    ["of the same domain alone", { waf: { baseUrl: "https://elsewhere.example", keyMark: otherMark } }],
  ])("takes over nothing from a record %s, and does nothing until this is corrected", async (_, change) => {
    const world = movedWorld(leftRecord(change));
    expect((await world.pass()).result).toMatchObject({ kind: "Blocked", blocker: "NotContinued" });
    expect(world.waf.writes()).toStrictEqual([]);
    expect(world.inventory.of(former).entries.blocklist.size).toBe(20);
    expect(world.status.condition(world.instance, "Ready")).toBe("False Blocked");
  });

  test.each([
    ["a rotated key, by its base URL", { baseUrl: "https://waf.example", keyMark: "0123456789" }],
    ["another base URL, by its key", { baseUrl: "https://was.example", keyMark }],
  ])("recognizes the WAF after %s", async (_, waf) => {
    const world = movedWorld(leftRecord({ waf }));
    expect((await world.pass()).result).toStrictEqual({ kind: "Done" });
    expect(world.owned().entries.blocklist.size).toBe(20);
  });

  test("takes over nothing from an instance that still exists with another key", async () => {
    const world = movedWorld();
    world.source.declare(gathered({ instance: anInstance({ name: "old/shop" }) }));
    const message = expect.stringContaining("still exists with a different API key");
    expect((await world.pass()).result).toMatchObject({ kind: "Blocked", blocker: "NotContinued", message });
    expect(world.inventory.of(former).entries.blocklist.size).toBe(20);
  });

  test("takes over the record while the older instance with the same key still exists", async () => {
    const world = movedWorld();
    const older = aMeta("WafInstance", "old/shop", { createdAtMs: 0 });
    world.source.declare(gathered({ instance: { ...anInstance({ name: "old/shop" }), meta: older } }));
    world.declare({});
    world.source.declare({ ...world.declared(), sameKey: [older] });
    expect((await world.pass()).result).toStrictEqual({ kind: "Done" });
    expect(world.owned().entries.blocklist.size).toBe(20);
  });

  test("warns once if there is no record to take over, and starts with its own", async () => {
    const world = movedWorld(leftRecord({ ...anInventory({ domain: undefined }) }));
    await world.pass();
    await world.pass();
    const told = world.status.events.filter(({ reason }) => reason === "NotContinued");
    expect(told.map(({ message }) => message)).toStrictEqual([expect.stringContaining("old/shop")]);
    expect(world.waf.count("AddEntry")).toBe(0);
  });

  test.each(["shop", "old/shop/3", "edge/shop", "Old/Shop"])(
    "rejects the annotation %j and shows how to write it",
    async (text) => {
      const instance = anInstance({ meta: { annotations: { "wafsync.dev/continues": text } } });
      const world = new ConvergeWorld({ declared: { instance } });
      const message = expect.stringContaining("wafsync.dev/continues");
      expect((await world.pass()).result).toMatchObject({ kind: "Blocked", blocker: "NotContinued", message });
    },
  );
});

describe("An instance that another one continues", () => {
  const successor = aMeta("WafInstance", "new/shop", { annotations: { "wafsync.dev/continues": "edge/shop" } });

  test("does nothing, regardless of its rules, and names the other instance", async () => {
    const world = new ConvergeWorld({ declared: { sameKey: [successor], rules: [] } });
    world.waf.lists.blocklist.push(...addresses(5));
    world.inventory.put(world.instance, anInventory({ blocklist: addresses(5) }));
    expect((await world.pass()).result).toMatchObject({ kind: "Blocked", blocker: "Continued" });
    expect(world.waf.writes()).toStrictEqual([]);
    expect(world.status.message(world.instance, "Ready")).toContain("WafInstance new/shop continues this one");
  });

  test("retries within seconds, and writes again once the other instance no longer exists", async () => {
    const world = new ConvergeWorld({ declared: { sameKey: [successor], rules: [blocking("feed", addresses(2))] } });
    const { result, wakeAtMs } = await world.pass();
    expect(result).toMatchObject({ kind: "Blocked", blocker: "Continued" });
    expect((wakeAtMs ?? 0) - world.clock.nowMs()).toBeLessThanOrEqual(2_000);
    world.declare({ sameKey: [] });
    await world.sleepUntil(wakeAtMs);
    await world.pass();
    expect(world.waf.lists.blocklist).toStrictEqual(addresses(2));
  });

  test("is deleted without a call, even with deletionPolicy Delete, once its record has been taken over", async () => {
    const world = new ConvergeWorld({
      declared: { instance: anInstance({ deletionPolicy: "Delete", meta: { deleting: true } }), sameKey: [successor] },
    });
    world.waf.lists.blocklist.push(...addresses(5));
    const name = world.instance;
    world.inventory.put(name, anInventory({ blocklist: addresses(5) }));
    const { result, wakeAtMs } = await world.pass();
    expect(result).toMatchObject({ kind: "Blocked", blocker: "Continued" });
    expect(world.inventory.of(name).entries.blocklist.size).toBe(5);
    await world.inventory.remove(name);
    await world.sleepUntil(wakeAtMs);
    expect((await world.pass()).result).toStrictEqual({ kind: "Gone" });
    expect(world.waf.writes()).toStrictEqual([]);
    expect(world.status.eventReasons()).not.toContain("EntriesLeftBehind");
  });
});
