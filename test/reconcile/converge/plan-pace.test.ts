import { expect, test } from "@jest/globals";
import { PlanPace } from "../../../src/reconcile/converge/plan-pace.ts";

/** A clock that only work moves. */
function aClock() {
  const clock = {
    nowMs: 0,
    pauses: 0,
    monotonicMs: () => clock.nowMs,
    sleep: async () => void (clock.pauses += 1),
    work: (ms: number) => void (clock.nowMs += ms),
  };
  return clock;
}

async function planOf(ms: number) {
  const clock = aClock();
  const pace = new PlanPace(clock);
  await pace.inPieces(
    () => clock.work(ms / 2),
    () => clock.work(ms / 2),
  );
  return { clock, pace };
}

test("a plan that takes long lets other work run in between and after it", async () => {
  expect((await planOf(80)).clock.pauses).toBe(2);
  expect((await planOf(4)).clock.pauses).toBe(0);
});

test("plans rest three times as long as the last one took, and 250 ms at most", async () => {
  for (const [tookMs, restMs] of [
    [20, 60],
    [80, 240],
    [400, 250],
  ] as const) {
    const { clock, pace } = await planOf(tookMs);
    clock.work(restMs - 1);
    expect(pace.isResting).toBe(true);
    clock.work(1);
    expect(pace.isResting).toBe(false);
  }
});

test("a plan that takes no time is followed by the next one at once", async () => {
  expect((await planOf(0)).pace.isResting).toBe(false);
});
