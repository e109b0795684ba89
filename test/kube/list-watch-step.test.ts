import { describe, expect, test } from "@jest/globals";
import { localFault } from "../../src/kube/api-server.ts";
import {
  initialListWatch,
  type ListWatchInput,
  type ListWatchStep,
  type StepContext,
  stepListWatch,
} from "../../src/kube/list-watch-step.ts";

const down = localFault("Unavailable", "refused");

/** Performs steps at given times, and keeps the last one. */
function run(random: () => number, ...inputs: readonly (readonly [number, ListWatchInput])[]): ListWatchStep {
  let step: ListWatchStep = { state: initialListWatch(0) };
  for (const [nowMs, input] of inputs) step = stepListWatch(step.state, input, { nowMs, random });
  return step;
}

function delayOf(step: ListWatchStep): number {
  if (step.command?.type !== "Wait") throw new Error(`no wait, but ${step.command?.type}`);
  return step.command.delayMs;
}

describe("the delays of the list-watch", () => {
  test("double from 0.8 s to 30 s, plus the same amount of jitter", () => {
    for (const [random, expected] of [
      [0, [800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000]],
      [0.999_999, [1600, 3200, 6400, 12_800, 25_600, 51_200, 60_000, 60_000]],
    ] as const) {
      const context: StepContext = { nowMs: 0, random: () => random };
      let step: ListWatchStep = { state: initialListWatch(0) };
      const delays: number[] = [];
      for (let failure = 0; failure < 8; failure += 1) {
        step = stepListWatch(step.state, { type: "ListFailed", fault: down }, context);
        delays.push(delayOf(step));
        step = stepListWatch(step.state, { type: "Waited" }, context);
      }
      expect(delays).toStrictEqual(expected);
    }
  });

  test("start over after two healthy minutes, and not before", () => {
    const failing = { type: "StreamFailed", fault: down } as const;
    const before = [
      [0, failing],
      [800, { type: "Waited" }],
      [900, { type: "Listed", list: { items: [], resourceVersion: "5" } }],
    ] as const;
    expect(delayOf(run(() => 0, ...before, [100_000, failing]))).toBe(1600);
    expect(delayOf(run(() => 0, ...before, [120_801, failing]))).toBe(800);
  });

  test("follow the server's Retry-After, but never beyond 60 s", () => {
    const fault = { ...localFault("TooManyRequests", "later"), retryAfterMs: 7000 };
    expect(delayOf(run(() => 0.5, [0, { type: "StreamFailed", fault }]))).toBe(7400);
    const long = { ...fault, retryAfterMs: 3_600_000 };
    expect(delayOf(run(() => 0.5, [0, { type: "StreamFailed", fault: long }]))).toBe(60_000);
  });
});
