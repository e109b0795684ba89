// The release of an instance: managed entries are removed, foreign entries stay, and entries that stay are reported.
import { countManaged } from "../../src/model/inventory.ts";
import { describe, expect, test } from "@jest/globals";
import { ApiKey } from "../../src/model/api-key.ts";
import { addresses, anInstance, anOrigin, blocking, type InstanceOverrides } from "../support/builders/declare.ts";
import type { WafFault } from "../../src/model/waf-result.ts";
import { ConvergeWorld, converged } from "../support/worlds/converge-world.ts";

const foreign = "203.0.113.7";
const meta = { deleting: true };
const missingKey = { state: "Missing", problem: "Secret edge/shop-key does not exist." } as const;

/** An instance with three entries and an origin, which is deleted. */
async function deletedWorld(overrides: InstanceOverrides = {}): Promise<ConvergeWorld> {
  const world = new ConvergeWorld();
  world.waf.lists.blocklist.push(foreign);
  await world.pass({ rules: [blocking("feed", addresses(3))], origins: [anOrigin("a.example")] });
  world.declare({ instance: anInstance({ consistencyWindowMs: 0, ...overrides, meta }) });
  return world;
}

describe("The deletion of an instance", () => {
  test("removes only the managed entries, whatever rules, guards and policies say, and then the finalizer", async () => {
    const policies = { blocklist: "Exclusive", allowlist: "Exclusive" } as const;
    const world = await deletedWorld({ guards: { maxRemovals: 1 }, policies });
    expect(world.lifecycle.isHeld(world.instance)).toBe(true);
    expect((await world.pass()).result).toStrictEqual({ kind: "Gone" });
    expect(world.waf.lists.blocklist).toStrictEqual([foreign]);
    expect(world.waf.origins.size).toBe(0);
    expect(world.lifecycle.isHeld(world.instance)).toBe(false);
    expect(world.status.eventReasons()).not.toContain("EntriesLeftBehind");
  });

  test("removes the finalizer only after a second read, because the first may be older than the last write", async () => {
    const world = await deletedWorld({ consistencyWindowMs: 5_000 });
    const { result, wakeAtMs } = await world.pass();
    expect(result).toStrictEqual({ kind: "Done" });
    expect(world.lifecycle.isHeld(world.instance)).toBe(true);
    expect(world.waf.lists.blocklist).toStrictEqual([foreign]);
    // It was missing only in a stale response of the API.
    world.waf.lists.blocklist.push("198.18.0.1");
    await world.sleepUntil(wakeAtMs);
    await world.passesUntilGone();
    expect(world.waf.lists.blocklist).toStrictEqual([foreign]);
    expect(world.lifecycle.isHeld(world.instance)).toBe(false);
  });

  test.each([
    ["with entries", true],
    ["without entries", false],
  ])(
    "of a WAF %s keeps the record of the entries on the WAF of another domain, and reports them",
    async (_, hasEntries) => {
      const rules = [blocking("feed", addresses(2))];
      const world = await converged({ rules });
      world.waf.domain = "staging.shop.example";
      world.waf.lists.blocklist.splice(0);
      world.waf.keys.add("the-key-of-staging");
      const moved = { expectedDomain: "staging.shop.example", consistencyWindowMs: 0 };
      const key = { state: "Present", key: new ApiKey("the-key-of-staging") } as const;
      const instance = anInstance({ ...moved, meta: { generation: 2 } });
      await world.pass({ rules: hasEntries ? rules : [], instance, key });
      world.declare({ instance: anInstance({ ...moved, meta: { ...meta, generation: 3 } }) });
      await world.passesUntilGone();
      expect(world.waf.lists.blocklist).toStrictEqual([]);
      expect([...world.owned().otherDomains.keys()]).toStrictEqual(["shop.example"]);
      expect(world.status.events.at(-1)).toMatchObject({
        reason: "EntriesRetained",
        message: expect.stringContaining("that wafsync added for shop.example stay there. Their record is kept"),
      });
    },
  );

  test("is confirmed by a fresh read first: a stale cache may show the deletion of a former instance that was recreated", async () => {
    const world = await deletedWorld();
    world.restart();
    world.source.freezeCache();
    const { result } = await world.pass({ instance: anInstance({ meta: { uid: "created-again" } }) });
    expect(result).toStrictEqual({ kind: "Done" });
    expect(world.waf.lists.blocklist).toStrictEqual([foreign, ...addresses(3)]);
    expect([...world.waf.origins.keys()]).toStrictEqual(["a.example"]);
    expect(countManaged(world.owned())).toBe(4);
  });

  test("waits while a fresh read fails, but not forever", async () => {
    const world = await deletedWorld();
    world.source.failConfirm("The API server can't be reached.");
    expect((await world.pass()).result).toMatchObject({ kind: "Blocked", blocker: "Unconfirmed" });
    expect(world.waf.lists.blocklist).toStrictEqual([foreign, ...addresses(3)]);
    expect((await world.passAfter(600_000)).result).toStrictEqual({ kind: "Gone" });
    expect(world.status.eventReasons()).toContain("EntriesLeftBehind");
    expect(countManaged(world.owned())).toBe(4);
  });

  test.each([
    ["deletionPolicy is Retain", { deletionPolicy: "Retain" }, "EntriesRetained", 4],
    ["it is suspended", { suspend: true }, "EntriesLeftBehind", 0],
  ] as const)("leaves all entries if %s, and reports their number", async (_, overrides, told, recorded) => {
    const world = await deletedWorld(overrides);
    const writes = world.waf.writes().length;
    expect((await world.pass()).result).toStrictEqual({ kind: "Gone" });
    expect(world.waf.writes()).toHaveLength(writes);
    const event = world.status.events.find(({ reason }) => reason === told);
    expect(event?.message).toMatch(/^4 managed entries and origins stay on the WAF: /u);
    expect(countManaged(world.owned())).toBe(recorded);
  });

  test.each([
    ["deletionPolicy becomes Retain", { deletionPolicy: "Retain" }, "EntriesRetained"],
    ["it is suspended", { suspend: true }, "EntriesLeftBehind"],
  ] as const)("removes nothing further once %s", async (_, overrides, reason) => {
    const world = await deletedWorld();
    world.at("RemoveEntry", 1, () => world.declare({ instance: anInstance({ ...overrides, meta }) }));
    await world.passesUntilGone();
    expect(world.waf.writes().filter((write) => write.startsWith("RemoveEntry"))).toHaveLength(1);
    expect(world.status.eventReasons()).toContain(reason);
  });

  test("removes nothing if only a stale cache lacks the policy Retain", async () => {
    const world = await deletedWorld();
    world.source.freezeCache();
    const { result } = await world.pass({ instance: anInstance({ deletionPolicy: "Retain", meta }) });
    expect(result).toStrictEqual({ kind: "Gone" });
    expect(world.waf.lists.blocklist).toStrictEqual([foreign, ...addresses(3)]);
    expect(world.status.eventReasons()).toContain("EntriesRetained");
  });

  test("uses the last known key if the Secret is already deleted", async () => {
    const world = await deletedWorld();
    expect((await world.pass({ key: missingKey })).result).toStrictEqual({ kind: "Gone" });
    expect(world.waf.lists.blocklist).toStrictEqual([foreign]);
  });

  test.each([
    ["its base URL is another one", { baseUrl: "https://elsewhere.example", meta }],
    ["another instance has its name", { meta: { ...meta, uid: "another-uid" } }],
  ])("does not send the last known key if %s", async (_, overrides) => {
    const world = await deletedWorld();
    const calls = world.waf.calls.length;
    const { result } = await world.pass({ instance: anInstance(overrides), key: missingKey });
    expect(result).toStrictEqual({ kind: "Gone" });
    expect(world.waf.calls).toHaveLength(calls);
    expect(world.status.eventReasons()).toContain("EntriesLeftBehind");
  });

  test("without any key leaves all entries and reports this, instead of waiting forever", async () => {
    const world = await deletedWorld();
    world.declare({ key: missingKey });
    world.restart();
    expect((await world.pass()).result).toStrictEqual({ kind: "Gone" });
    expect(world.status.eventReasons()).toContain("EntriesLeftBehind");
  });

  const failing = (fault: WafFault) => (world: ConvergeWorld) =>
    world.waf.failOn({ on: "Any", times: 1_000, effect: "Before", fault });
  const limited = { status: 429, retryAfterMs: 3_600_000 };
  const stay = "4 managed entries and origins stay";

  test.each<[string, (world: ConvergeWorld) => void, string]>([
    ["a WAF that can't be reached", failing({ code: "Unavailable", message: "It can't be reached." }), stay],
    ["a WAF whose API key was refused", failing({ code: "BadApiKey", message: "The key is wrong." }), stay],
    ["a WAF that asks to wait for an hour", failing({ code: "RateLimited", message: "Wait (429).", ...limited }), stay],
    [
      "an unreadable inventory",
      (world) => world.inventory.makeUnreadable("The inventory is damaged: shard 1 is missing."),
      "An unknown number of managed entries and origins stay",
    ],
  ])("waits for %s for ten minutes and no longer", async (_, strike, said) => {
    const world = await deletedWorld();
    strike(world);
    const startMs = world.clock.nowMs();
    await world.passesUntilGone(40);
    expect(world.clock.nowMs() - startMs).toBe(600_000);
    expect(world.status.events.at(-1)).toMatchObject({
      reason: "EntriesLeftBehind",
      message: expect.stringContaining(said),
    });
  });

  test("continues for as long as it removes entries, however slowly", async () => {
    const world = await deletedWorld();
    const managed = countManaged(world.owned());
    expect(managed).toBeGreaterThan(2);
    const startMs = world.clock.nowMs();
    const fault = { code: "Unavailable", message: "The WAF can't be reached." } as const;
    for (let passes = 0; passes < 40; passes += 1) {
      world.waf.failOn({ on: "Write", nth: 2, times: 1, effect: "Before", fault });
      const { result } = await world.pass();
      if (result.kind === "Gone") break;
      await world.clock.advance(301_000);
    }
    expect(world.clock.nowMs() - startMs).toBeGreaterThan(600_000);
    expect(world.status.eventReasons()).not.toContain("EntriesLeftBehind");
  });

  test("ends although another writer adds every removed entry again", async () => {
    const world = await deletedWorld({ consistencyWindowMs: 5_000 });
    const startMs = world.clock.nowMs();
    world.onCall((call) => {
      if (call.name !== "ReadList") return;
      world.waf.lists.blocklist = [...new Set([...world.waf.lists.blocklist, ...addresses(3)])];
    });
    for (let passes = 0; passes < 200; passes += 1) {
      const { result, wakeAtMs } = await world.pass();
      if (result.kind === "Gone") break;
      await world.sleepUntil(wakeAtMs);
    }
    expect(world.clock.nowMs() - startMs).toBeLessThanOrEqual(605_000);
    expect(world.lifecycle.isHeld(world.instance)).toBe(false);
  });
});
