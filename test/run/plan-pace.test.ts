import { expect, test } from "@jest/globals";
import { PlanPace } from "../../src/run/plan-pace.ts";

/** A clock that advances only with work. */
function aClock() {
  const clock = {
    nowMs: 0,
    pauses: 0,
    monotonicMs: () => clock.nowMs,
    onPause: (): void => undefined,
    sleep: async () => {
      clock.pauses += 1;
      clock.onPause();
    },
    work: (ms: number) => void (clock.nowMs += ms),
  };
  return clock;
}

/** A plan in two slices of the same length. `between` runs before the second slice. */
async function planOf(ms: number, between: (clock: ReturnType<typeof aClock>) => void = () => undefined) {
  const clock = aClock();
  const pace = new PlanPace(clock);
  function* plan(): Generator<undefined, string> {
    clock.work(ms / 2);
    yield;
    clock.work(ms / 2);
    return "planned";
  }
  clock.onPause = () => between(clock);
  expect(await pace.inSlices(plan())).toBe("planned");
  return { clock, pace };
}

test("a plan that takes long lets other work run in between and after it", async () => {
  expect((await planOf(80)).clock.pauses).toBe(2);
  expect((await planOf(4)).clock.pauses).toBe(0);
});

test("the time of other work in between does not extend the pause between plans", async () => {
  let others = 0;
  const { clock, pace } = await planOf(40, (between) => {
    others += 1;
    if (others === 1) between.work(500);
  });
  clock.work(119);
  expect(pace.isResting).toBe(true);
  clock.work(1);
  expect(pace.isResting).toBe(false);
});

test("planning pauses for three times the duration of the last plan, and for at most 250 ms", async () => {
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

test("a plan that takes no time is followed by the next one immediately", async () => {
  expect((await planOf(0)).pace.isResting).toBe(false);
});
