import { describe, expect, test } from "@jest/globals";
import * as fc from "fast-check";
import type { ObservedWorkload } from "../../src/model/gathered.ts";
import { caseCount } from "../support/builders/case-count.ts";
import { aCacheClear, anInstance } from "../support/builders/declare.ts";
import { ConvergeWorld, converged } from "../support/worlds/converge-world.ts";

const minIntervalMs = 60_000;
const instance = anInstance({
  cacheClear: { afterRolloutOf: [{ kind: "Deployment", namespace: "edge", name: "web" }], minIntervalMs },
});

/** The Deployment `edge/web` at a revision. */
function web(revision: number, state: ObservedWorkload["state"], uid = "u-1"): ObservedWorkload {
  return { workload: "Deployment edge/web", state, rollout: `${uid}/${revision}` };
}

const complete = (revision: number, uid?: string) => web(revision, "Complete", uid);
const begun = (revision: number) => web(revision, "RollingOut");
const changed = (revision: number) => web(revision, "Unobserved");
const unseen: ObservedWorkload = { ...web(0, "NotSeen"), rollout: "", why: "There is no Deployment web." };

/** A run after the workload has changed, and the number of cache clears until then. */
async function seen(world: ConvergeWorld, workload: ObservedWorkload, afterMs = 0): Promise<number> {
  await world.clock.advance(afterMs);
  await world.pass({ workloads: [workload] });
  return world.waf.cacheClears;
}

function status(world: ConvergeWorld) {
  return world.status.read(world.instance)?.["rollouts"];
}

describe("A complete rollout", () => {
  test("clears the cache once, and the instance reports it", async () => {
    const world = await converged({ instance, workloads: [complete(1)] });
    expect(status(world)).toMatchObject([{ workload: "Deployment edge/web", state: "Handled" }]);
    expect(await seen(world, begun(2))).toBe(0);
    expect(status(world)).toMatchObject([{ state: "RollingOut", message: expect.stringContaining("Revision 2") }]);
    expect(await seen(world, complete(2))).toBe(1);
    const message = "Revision 2 was followed by a clear at 2026-01-01T00:00:00Z.";
    expect(status(world)).toStrictEqual([{ workload: "Deployment edge/web", state: "Handled", message }]);
    expect(world.status.events.filter(({ reason }) => reason === "CacheCleared")).toStrictEqual([
      expect.objectContaining({ type: "Normal", message: expect.stringContaining("Deployment edge/web") }),
    ]);
    expect(await world.clearsAnHourLater()).toBe(1);
  });

  test("waits for the minimum interval since the last clear, and wakes the instance at its end", async () => {
    const world = await converged({ instance, workloads: [complete(1)] });
    await seen(world, complete(2));
    await world.clock.advance(10_000);
    const { wakeAtMs } = await world.pass({ workloads: [complete(3)] });
    expect(world.waf.cacheClears).toBe(1);
    expect(status(world)).toMatchObject([{ state: "Pending", message: expect.stringContaining("minInterval") }]);
    expect(wakeAtMs).toBe(world.clock.nowMs() + 50_000);
    await seen(world, complete(4));
    await world.sleepUntil(wakeAtMs);
    expect(await seen(world, complete(4))).toBe(2);
    expect(status(world)).toMatchObject([{ state: "Handled", message: expect.stringContaining("Revision 4") }]);
  });

  test("is not cleared for again if it could not be recorded", async () => {
    const world = await converged({ instance, workloads: [complete(1)] });
    await seen(world, begun(2));
    world.inventory.failNext("Failed");
    expect(await seen(world, complete(2))).toBe(1);
    expect(await seen(world, complete(2), 3_600_000)).toBe(1);
    expect(status(world)).toMatchObject([{ state: "Handled", message: expect.stringContaining("Revision 2") }]);
  });

  test("clears after its rollback even if its beginning could not be recorded", async () => {
    const world = await converged({ instance, workloads: [complete(1)] });
    world.inventory.failNext("Failed");
    await seen(world, begun(2));
    expect(await seen(world, complete(1), minIntervalMs)).toBe(1);
  });

  test("shares one call with waiting objects, in both directions", async () => {
    const world = await converged({ instance, workloads: [complete(1)] });
    const clear = aCacheClear("deploy");
    world.declare({ cacheClears: [clear] });
    expect(await seen(world, complete(2))).toBe(1);
    expect(world.status.condition(clear.meta, "Complete")).toBe("True Cleared");
    expect(status(world)).toMatchObject([{ state: "Handled", message: expect.stringContaining("Revision 2") }]);
    expect(await seen(world, complete(2), 61_000)).toBe(1);
  });

  test("is retried with backoff until the cache is cleared, with one event for each kind of failure", async () => {
    const world = await converged({ instance, workloads: [complete(1)] });
    const fault = { code: "Unavailable", message: "The WAF answered 503.", status: 503 } as const;
    world.waf.failOn({ on: "ClearCache", effect: "Before", fault, times: 8 });
    const startMs = world.clock.nowMs();
    let clears = await seen(world, complete(2));
    expect(status(world)).toMatchObject([{ state: "Pending", message: expect.stringContaining("503") }]);
    for (let run = 0; run < 20 && clears === 0; run += 1) {
      const { wakeAtMs } = await world.pass();
      clears = world.waf.cacheClears;
      if (clears === 0) await world.sleepUntil(wakeAtMs);
    }
    expect(clears).toBe(1);
    expect((world.clock.nowMs() - startMs) / 1000).toBeCloseTo(2 + 4 + 8 + 16 + 32 + 60 + 60 + 60, -1);
    expect(world.status.eventReasons().filter((reason) => reason === "CacheClearFailed")).toHaveLength(1);
  });

  test("waits while the instance is suspended", async () => {
    const world = await converged({ instance, workloads: [complete(1)] });
    world.declare({ instance: { ...instance, suspend: true } });
    expect(await seen(world, complete(2))).toBe(0);
    world.declare({ instance });
    expect(await seen(world, complete(2))).toBe(1);
  });
});

test("Without a cluster, the instance reports that its list of workloads has no effect", async () => {
  const world = await converged({ instance });
  await world.pass();
  expect(world.status.eventReasons().filter((reason) => reason === "RolloutsIgnored")).toHaveLength(1);
  expect(world.waf.cacheClears).toBe(0);
});

test.each([
  ["that was complete when first seen clears nothing", [complete(1), complete(1)], 0],
  ["that was in progress when first seen clears when it is complete", [begun(1), complete(1)], 1],
  ["that was complete when first seen, after a change that is none, clears nothing", [changed(1), complete(1)], 0],
  ["whose change was seen before its controller saw it clears", [changed(1), begun(2), complete(2)], 1],
  ["is still the same while an annotation is changed", [complete(1), changed(1), complete(1)], 0],
  ["clears once when it is complete", [complete(1), begun(2), begun(2), complete(2), complete(2)], 1],
  ["clears even if its beginning was not seen", [complete(1), complete(2)], 1],
  ["is still the same while its workload is scaled", [complete(1), begun(1), complete(1)], 0],
  [
    "that was rolled back to the same revision clears, since its pods may have responded",
    [complete(1), begun(2), complete(1)],
    1,
  ],
  ["that is rolled back twice clears twice", [complete(1), begun(2), complete(1), begun(2), complete(1)], 2],
  ["of another object clears", [complete(1), complete(1, "u-2")], 1],
  ["is still known after its workload was missing", [complete(1), unseen, complete(1)], 0],
  ["that was made while its workload was missing clears", [complete(1), unseen, complete(2)], 1],
])("A rollout %s", async (_title, [first, ...others], clears) => {
  const world = await converged({ instance, workloads: first === undefined ? [] : [first] });
  for (const workload of others) await seen(world, workload, minIntervalMs);
  expect(world.waf.cacheClears).toBe(clears);
});

test("Rollouts clear at most once per interval, and always at its end, whatever happens when", async () => {
  const step = fc.record({
    afterMs: fc.integer({ min: 0, max: 90_000 }),
    begins: fc.boolean(),
    isComplete: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const world = await converged({ instance, workloads: [complete(0)] });
      const times: number[] = [];
      world.onCall(({ name }) => void (name === "ClearCache" && times.push(world.clock.nowMs())));
      let revision = 0;
      for (const { afterMs, begins, isComplete } of steps) {
        revision += begins ? 1 : 0;
        await seen(world, isComplete ? complete(revision) : begun(revision), afterMs);
      }
      const last = times.length;
      await seen(world, complete(revision), minIntervalMs);
      await seen(world, complete(revision), minIntervalMs);
      const gaps = times.slice(1).map((timeMs, place) => timeMs - (times[place] ?? 0));
      expect(gaps.every((gapMs) => gapMs >= minIntervalMs)).toBe(true);
      expect(times.length - last).toBeLessThanOrEqual(1);
      expect(status(world)).toMatchObject([{ state: "Handled" }]);
    }),
    { numRuns: caseCount(200) },
  );
});
