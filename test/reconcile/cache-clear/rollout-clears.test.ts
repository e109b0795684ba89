import { describe, expect, test } from "@jest/globals";
import type { SeenWorkload } from "../../../src/model/workload.ts";
import { aCacheClear, anInstance } from "../../support/builders/declare.ts";
import { ConvergeWorld, converged } from "../../support/worlds/converge-world.ts";
import { aSight } from "../../support/builders/a-workload.ts";

const instance = anInstance({
  cacheClear: { afterRolloutOf: [{ kind: "Deployment", namespace: "edge", name: "web" }], minIntervalMs: 60_000 },
});
const serverError = { code: "OutcomeUnknown", message: "The WAF answered 500.", status: 500 } as const;

/** An instance that has seen the workload at revision 1. */
async function aWorld(): Promise<ConvergeWorld> {
  const world = await converged({ instance, workloads: [aSight()] });
  expect(world.waf.cacheClears).toBe(0);
  return world;
}

function rollOut(world: ConvergeWorld, revision: number, seen: Partial<SeenWorkload> = {}): void {
  world.declare({ workloads: [aSight({ revision: String(revision), content: String(revision), ...seen })] });
}

function clearStatus(world: ConvergeWorld) {
  return world.status.read(world.instance)?.["cacheClear"];
}

describe("A finished rollout", () => {
  test("clears the cache once, and the instance reports it", async () => {
    const world = await aWorld();
    expect(clearStatus(world)).toMatchObject({ workloads: [{ name: "web", revision: "1", state: "Handled" }] });
    rollOut(world, 2, { isRolledOut: false });
    await world.pass();
    expect(world.waf.cacheClears).toBe(0);
    expect(clearStatus(world)).toMatchObject({ workloads: [{ revision: "2", state: "RollingOut" }] });
    rollOut(world, 2);
    await world.pass();
    expect(world.waf.cacheClears).toBe(1);
    expect(clearStatus(world)).toMatchObject({
      lastClearTime: "2026-01-01T00:00:00Z",
      workloads: [{ kind: "Deployment", namespace: "edge", name: "web", revision: "2", state: "Handled" }],
    });
    expect(world.status.events.filter(({ reason }) => reason === "CacheCleared")).toStrictEqual([
      expect.objectContaining({ type: "Normal", message: expect.stringContaining("Deployment edge/web") }),
    ]);
    expect(await world.clearsAnHourLater()).toBe(1);
  });

  test("waits for the minimum interval since the last clear, and wakes the instance at its end", async () => {
    const world = await aWorld();
    rollOut(world, 2);
    await world.pass();
    await world.clock.advance(10_000);
    rollOut(world, 3);
    const { wakeAtMs } = await world.pass();
    expect(world.waf.cacheClears).toBe(1);
    expect(clearStatus(world)).toMatchObject({ workloads: [{ state: "Pending" }] });
    expect(wakeAtMs).toBe(world.clock.nowMs() + 50_000);
    rollOut(world, 4);
    await world.pass();
    await world.sleepUntil(wakeAtMs);
    await world.pass();
    expect(world.waf.cacheClears).toBe(2);
    expect(clearStatus(world)).toMatchObject({ workloads: [{ revision: "4", state: "Handled" }] });
  });

  test("is retried after failures, with one event for all of them", async () => {
    const world = await aWorld();
    rollOut(world, 2);
    world.waf.failOn({ on: "ClearCache", effect: "Before", fault: serverError, times: 2 });
    for (const delayMs of [2000, 4000]) {
      const { wakeAtMs } = await world.pass();
      expect(wakeAtMs).toBe(world.clock.nowMs() + delayMs);
      await world.sleepUntil(wakeAtMs);
    }
    expect(clearStatus(world)).toMatchObject({ failedAttempts: 2, message: serverError.message });
    await world.pass();
    expect(world.waf.cacheClears).toBe(1);
    expect(clearStatus(world)).not.toHaveProperty("failedAttempts");
    expect(world.status.eventReasons().filter((reason) => reason.startsWith("CacheClear"))).toStrictEqual([
      "CacheClearFailed",
      "CacheCleared",
    ]);
  });

  test("shares one call with waiting objects, in both directions", async () => {
    const world = await aWorld();
    const clear = aCacheClear("deploy");
    rollOut(world, 2);
    world.declare({ cacheClears: [clear] });
    await world.pass();
    expect(world.waf.cacheClears).toBe(1);
    expect(world.status.condition(clear.meta, "Complete")).toBe("True Cleared");
    expect(clearStatus(world)).toMatchObject({ workloads: [{ revision: "2", state: "Handled" }] });
    await world.clock.advance(61_000);
    await world.pass();
    expect(world.waf.cacheClears).toBe(1);
  });

  test("waits while the instance is suspended, and clears the cache afterwards", async () => {
    const world = await aWorld();
    world.declare({ instance: { ...instance, suspend: true } });
    rollOut(world, 2);
    await world.pass();
    expect(world.waf.cacheClears).toBe(0);
    expect(clearStatus(world)).toMatchObject({ workloads: [{ state: "Pending" }] });
    world.restart();
    world.declare({ instance });
    await world.pass();
    expect(world.waf.cacheClears).toBe(1);
  });
});

test("Without a cluster, the instance reports that its list of workloads has no effect", async () => {
  const world = await converged({ instance });
  await world.pass();
  expect(world.status.eventReasons().filter((reason) => reason === "RolloutsIgnored")).toHaveLength(1);
  expect(clearStatus(world)).toMatchObject({ message: expect.stringContaining("without a cluster"), workloads: [] });
  expect(world.waf.cacheClears).toBe(0);
});
