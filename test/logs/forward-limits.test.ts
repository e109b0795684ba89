// Clock: 2026-03-10 12:00 UTC at the start of each test.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { ForwardWorld } from "../support/worlds/forward-world.ts";

const hourMs = 3_600_000;
let world: ForwardWorld;

beforeEach(async () => {
  world = new ForwardWorld();
  await world.becomeReady();
  world.pageSize = 300;
  world.rowsMax = 1000;
});

afterEach(() => world.checkStatuses());

const messageOf = (): string => {
  const { conditions } = world.status.read(world.instance) as { conditions: { type: string; message: string }[] };
  return conditions.find(({ type }) => type === "LogsForwarded")?.message ?? "";
};

describe("the rows of an hour", () => {
  /** Two days below the limit. */
  const blockTwoDays = (): string[] =>
    ["2026-03-09T13:00:00Z", "2026-03-10T11:00:00Z"].flatMap((time) => world.block(time, 900)).sort();

  test("are limited: the instance pauses and reports until when, and the other rows follow hour by hour, each once", async () => {
    const all = blockTwoDays();
    const outcome = await world.look();
    expect(world.forwarded).toHaveLength(1000);
    expect(world.condition()).toBe("False TooLarge");
    expect(messageOf()).toContain("continues at 2026-03-10T13:00:00Z: 1,000 log rows");
    expect(messageOf()).toContain("--max-log-rows");
    expect(outcome?.wakeAtMs).toBe(world.clock.nowMs() + hourMs);
    expect(world.failures).toStrictEqual(["TooLarge"]);
    await world.lookOnTime();
    expect(world.takeForwarded()).toStrictEqual(all);
    expect(world.condition()).toBe("True Forwarded");
  });

  test("are used up only once, however often the instance is changed, and no call is made meanwhile", async () => {
    blockTwoDays();
    await world.look();
    const calls = world.queries.length;
    for (let minute = 1; minute <= 20; minute += 1) {
      world.declare({ intervalMs: 60_000 + minute });
      await world.lookAfter(60_000);
    }
    expect(world.forwarded).toHaveLength(1000);
    expect(world.queries).toHaveLength(calls);
  });

  test("are recorded when the hour ends, so a restart repeats none of them", async () => {
    const all = blockTwoDays();
    await world.look();
    world.restart();
    await world.look();
    expect(world.takeForwarded()).toStrictEqual(all);
  });

  test("do not count if the output rejects them", async () => {
    const all = world.block("2026-03-10T11:00:00Z", 1000).sort();
    world.onWrite = () => "The reader is gone.";
    for (let look = 0; look < 4; look += 1) {
      await world.look();
      await world.clock.advance(60_000);
    }
    world.onWrite = () => undefined;
    await world.look();
    expect(world.takeForwarded()).toStrictEqual(all);
  });
});

// The rows of the first hour are as many.
describe("rows that are remembered", () => {
  test("limit a day: its other rows are not forwarded, but the next day is", async () => {
    world.block("2026-03-09T11:00:00Z", 2000);
    const today = world.block("2026-03-10T11:00:00Z", 500);
    const outcome = await world.lookOnTime();
    expect(world.condition()).toBe("False TooLarge");
    expect(messageOf()).toContain("The logs of 2026-03-09 are too long");
    expect((outcome?.wakeAtMs ?? 0) - world.clock.nowMs()).toBeLessThanOrEqual(1000);
    expect(world.forwarded.length).toBeLessThanOrEqual(1300);
    expect(world.status.events.map(({ reason }) => reason)).toContain("LogEntriesLost");
    world.forwarded.length = 0;
    await world.lookOnTime();
    expect(world.condition()).toBe("True Forwarded");
    expect(world.takeForwarded()).toStrictEqual(today.toSorted());
  });

  test("limit today until midnight, even in a new process, and without a call", async () => {
    world.block("2026-03-10T11:00:00Z", 2000);
    await world.lookOnTime();
    world.restart();
    const calls = world.queries.length;
    const outcome = await world.look();
    expect(world.condition()).toBe("False TooLarge");
    expect(messageOf()).toContain("continues with 2026-03-11");
    expect(outcome?.wakeAtMs).toBe(Date.UTC(2026, 2, 11));
    expect(world.queries).toHaveLength(calls);
    world.forwarded.length = 0;
    const tomorrow = world.block("2026-03-11T00:00:00Z", 5);
    await world.lookAfter(12 * hourMs);
    expect(world.takeForwarded()).toStrictEqual(tomorrow);
    expect(world.condition()).toBe("True Forwarded");
  });

  test("of older days are dropped first, so that a day below the limit is forwarded completely", async () => {
    world.block("2026-03-09T11:00:00Z", 700);
    world.block("2026-03-10T11:00:00Z", 700);
    await world.lookOnTime();
    expect(world.forwarded).toHaveLength(1400);
    expect(world.condition()).toBe("True Forwarded");
    expect(world.status.events.map(({ reason }) => reason)).toContain("LogCursorTooLarge");
  });
});
