// The wall clock is set forward or back by hours, as by NTP on a machine that started with a wrong time. This must not affect
// durations.
import { describe, expect, test } from "@jest/globals";
import { aCacheClear, addresses, anInstance, blocking } from "../support/builders/declare.ts";
import { ConvergeWorld, converged } from "../support/worlds/converge-world.ts";

const hourMs = 3_600_000;
const down = { code: "Unavailable", message: "The API is down.", status: 503 } as const;

describe("A wall clock that jumps", () => {
  test.each([-2 * hourMs, 2 * hourMs])("by %i ms does not change how long a backoff takes", async (jumpMs) => {
    const world = new ConvergeWorld({ declared: { rules: [blocking("feed", addresses(3))] } });
    world.waf.failOn({ on: "Any", effect: "Before", fault: down });
    const failed = await world.pass();
    const leftMs = (failed.wakeAtMs ?? 0) - world.clock.nowMs();
    world.clock.jumpWallClock(jumpMs);
    const again = await world.pass();
    expect((again.wakeAtMs ?? 0) - world.clock.nowMs()).toBe(leftMs);
    expect(world.waf.count("AddEntry")).toBe(0);
    expect((await world.passAfter(leftMs)).result).toStrictEqual({ kind: "Done" });
    expect(world.waf.lists.blocklist).toHaveLength(3);
  });

  test("back does not extend a confirmation of the declared state", async () => {
    const world = await converged({ rules: [blocking("feed", addresses(4))] });
    world.declare({ instance: anInstance({ guards: { maxRemovals: 10, maxRemovalPercent: 100 } }), rules: [] });
    let removals = 0;
    world.onCall(({ name }) => {
      if (name !== "RemoveEntry") return;
      removals += 1;
      if (removals === 1) world.clock.jumpWallClock(-2 * hourMs);
      // The call takes so long that the earlier read is outdated.
      if (removals === 2) world.clock.hold(60_000);
    });
    world.source.confirmCount = 0;
    await world.pass();
    expect(removals).toBe(4);
    expect(world.source.confirmCount).toBe(2);
  });

  test("back does not make a cache clear wait longer than its own retry", async () => {
    const world = new ConvergeWorld({ declared: { cacheClears: [aCacheClear("deploy")] } });
    const fault = { code: "RateLimited", message: "Wait.", status: 429, retryAfterMs: 20_000 } as const;
    world.waf.failOn({ on: "ClearCache", times: 1, effect: "Before", fault });
    await world.pass();
    world.clock.jumpWallClock(-2 * hourMs);
    await world.passAfter(60_000);
    expect(world.waf.cacheClears).toBe(1);
  });

  test("forward does not end the wait for the WAF of a deleted instance, which would orphan its entries", async () => {
    const world = await converged({ rules: [blocking("feed", addresses(3))] });
    world.declare({ instance: anInstance({ consistencyWindowMs: 0, meta: { deleting: true } }) });
    world.waf.failOn({ on: "Any", times: 2, effect: "Before", fault: down });
    const failed = await world.pass();
    expect(failed.result.kind).toBe("Failed");
    world.clock.jumpWallClock(2 * hourMs);
    expect((await world.passAfter(10_000)).result.kind).toBe("Failed");
    await world.clock.advance(60_000);
    await world.passesUntilGone();
    expect(world.waf.lists.blocklist).toStrictEqual([]);
    expect(world.status.eventReasons()).not.toContain("EntriesLeftBehind");
  });
});
