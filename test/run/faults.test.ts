import { describe, expect, test } from "@jest/globals";
import { ApiKey } from "../../src/model/api-key.ts";
import { addresses, anOrigin, blocking } from "../support/builders/declare.ts";
import { anInventory, entry, anOwnedOrigin } from "../support/builders/gathered.ts";
import { ConvergeWorld } from "../support/worlds/converge-world.ts";
import type { WafFaultRule } from "../support/fakes/fake-waf.ts";

const unknown = { code: "OutcomeUnknown", message: "No answer came within 10 s." } as const;
const kinds: Readonly<Record<string, Pick<WafFaultRule, "effect" | "fault">>> = {
  "a timeout before the effect": { effect: "Before", fault: unknown },
  "a timeout after the effect": { effect: "After", fault: unknown },
  "a 400 without an effect": { effect: "Before", fault: { code: "Rejected", message: "Not now", status: 400 } },
  "a 429 that says when": {
    effect: "Before",
    fault: { code: "RateLimited", message: "The WAF asks to wait for 7 s (429).", status: 429, retryAfterMs: 7_000 },
  },
  "a 429 that says nothing": {
    effect: "Before",
    fault: { code: "RateLimited", message: "The WAF asks to wait (429).", status: 429 },
  },
  "a connection that can't be made": {
    effect: "Before",
    fault: { code: "Unavailable", message: "The WAF can't be reached." },
  },
  "a wrong key": { effect: "Before", fault: { code: "BadApiKey", message: "The API says that the key is wrong." } },
  "a crash before the effect": { effect: "Before", fault: "Crash" },
  "a crash after the effect": { effect: "After", fault: "Crash" },
};

/** A world in which six entries must be added and three removed, and one origin added and one removed. */
function busyWorld(): ConvergeWorld {
  const world = new ConvergeWorld({
    declared: { rules: [blocking("feed", addresses(6))], origins: [anOrigin("a.example")] },
  });
  const gone = addresses(3, 100);
  world.inventory.put(
    world.instance,
    anInventory({
      blocklist: gone,
      origins: { "old.example": anOwnedOrigin({ type: "Backup" }) },
    }),
  );
  world.waf.lists.blocklist.push("203.0.113.9", ...gone);
  world.waf.origins.set("old.example", "Backup");
  return world;
}

async function expectDeclared(world: ConvergeWorld): Promise<void> {
  await world.clock.advance(world.declared().instance.consistencyWindowMs);
  await world.passesUntilDone();
  expect(world.waf.lists.blocklist.toSorted()).toStrictEqual([...addresses(6), "203.0.113.9"].toSorted());
  expect([...world.owned().entries.blocklist.keys()].toSorted()).toStrictEqual(addresses(6).map(entry).toSorted());
  expect(world.waf.origins.get("a.example")).toBe("Alternate");
  expect([...world.owned().origins.keys()]).toStrictEqual(["a.example"]);
  expect(world.owned().origins.get("a.example")?.addedAtMs).toBeDefined();
  expect(world.waf.overlaps).toBe(0);
  expect(world.status.condition(world.instance, "Ready")).toBe("True Synced");
}

describe.each(Object.entries(kinds))("After %s", (kind, fault) => {
  test.each([1, 2, 3, 5, 7, 8, 10, 11])("at write %d, the declared state is reached", async (nth) => {
    const world = busyWorld();
    world.waf.failOn({ on: "Write", nth, ...fault });
    await world.passesUntilDone();
    if (kind === "a 400 without an effect") await passRefusals(world);
    await expectDeclared(world);
    const calls = world.waf.writes().length;
    await world.pass();
    expect(world.waf.writes()).toHaveLength(calls);
  });

  test("at three consecutive writes, the declared state is reached", async () => {
    const world = busyWorld();
    world.waf.failOn({ on: "Write", nth: 4, times: 3, ...fault });
    await world.passesUntilDone();
    if (kind === "a 400 without an effect") await passRefusals(world);
    await expectDeclared(world);
  });

  test.each([1, 2, 3, 4])("at read %d, the declared state is reached", async (nth) => {
    const world = busyWorld();
    world.waf.failOn({ on: "Read", nth, ...fault });
    await world.passesUntilDone();
    await expectDeclared(world);
  });
});

/** Refused writes are retried after an hour. */
async function passRefusals(world: ConvergeWorld): Promise<void> {
  await world.clock.advance(3_600_001);
  await world.passesUntilDone();
}

describe("A write that the API refuses", () => {
  test("is not retried within the hour, but after it", async () => {
    const world = new ConvergeWorld({ declared: { rules: [blocking("feed", ["192.0.2.1", "192.0.2.2"])] } });
    world.waf.refusedTexts.add("192.0.2.1");
    const rule = world.declared().rules[0]!.rule.meta;
    await world.pass();
    expect(world.waf.lists.blocklist).toStrictEqual(["192.0.2.2"]);
    expect(world.status.condition(rule, "Ready")).toBe("False Rejected");
    expect(world.status.read(rule)).toMatchObject({
      entries: { desired: 2, synced: 1, pending: 0, rejected: 1 },
      rejected: [{ entry: "192.0.2.1", source: "the WAF's API", message: "192.0.2.1 is not accepted." }],
    });
    expect(world.owned().entries.blocklist.has(entry("192.0.2.1"))).toBe(false);
    await world.passAfter(3_599_000);
    world.restart();
    await world.pass();
    expect(world.waf.count("AddEntry")).toBe(2);
    expect(world.status.eventReasons().filter((reason) => reason === "Rejected")).toHaveLength(2);
    world.waf.refusedTexts.clear();
    await world.passAfter(2_000);
    expect(world.waf.lists.blocklist).toStrictEqual(["192.0.2.2", "192.0.2.1"]);
    expect(world.status.condition(rule, "Ready")).toBe("True Synced");
  });

  test("is known to the next turn if the run has to yield right after it", async () => {
    const feed = addresses(4);
    const world = new ConvergeWorld({ declared: { rules: [blocking("feed", feed)] } });
    world.waf.refusedTexts.add(feed[0] ?? "");
    world.isTurnOver = () => true;
    const kinds: string[] = [];
    for (let turn = 0; turn < 6 && kinds.at(-1) !== "Done"; turn += 1) kinds.push((await world.pass()).result.kind);
    expect(kinds.at(-1)).toBe("Done");
    expect(world.waf.lists.blocklist).toStrictEqual(feed.slice(1));
    expect(world.waf.count("AddEntry")).toBe(4);
  });

  test("ends the run as Rejected, however many are refused, and none is retried within the hour", async () => {
    const feed = addresses(2_600);
    const world = new ConvergeWorld({ declared: { rules: [blocking("feed", feed)] } });
    const rule = world.declared().rules[0]!.rule.meta;
    for (const text of feed.slice(100)) world.waf.refusedTexts.add(text);
    expect((await world.pass()).result).toStrictEqual({ kind: "Done" });
    expect(world.waf.count("AddEntry")).toBe(2_600);
    expect(world.status.condition(rule, "Ready")).toBe("False Rejected");
    expect(world.status.read(rule)).toMatchObject({ entries: { synced: 100, pending: 0, rejected: 2_500 } });
    await world.passAfter(600_000);
    expect(world.waf.count("AddEntry")).toBe(2_600);
    await world.passAfter(3_600_000);
    expect(world.waf.count("AddEntry")).toBe(5_100);
  });

  test("is a success if another writer made the same change first, and the entry is foreign", async () => {
    const world = new ConvergeWorld({ declared: { rules: [blocking("feed", ["192.0.2.1", "192.0.2.2"])] } });
    world.at("AddEntry", 1, () => world.waf.lists.blocklist.push("192.0.2.1"));
    await world.pass();
    expect([...world.owned().entries.blocklist.keys()]).toStrictEqual(["192.0.2.2"]);
    expect(world.status.condition(world.instance, "Ready")).toBe("True Synced");
  });
});

test("An entry of another writer is foreign if a read shows it before wafsync has sent it", async () => {
  const world = new ConvergeWorld({ declared: { rules: [blocking("feed", addresses(5))] } });
  const theirs = addresses(1, 4)[0]!;
  world.waf.failOn({ on: "AddEntry", nth: 2, effect: "After", fault: unknown });
  world.at("AddEntry", 2, () => world.waf.lists.blocklist.push(theirs));
  await world.pass();
  expect(world.waf.lists.blocklist).toHaveLength(5);
  expect(world.owned().entries.blocklist.has(entry(theirs))).toBe(false);
  expect(world.owned().entries.blocklist.size).toBe(4);
  await world.pass({ rules: [] });
  expect(world.waf.lists.blocklist).toStrictEqual([theirs]);
});

describe("A WAF that limits the rate of requests", () => {
  test("is not called for as long as it asks, and the status says why", async () => {
    const world = new ConvergeWorld({ declared: { rules: [blocking("feed", addresses(8))] }, latencyMs: 500 });
    const fault = {
      code: "RateLimited",
      message: "The WAF asks to wait for 60 s (429).",
      retryAfterMs: 60_000,
    } as const;
    world.waf.failOn({ on: "AddEntry", nth: 7, effect: "Before", fault });
    const { promise, isOver } = world.begin();
    await world.clock.advanceUntil(() => world.waf.calls.some(({ outcome }) => outcome === "RateLimited"), 60_000);
    await world.clock.advance(5_000);
    expect(world.status.message(world.declared().rules[0]!.rule.meta, "Synced")).toContain(
      "Waiting: the API limits the rate of requests, resuming in 60 s.",
    );
    // The observer of the wait also gets its duration.
    expect(world.waits).toStrictEqual(["the API limits the rate of requests"]);
    await world.clock.advanceUntil(isOver, 120_000);
    expect((await promise).result).toStrictEqual({ kind: "Done" });
    const sixth = world.waf.calls.findIndex(({ outcome }) => outcome === "RateLimited");
    expect(world.waf.calls[sixth + 1]!.atMs - world.waf.calls[sixth]!.atMs).toBeGreaterThanOrEqual(60_000);
    expect(world.waf.count("AddEntry")).toBe(9);
  });

  test("repeatedly makes the whole instance back off", async () => {
    const world = new ConvergeWorld({ declared: { rules: [blocking("feed", addresses(2))] } });
    const fault = { code: "RateLimited", message: "The WAF asks to wait (429)." } as const;
    world.waf.failOn({ on: "AddEntry", times: 100, effect: "Before", fault });
    const { result } = await world.pass();
    expect(result.kind).toBe("Failed");
    expect(world.waf.count("AddEntry")).toBe(11);
    expect(world.status.condition(world.instance, "Ready")).toBe("False ApiUnavailable");
  });
});

test("An invalid key costs one call for each attempt, with increasing delays, until there is another key", async () => {
  const world = new ConvergeWorld({ declared: { rules: [blocking("feed", addresses(2))] } });
  world.waf.keys.clear();
  const waits: number[] = [];
  for (let count = 1; count <= 10; count += 1) {
    const { result, wakeAtMs } = await world.pass();
    expect(result).toMatchObject({ kind: "Failed", fault: { code: "BadApiKey" } });
    expect(world.waf.calls).toHaveLength(count);
    waits.push(wakeAtMs! - world.clock.nowMs());
    await world.passAfter(wakeAtMs! - world.clock.nowMs() - 1);
    expect(world.waf.calls).toHaveLength(count);
    await world.clock.advance(1);
  }
  expect(waits[0]).toBeGreaterThanOrEqual(1_000);
  expect(waits[5]).toBeGreaterThanOrEqual(32_000);
  expect(waits.at(-1)).toBe(300_000);
  expect(world.status.condition(world.instance, "Ready")).toBe("False BadApiKey");
  expect(world.status.eventReasons()).toStrictEqual(["BadApiKey"]);
  await world.pass();
  const calls = world.waf.calls.length;
  world.waf.keys.add("a-key-of-the-tests-2");
  expect(
    (await world.pass({ key: { state: "Present", key: new ApiKey("a-key-of-the-tests-2") } })).result,
  ).toStrictEqual({ kind: "Done" });
  expect(world.waf.calls.length).toBeGreaterThan(calls);
  expect(world.status.eventReasons().filter((reason) => reason === "Recovered")).toHaveLength(1);
});
