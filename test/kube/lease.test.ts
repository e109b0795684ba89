import { expect, test } from "@jest/globals";
import { ElectionWorld } from "./election-world.ts";

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
  expect(world.standings.at(-1)).toContain("pod-2 Ended");
  expect(world.leaders()).toStrictEqual(["pod-1"]);
});
