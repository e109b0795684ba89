import { describe, expect, test } from "@jest/globals";
import { DeadlineTimer } from "../../src/waf/deadline-timer.ts";
import { createVirtualClock } from "../support/fakes/virtual-clock.ts";

function createTimer() {
  const clock = createVirtualClock();
  const timer = new DeadlineTimer(clock);
  const expired: string[] = [];
  return {
    clock,
    timer,
    expired,
    arm: (name: string, delayMs: number) => timer.arm(delayMs, () => expired.push(`${name} at ${clock.monotonicMs()}`)),
  };
}

describe("a deadline", () => {
  test("comes exactly at its time, also when the sleep was begun for an earlier or a later one", async () => {
    const { clock, timer, expired, arm } = createTimer();
    arm("first", 1_000);
    timer.disarm();
    await clock.advance(400);
    arm("second", 1_000);
    await clock.advance(5_000);
    arm("third", 60_000);
    arm("fourth", 10);
    await clock.advance(60_000);
    expect(expired).toEqual(["second at 1400", "fourth at 5410"]);
  });

  test("costs one sleep for any number of requests that end in time, and none in the end", async () => {
    const { clock, timer, expired, arm } = createTimer();
    for (let index = 0; index < 1_000; index += 1) {
      arm("one", 1_000);
      expect(clock.sleeperCount()).toBe(1);
      timer.disarm();
    }
    await clock.advance(1_000);
    expect(clock.sleeperCount()).toBe(0);
    expect(expired).toEqual([]);
  });

  test("never comes once the timer is closed", async () => {
    const { clock, timer, expired, arm } = createTimer();
    arm("one", 1_000);
    timer.close();
    expect(clock.sleeperCount()).toBe(0);
    await clock.advance(2_000);
    expect(expired).toEqual([]);
  });
});
