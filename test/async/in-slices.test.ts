import { expect, test } from "@jest/globals";
import { inSlices } from "../../src/async/time-slices.ts";
import { pauseMsAfter } from "../../src/run/world.ts";

/** Works in two slices of the same length, on a clock that advances only with work. `between` runs in each pause. */
async function work(ms: number, between: (pass: (ms: number) => void) => void = () => undefined) {
  let [nowMs, pauses, tookMs] = [0, 0, 0];
  const pass = (passedMs: number): void => void (nowMs += passedMs);
  const clock = {
    monotonicMs: () => nowMs,
    sleep: async () => {
      pauses += 1;
      between(pass);
    },
  };
  function* slices(): Generator<undefined, string> {
    pass(ms / 2);
    yield;
    pass(ms / 2);
    return "done";
  }
  expect(await inSlices(clock, slices(), (ms) => void (tookMs = ms))).toBe("done");
  return { pauses, tookMs };
}

test("work that takes long lets other work run in between and after it", async () => {
  expect(await work(80)).toStrictEqual({ pauses: 2, tookMs: 80 });
  expect(await work(4)).toStrictEqual({ pauses: 0, tookMs: 4 });
});

test("the time of other work in between does not extend the pause between plans", async () => {
  const { tookMs } = await work(40, (pass) => pass(500));
  expect(pauseMsAfter(tookMs)).toBe(120);
  expect(pauseMsAfter(10_000)).toBe(250);
});
