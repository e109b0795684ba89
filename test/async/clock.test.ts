// The contract of every clock, including the test clocks: a result with a virtual clock must also be valid with the real one.
import { describe, expect, test } from "@jest/globals";
import { type Clock, realClock } from "../../src/async/clock.ts";
import { createVirtualClock } from "../support/fakes/virtual-clock.ts";
import { VirtualTime } from "../support/fakes/virtual-time.ts";
import { fastClock } from "../support/processes/fast-clock.ts";
import { SimTime } from "../support/simulation/sim-time.ts";

interface Subject {
  readonly clock: Clock;
  readonly advance: (delayMs: number) => Promise<void>;
}

function skewed(): Subject {
  const time = new VirtualTime();
  return { clock: time.clock(), advance: async (delayMs) => await time.advance(delayMs) };
}

function simulated(): Subject {
  const time = new SimTime();
  return { clock: time.clockOf({ alive: true }), advance: async (delayMs) => await time.advance(delayMs) };
}

function virtual(): Subject {
  const clock = createVirtualClock();
  return { clock, advance: async (delayMs) => await clock.advance(delayMs) };
}

function running(clock: Clock): Subject {
  return { clock, advance: async (delayMs) => await clock.sleep(delayMs + 1) };
}

describe.each([
  ["real", () => running(realClock)],
  ["fast", () => running(fastClock(2))],
  ["virtual", virtual],
  ["skewed", skewed],
  ["simulated", simulated],
] as const)("the %s clock", (_name, subject) => {
  test("acts once after the delay, in the order of the times", async () => {
    const { clock, advance } = subject();
    const acts: string[] = [];
    clock.schedule(40, () => acts.push("late"));
    clock.schedule(20, () => acts.push("early"));
    clock.schedule(-1, () => acts.push("at once"));
    expect(acts).toStrictEqual([]);
    await advance(50);
    await advance(50);
    expect(acts).toStrictEqual(["at once", "early", "late"]);
  });

  test("does not act after it is canceled, and canceling late or twice has no effect", async () => {
    const { clock, advance } = subject();
    const acts: string[] = [];
    const cancel = clock.schedule(20, () => acts.push("cancelled"));
    const cancelLate = clock.schedule(20, () => acts.push("acted"));
    cancel();
    cancel();
    await advance(30);
    cancelLate();
    await advance(30);
    expect(acts).toStrictEqual(["acted"]);
  });

  test("wakes a sleeper after the delay, or as soon as the signal aborts", async () => {
    const { clock, advance } = subject();
    const stop = new AbortController();
    const woken: string[] = [];
    const sleeping = [
      clock.sleep(86_400_000, stop.signal).then(() => woken.push("stopped")),
      clock.sleep(20).then(() => woken.push("slept")),
    ];
    await advance(30);
    expect(woken).toStrictEqual(["slept"]);
    stop.abort();
    await Promise.all(sleeping);
    await clock.sleep(86_400_000, stop.signal);
    expect(woken).toStrictEqual(["slept", "stopped"]);
  });
});

test("the real clock does not act immediately if a delay is too long for a Node.js timer", async () => {
  const acts: string[] = [];
  const cancel = realClock.schedule(2 ** 40, () => acts.push("too early"));
  await realClock.sleep(10);
  cancel();
  expect(acts).toStrictEqual([]);
});
