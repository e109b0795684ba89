import { describe, expect, test } from "@jest/globals";
import { ElectionWorld, type Process } from "./election-world.ts";

/** A leader and a candidate, both running for a while; requests take up to two seconds. */
async function pair(seed: number): Promise<{ world: ElectionWorld; leader: Process; candidate: Process }> {
  const world = new ElectionWorld(seed);
  const leader = world.start({ rate: world.between(0.9, 1.1) });
  await world.time.advance(100);
  const candidate = world.start({ rate: world.between(0.9, 1.1) });
  for (const { network } of world.processes) network.delayMs = () => world.between(1, 500);
  await world.time.advance(world.between(20_000, 40_000));
  expect(world.leaders()).toStrictEqual([leader.identity]);
  return { world, leader, candidate };
}

async function untilLeading(world: ElectionWorld, process: Process, limitMs: number): Promise<number> {
  const fromMs = world.time.nowMs;
  while (!process.elector.mayWrite() && world.time.nowMs - fromMs < limitMs) await world.time.advance(50);
  return world.time.nowMs - fromMs;
}

describe("handing over", () => {
  test("after a crash another process writes within 55 s, and not before 30 s", async () => {
    for (let seed = 1; seed <= 60; seed += 1) {
      const { world, leader, candidate } = await pair(seed);
      world.kill(leader);
      const tookMs = await untilLeading(world, candidate, 120_000);
      expect(tookMs).toBeLessThanOrEqual(55_000);
      expect(tookMs).toBeGreaterThan(30_000);
      expect(world.overlap()).toBeUndefined();
    }
  });

  test("after a release another process writes within 8 s, and not before the last write has ended", async () => {
    for (let seed = 1; seed <= 60; seed += 1) {
      const { world, leader, candidate } = await pair(seed);
      const releasing = leader.elector.release(async () => leader.writing);
      expect(leader.elector.mayWrite()).toBe(false);
      while (leader.elector.standing !== "Ended") await world.time.advance(50);
      expect(await releasing).toBe("Released");
      expect(await untilLeading(world, candidate, 60_000)).toBeLessThanOrEqual(8_000);
      expect(world.overlap()).toBeUndefined();
    }
  });
});

test("the first process on a new cluster leads immediately", async () => {
  const world = new ElectionWorld(1);
  const first = world.start();
  await world.time.advance(100);
  expect(first.elector.standing).toBe("Leading");
  expect(await first.elector.whenLeading()).toBe(true);
  expect(world.server.stored?.spec).toMatchObject({ holderIdentity: "pod-1", leaseDurationSeconds: 30 });
});

test("a disconnected leader stops writing after 15 s, reports this, and never leads again", async () => {
  const world = new ElectionWorld(1);
  const leader = world.start();
  await world.time.advance(10_000);
  leader.network.partitioned = true;
  await world.time.advance(15_100);
  expect(leader.elector.mayWrite()).toBe(false);
  expect(leader.elector.standing).toBe("Lost");
  expect(await leader.elector.lost).toBe("it could not be renewed in time");
  leader.network.partitioned = false;
  await world.time.advance(120_000);
  expect(leader.elector.standing).toBe("Lost");
});

test("the Lease is not released while a write is still in flight", async () => {
  const world = new ElectionWorld(1);
  const leader = world.start();
  await world.time.advance(5_000);
  const releasing = leader.elector.release(() => new Promise(() => undefined));
  await world.time.advance(20_000);
  expect(await releasing).toBe("WorkStillRunning");
  expect(world.server.stored?.spec).toMatchObject({ holderIdentity: "pod-1" });
});

test("a candidate that is stopped does not change the Lease", async () => {
  const world = new ElectionWorld(1);
  world.start();
  await world.time.advance(5_000);
  const candidate = world.start();
  await world.time.advance(5_000);
  const releasing = candidate.elector.release(async () => undefined);
  await world.time.advance(10_000);
  expect(await releasing).toBe("NotHeld");
  expect(await candidate.elector.whenLeading()).toBe(false);
  expect(candidate.elector.standing).toBe("Ended");
  expect(world.leaders()).toStrictEqual(["pod-1"]);
});
