import { expect, test } from "@jest/globals";
import { createVirtualClock } from "./virtual-clock.ts";

test("sleepers wake at their own times and in order, also those that sleep again", async () => {
  const clock = createVirtualClock({ startMs: 1000 });
  const woken: string[] = [];
  const sleepTwice = async (name: string, delayMs: number): Promise<void> => {
    for (let round = 1; round <= 2; round += 1) {
      await clock.sleep(delayMs);
      woken.push(`${name}${round} ${clock.nowMs()}`);
    }
  };
  void sleepTwice("a", 30);
  void sleepTwice("b", 20);
  await clock.advance(50);
  expect(woken).toStrictEqual(["b1 1020", "a1 1030", "b2 1040"]);
  expect([clock.nowMs(), clock.monotonicMs(), clock.sleeperCount()]).toStrictEqual([1050, 50, 1]);
});

test("an aborted sleep ends at once and leaves nothing behind", async () => {
  const clock = createVirtualClock();
  const stop = new AbortController();
  const sleeping = clock.sleep(1000, stop.signal);
  stop.abort();
  await sleeping;
  await clock.sleep(1000, stop.signal);
  expect(clock.sleeperCount()).toBe(0);
});

test("a jump of the wall clock moves neither sleepers nor monotonic time", async () => {
  const clock = createVirtualClock({ startMs: 0 });
  let awake = false;
  void clock.sleep(100).then(() => (awake = true));
  clock.jumpWallClock(3_600_000);
  await clock.advance(99);
  expect([awake, clock.nowMs(), clock.monotonicMs()]).toStrictEqual([false, 3_600_099, 99]);
  await clock.advance(1);
  expect(awake).toBe(true);
});

test("waiting for a condition stops at the sleeper that made it true, and throws when none does", async () => {
  const clock = createVirtualClock({ startMs: 0 });
  let ticks = 0;
  const tick = async (): Promise<void> => {
    for (let count = 0; count < 5; count += 1) {
      await clock.sleep(10);
      ticks += 1;
    }
  };
  void tick();
  await clock.advanceUntil(() => ticks === 3, 1000);
  expect(clock.nowMs()).toBe(30);
  await expect(clock.advanceUntil(() => false, 5)).rejects.toThrow("did not come true");
});
