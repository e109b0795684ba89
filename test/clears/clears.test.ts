import { describe, expect, test } from "@jest/globals";
import type { DeclaredCacheClear } from "../../src/model/declared.ts";
import type { ResourceMeta } from "../../src/model/resource.ts";
import type { ReconcileOutcome } from "../../src/run/report.ts";
import { aCacheClear, addresses, blocking } from "../support/builders/declare.ts";
import { anInventory } from "../support/builders/gathered.ts";
import { ConvergeWorld } from "../support/worlds/converge-world.ts";

function aWorld(...cacheClears: readonly DeclaredCacheClear[]): ConvergeWorld {
  return new ConvergeWorld({ declared: { cacheClears } });
}

const serverError = { code: "OutcomeUnknown", message: "The WAF answered 500.", status: 500 } as const;

/** Reconciles, each time when the previous run asked for it, until no clear is pending. */
async function passesUntilCleared(world: ConvergeWorld, passesMax = 20): Promise<ReconcileOutcome[]> {
  const outcomes: ReconcileOutcome[] = [];
  for (let count = 0; count < passesMax; count += 1) {
    const outcome = await world.pass();
    outcomes.push(outcome);
    if (outcome.pendingClears === 0) return outcomes;
    await world.sleepUntil(outcome.wakeAtMs);
  }
  throw new Error("Clears are still pending");
}

function statusOf(world: ConvergeWorld, { meta }: DeclaredCacheClear) {
  return world.status.read(meta) ?? {};
}

function complete(world: ConvergeWorld, { meta }: DeclaredCacheClear): string | undefined {
  return world.status.condition(meta, "Complete");
}

function failed(world: ConvergeWorld, { meta }: DeclaredCacheClear): string | undefined {
  return world.status.condition(meta, "Failed");
}

describe("A WafCacheClear", () => {
  test("clears the cache once, and is then Complete and Ready", async () => {
    const clear = aCacheClear("deploy", { trigger: "4f2a" });
    const world = aWorld(clear);
    const { result, wakeAtMs, pendingClears } = await world.pass();
    expect({ result, pendingClears }).toStrictEqual({ result: { kind: "Done" }, pendingClears: 0 });
    expect(world.waf.cacheClears).toBe(1);
    expect(statusOf(world, clear)).toMatchObject({
      observedGeneration: 1,
      startTime: "2026-01-01T00:00:00Z",
      completionTime: "2026-01-01T00:00:00Z",
      lastAttemptTime: "2026-01-01T00:00:00Z",
      attempts: 1,
      lastTrigger: "4f2a",
    });
    expect(complete(world, clear)).toBe("True Cleared");
    expect(world.status.condition(clear.meta, "Accepted")).toBe("True Accepted");
    expect(world.status.condition(clear.meta, "Ready")).toBe("True Cleared");
    expect(world.status.condition(clear.meta, "Reconciling")).toBeUndefined();
    expect(failed(world, clear)).toBeUndefined();
    expect(world.status.eventReasons()).toStrictEqual(["CacheCleared"]);
    expect(wakeAtMs).toBe(world.clock.nowMs() + 300_000);
    expect(world.owned().handledTriggers).toStrictEqual([
      { cacheClear: "edge/deploy", trigger: "4f2a", handledAtMs: world.clock.nowMs() },
    ]);
    expect(await world.clearsAnHourLater()).toBe(1);
  });

  test("is first reported as waiting, and its attempt is recorded before the call", async () => {
    const clear = aCacheClear("deploy");
    const world = aWorld(clear);
    const seen: unknown[] = [];
    world.onCall(({ name }) => {
      if (name === "ReadList" || name === "ClearCache") {
        seen.push([name, complete(world, clear), statusOf(world, clear)["attempts"]]);
      }
    });
    await world.pass();
    expect(seen).toStrictEqual([
      ["ReadList", "False Pending", undefined],
      ["ReadList", "False Pending", undefined],
      ["ClearCache", "False Pending", 1],
    ]);
    expect(statusOf(world, clear)).not.toHaveProperty("lastTrigger");
  });
});

describe("Objects that wait together", () => {
  const ten = Array.from({ length: 10 }, (_, index) => aCacheClear(`deploy-${index}`, { trigger: "a" }));

  test("are all completed by one call, and name the object that it was made for", async () => {
    const world = aWorld(...ten);
    await world.pass();
    expect(world.waf.cacheClears).toBe(1);
    const states = ten.map((clear) => [complete(world, clear), statusOf(world, clear)["coalescedWith"]]);
    expect(states[0]).toStrictEqual(["True Cleared", undefined]);
    for (const state of states.slice(1)) expect(state).toStrictEqual(["True Cleared", "edge/deploy-0"]);
    expect(world.owned().handledTriggers).toHaveLength(10);
    expect(world.status.eventReasons()).toStrictEqual(ten.map(() => "CacheCleared"));
  });

  test("are not completed by a call that began before they existed", async () => {
    const [first, second] = [aCacheClear("first"), aCacheClear("second")];
    const world = aWorld(first);
    world.at("ClearCache", 1, () => world.declare({ cacheClears: [first, second] }));
    await world.pass();
    expect(complete(world, second)).not.toBe("True Cleared");
    await passesUntilCleared(world);
    expect(complete(world, second)).toBe("True Cleared");
    expect(world.waf.cacheClears).toBe(2);
  });

  test("also complete an object that waits for its next attempt", async () => {
    const first = aCacheClear("first");
    const world = aWorld(first);
    world.waf.failOn({ on: "ClearCache", effect: "Before", fault: serverError, times: 3 });
    await world.sleepUntil((await world.pass()).wakeAtMs);
    await world.sleepUntil((await world.pass()).wakeAtMs);
    const { wakeAtMs } = await world.pass();
    expect(wakeAtMs).toBe(world.clock.nowMs() + 8_000);
    await world.clock.advance(3_000);
    const second = aCacheClear("second");
    await world.pass({ cacheClears: [first, second] });
    expect(world.waf.cacheClears).toBe(1);
    expect(complete(world, first)).toBe("True Cleared");
    expect(statusOf(world, first)).toMatchObject({ attempts: 3, coalescedWith: "edge/second" });
    expect(complete(world, second)).toBe("True Cleared");
  });
});

test("A cache clear during a long plan is made between two entries, as soon as it is declared", async () => {
  const world = new ConvergeWorld({ declared: { rules: [blocking("feed", addresses(200))] } });
  world.at("AddEntry", 50, () => world.declare({ cacheClears: [aCacheClear("x")] }));
  expect((await world.pass()).result).toStrictEqual({ kind: "Done" });
  expect(world.waf.writes().indexOf("ClearCache")).toBe(50);
  expect(world.waf.count("AddEntry")).toBe(200);
  expect(world.waf.count("ClearCache")).toBe(1);
});

test("A cache clear that fails is retried later, counts its attempts, and stops nothing else", async () => {
  const clear = aCacheClear("deploy");
  const world = new ConvergeWorld({
    declared: { rules: [blocking("feed", addresses(3))], cacheClears: [clear] },
  });
  world.waf.failOn({ on: "ClearCache", effect: "Before", fault: serverError, times: 2 });
  const first = await world.pass();
  expect(first).toMatchObject({ result: { kind: "Done" }, pendingClears: 1, wakeAtMs: world.clock.nowMs() + 2_000 });
  expect(world.waf.count("AddEntry")).toBe(3);
  expect(complete(world, clear)).toBe("False Pending");
  expect(world.status.condition(clear.meta, "Reconciling")).toBe("True Pending");
  expect(statusOf(world, clear)).toMatchObject({ attempts: 1, message: "The WAF answered 500." });
  const outcomes = await passesUntilCleared(world);
  expect(outcomes).toHaveLength(3);
  expect(statusOf(world, clear)).toMatchObject({ attempts: 3 });
  expect(complete(world, clear)).toBe("True Cleared");
  expect(world.clock.nowMs() - Date.UTC(2026, 0, 1)).toBe(6_000);
});

test("A process that is asked to stop starts no cache clear, and the next process does", async () => {
  const clear = aCacheClear("deploy");
  const world = aWorld(clear);
  world.at("ReadList", 2, () => world.stop());
  expect((await world.pass()).result).toStrictEqual({ kind: "Interrupted" });
  expect(world.waf.count("ClearCache")).toBe(0);
  world.restart();
  await passesUntilCleared(world);
  expect(world.waf.cacheClears).toBe(1);
});

test("A cache clear that could not be recorded in the inventory is taken from the status later", async () => {
  const clear = aCacheClear("deploy", { trigger: "a" });
  const world = aWorld(clear);
  world.inventory.put({ namespace: "edge", name: "shop" }, anInventory());
  world.inventory.failNext("Failed");
  expect((await world.pass()).result).toMatchObject({ blocker: "InventoryUnwritable" });
  expect(complete(world, clear)).toBe("True Cleared");
  world.restart();
  await world.pass();
  expect(world.owned().handledTriggers).toStrictEqual([
    { cacheClear: "edge/deploy", trigger: "a", handledAtMs: Date.UTC(2026, 0, 1) },
  ]);
  expect(world.waf.cacheClears).toBe(1);
});

test("Cache clears wait until an unreachable WAF is reachable again, and their deadlines keep running", async () => {
  const patient = aCacheClear("patient", { activeDeadlineMs: 3_600_000 });
  const hasty = aCacheClear("hasty", { activeDeadlineMs: 20_000 });
  const world = aWorld(patient, hasty);
  const fault = { code: "Unavailable", message: "No connection to the WAF." } as const;
  world.waf.failOn({ on: "ReadOrigins", effect: "Before", fault, times: 6 });
  const startMs = world.clock.nowMs();
  let failedAtMs: number | undefined;
  for (let pass = 0; pass < 40 && complete(world, patient) !== "True Cleared"; pass += 1) {
    const { wakeAtMs } = await world.pass();
    if (failed(world, hasty) !== undefined) failedAtMs ??= world.clock.nowMs();
    await world.sleepUntil(wakeAtMs);
  }
  expect(failedAtMs).toBe(startMs + 20_000);
  expect(world.status.message(hasty.meta, "Failed")).toContain("No connection to the WAF.");
  expect(failed(world, hasty)).toBe("True Failed");
  expect(complete(world, patient)).toBe("True Cleared");
  expect(statusOf(world, patient)).toMatchObject({ startTime: "2026-01-01T00:00:00Z", attempts: 1 });
  expect(world.waf.cacheClears).toBe(1);
});

test("An object is deleted in a cluster when its time to live has passed, and the instance wakes for this", async () => {
  const clear = aCacheClear("deploy", { ttlAfterFinishedMs: 60_000 });
  const world = aWorld(clear);
  const removed: ResourceMeta[] = [];
  Object.assign(world.source, { removeObject: async (meta: ResourceMeta) => void removed.push(meta) });
  const { wakeAtMs } = await world.pass();
  expect(wakeAtMs).toBe(world.clock.nowMs() + 60_000);
  expect(removed).toStrictEqual([]);
  world.restart();
  await world.sleepUntil(wakeAtMs);
  await world.pass();
  expect(removed).toStrictEqual([clear.meta]);
  expect(world.waf.cacheClears).toBe(1);
});
