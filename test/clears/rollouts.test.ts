import { describe, expect, test } from "@jest/globals";
import * as fc from "fast-check";
import type { RolloutRecord, WorkloadSight } from "../../src/model/workload.ts";
import { decideRollouts, rolloutFaultAfter, withRolloutsCleared } from "../../src/clears/rollouts.ts";
import { aCacheClear, anInstance } from "../support/builders/declare.ts";
import { gathered } from "../support/builders/gathered.ts";
import { ConvergeWorld, converged } from "../support/worlds/converge-world.ts";
import { aSight } from "./a-workload.ts";

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

function rollOut(world: ConvergeWorld, revision: number, isComplete = true): void {
  world.declare({ workloads: [aSight(revision, { isComplete })] });
}

function clearStatus(world: ConvergeWorld) {
  return world.status.read(world.instance)?.["cacheClear"];
}

describe("A finished rollout", () => {
  test("clears the cache once, and the instance reports it", async () => {
    const world = await aWorld();
    expect(clearStatus(world)).toMatchObject({ workloads: [{ name: "web", revision: "1", state: "Handled" }] });
    rollOut(world, 2, false);
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

  test("is not cleared for again if it could not be recorded", async () => {
    const world = await aWorld();
    rollOut(world, 2, false);
    await world.pass();
    rollOut(world, 2);
    world.inventory.failNext("Failed");
    await world.pass();
    expect(world.waf.cacheClears).toBe(1);
    await world.clock.advance(3_600_000);
    await world.pass();
    expect(world.waf.cacheClears).toBe(1);
    expect(clearStatus(world)).toMatchObject({ workloads: [{ revision: "2", state: "Handled" }] });
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
});

test("Without a cluster, the instance reports that its list of workloads has no effect", async () => {
  const world = await converged({ instance });
  await world.pass();
  expect(world.status.eventReasons().filter((reason) => reason === "RolloutsIgnored")).toHaveLength(1);
  expect(clearStatus(world)).toMatchObject({ message: expect.stringContaining("without a cluster"), workloads: [] });
  expect(world.waf.cacheClears).toBe(0);
});

const minIntervalMs = 60_000;
const startMs = 1_000_000_000;

/** A simulated instance that checks rollouts and makes the calls that are due; `clears` contains the times of the calls. */
class Looker {
  nowMs = startMs;
  records: readonly RolloutRecord[] = [];
  readonly clears: number[] = [];

  /** Checks after a delay, and makes a call if one is due. */
  look(workloads: readonly WorkloadSight[], afterMs = 0): void {
    this.nowMs += afterMs;
    const { dueMs } = this.decide(workloads);
    if (dueMs !== undefined && dueMs <= this.nowMs) this.clear(workloads);
  }

  decide(
    workloads: readonly WorkloadSight[],
    rolloutFault = undefined as ReturnType<typeof rolloutFaultAfter> | undefined,
  ) {
    const { records, nowMs } = this;
    const memory = { notBefore: () => 0, rolloutFault, unsavedRollouts: undefined };
    const decision = decideRollouts(memory, {
      gathered: gathered({ instance, workloads }),
      records,
      trouble: undefined,
      nowMs,
    });
    this.records = decision.records;
    return decision;
  }

  clear(workloads: readonly WorkloadSight[]): void {
    this.records = withRolloutsCleared(this.records, this.decide(workloads), this.nowMs);
    this.clears.push(this.nowMs - startMs);
  }
}

const unseen: WorkloadSight = { ...aSight(), rollout: undefined, message: "There is no Deployment web." };
const changed = (revision: number): WorkloadSight => aSight(revision, { isComplete: false, isUnobserved: true });
const begun = (revision: number): WorkloadSight => aSight(revision, { isComplete: false });

test.each([
  ["that was complete when first seen clears nothing", [aSight(1), aSight(1)], 0],
  ["that was in progress when first seen clears when it is complete", [begun(1), aSight(1)], 1],
  ["that was complete when first seen, after a change that is none, clears nothing", [changed(1), aSight(1)], 0],
  ["whose change was seen before its controller saw it clears", [changed(1), begun(2), aSight(2)], 1],
  ["is still the same while an annotation is changed", [aSight(1), changed(1), aSight(1)], 0],
  ["clears once when it is complete", [aSight(1), begun(2), begun(2), aSight(2), aSight(2)], 1],
  ["clears even if its beginning was not seen", [aSight(1), aSight(2)], 1],
  ["is still the same while its workload is scaled", [aSight(1), begun(1), aSight(1)], 0],
  [
    "that was rolled back to the same revision clears, since its pods may have responded",
    [aSight(1), begun(2), aSight(1)],
    1,
  ],
  ["of another object clears", [aSight(1), aSight(1, { uid: "u-2" })], 1],
  ["is still known after its workload was missing", [aSight(1), unseen, aSight(1)], 0],
  ["that was made while its workload was missing clears", [aSight(1), unseen, aSight(2)], 1],
])("A rollout %s", (_title, sights, clears) => {
  const looker = new Looker();
  for (const sight of sights) looker.look([sight], minIntervalMs);
  expect(looker.clears).toHaveLength(clears);
});

describe("Rollouts within the interval", () => {
  test("clear at most once per interval, and always at the end, whatever happens when", () => {
    const step = fc.record({
      afterMs: fc.integer({ min: 0, max: 90_000 }),
      begins: fc.boolean(),
      isComplete: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const looker = new Looker();
        looker.look([aSight(0)]);
        let revision = 0;
        for (const { afterMs, begins, isComplete } of steps) {
          revision += begins ? 1 : 0;
          looker.look([aSight(revision, { isComplete })], afterMs);
        }
        const last = looker.clears.length;
        looker.look([aSight(revision)], minIntervalMs);
        looker.look([aSight(revision)], minIntervalMs);
        const gaps = looker.clears.slice(1).map((timeMs, place) => timeMs - (looker.clears[place] ?? 0));
        expect(gaps.every((gapMs) => gapMs >= minIntervalMs)).toBe(true);
        expect(looker.clears.length - last).toBeLessThanOrEqual(1);
        expect(looker.records[0]?.handled).toBe(`u-1/${revision}`);
      }),
    );
  });

  test("are not delayed by a recorded time in the future", () => {
    const looker = new Looker();
    looker.look([aSight(1)]);
    looker.nowMs += 86_400_000;
    looker.look([aSight(2)]);
    looker.nowMs = startMs;
    expect(looker.decide([aSight(3)]).dueMs).toBe(0);
  });
});

test("A failed call for a rollout is repeated with backoff", () => {
  const looker = new Looker();
  looker.look([aSight(1)]);
  let fault: ReturnType<typeof rolloutFaultAfter> | undefined;
  const pauses = Array.from({ length: 40 }, () => {
    fault = rolloutFaultAfter(fault, serverError, startMs);
    return (looker.decide([aSight(2)], fault).dueMs ?? 0) - startMs;
  });
  expect(pauses.slice(0, 3)).toStrictEqual([2000, 4000, 8000]);
  expect(pauses.at(-1)).toBe(300_000);
});
