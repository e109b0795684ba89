// Clock: 2026-03-10 12:00 UTC at the start of each test.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { ForwardWorld } from "../support/worlds/forward-world.ts";

const hourMs = 3_600_000;

let world: ForwardWorld;

beforeEach(async () => {
  world = new ForwardWorld();
  await world.becomeReady();
});

afterEach(() => world.checkStatuses());

describe("each entry is forwarded once", () => {
  test("existing entries are forwarded in the first run, and then new entries", async () => {
    const first = world.block("2026-03-10T11:00:00Z", 3);
    await world.look();
    expect(world.takeForwarded()).toStrictEqual(first);
    const next = world.block("2026-03-10T12:01:00Z", 2);
    await world.lookAfter(5 * 60_000);
    expect(world.takeForwarded()).toStrictEqual(next);
    await world.lookOnTime();
    expect(world.takeForwarded()).toStrictEqual([]);
    expect(world.condition()).toBe("True Forwarded");
    expect(world.status.read(world.instance)?.["logs"]).toStrictEqual({
      lastEntryTime: "2026-03-10T12:01:00Z",
      lag: "4m",
      forwarded: 5,
    });
  });

  test("a run that is not due makes no call", async () => {
    await world.look();
    const asked = world.queries.length;
    await world.lookAfter(60_000);
    expect(world.queries).toHaveLength(asked);
  });

  test.each([-2 * hourMs, 2 * hourMs])(
    "a run is due at the same time as before when the wall clock jumps by %i ms",
    async (jumpMs) => {
      const outcome = await world.look();
      const leftMs = (outcome?.wakeAtMs ?? 0) - world.clock.nowMs();
      world.clock.jumpWallClock(jumpMs);
      const asked = world.queries.length;
      const again = await world.look();
      expect((again?.wakeAtMs ?? 0) - world.clock.nowMs()).toBe(leftMs);
      expect(world.queries.length).toBe(asked);
      await world.lookAfter(leftMs);
      expect(world.queries.length).toBeGreaterThan(asked);
    },
  );
});

describe("a new process", () => {
  test("after a crash between output and cursor forwards unrecorded entries again, and misses none", async () => {
    const before = world.block("2026-03-10T10:00:00Z", 2);
    await world.look();
    expect(world.takeForwarded()).toStrictEqual(before);
    const rows = world.block("2026-03-10T12:00:00Z", 3);
    await world.clock.advance(6 * 60_000);
    world.saveFaults.push("CrashBefore");
    expect(await world.look()).toBeUndefined();
    expect(world.takeForwarded()).toStrictEqual(rows);
    await world.look();
    expect(world.takeForwarded()).toStrictEqual(rows);
    world.restart();
    await world.look();
    expect(world.takeForwarded()).toStrictEqual([]);
  });

  test("that can't read the record starts from scratch and reports this", async () => {
    const rows = world.block("2026-03-10T11:00:00Z", 2);
    await world.look();
    world.record = "null";
    world.restart();
    await world.look();
    expect(world.takeForwarded()).toStrictEqual([...rows, ...rows].sort());
    expect(world.status.eventReasons()).toStrictEqual(["LogCursorBroken"]);
  });

  test("after a long pause catches up on all missed days", async () => {
    await world.look();
    // The first of them is the rest of the day on which the former process ended.
    const days = ["2026-03-10T22", "2026-03-12T08", "2026-03-15T08", "2026-03-19T08"];
    const missed = days.flatMap((hour) => world.block(`${hour}:00:00Z`, 2));
    await world.clock.advance(10 * 24 * hourMs);
    world.restart();
    await world.look();
    expect(world.takeForwarded()).toStrictEqual(missed.sort());
  });
});

test("an output that fails gets no entries, is retried with backoff, and then gets each entry once", async () => {
  const rows = world.block("2026-03-10T11:00:00Z", 1700).sort();
  let writes = 0;
  // The third write fails, after a thousand entries were accepted.
  world.onWrite = () => (++writes >= 3 && writes < 6 ? "The reader is gone." : undefined);
  const pausesMs: number[] = [];
  for (let looks = 0; looks < 4; looks += 1) {
    const outcome = await world.look();
    const delayMs = (outcome?.wakeAtMs ?? 0) - world.clock.nowMs();
    if (looks < 3) {
      expect(world.condition()).toBe("False OutputUnavailable");
      pausesMs.push(delayMs);
    }
    await world.clock.advance(delayMs);
  }
  expect(world.takeForwarded()).toStrictEqual(rows);
  expect(pausesMs[0]).toBeGreaterThanOrEqual(2_000);
  expect(pausesMs[2]).toBeGreaterThan(pausesMs[0] ?? 0);
  expect(world.condition()).toBe("True Forwarded");
  expect(world.status.eventReasons()).toStrictEqual(["LogForwardingFailed", "LogForwardingRecovered"]);
});

describe("a failure of the WAF", () => {
  test.each([
    ["BadApiKey", "ApiUnavailable"],
    ["TooLarge", "TooLarge"],
  ] as const)("with the fault %s results in the reason %s", async (code, reason) => {
    world.faults.push({ code, message: "The WAF says no." });
    await world.look();
    expect(world.condition()).toBe(`False ${reason}`);
  });

  test("a missing key, a forbidden base URL, or an older instance with the same key causes no call", async () => {
    for (const [overrides, objection] of [
      [{ key: { state: "Missing", problem: "There is no Secret." } }, undefined],
      [{ sameKey: [{ ...world.instance, name: "older", createdAtMs: 1 }] }, undefined],
      [{}, "This base URL is not allowed."],
    ] as const) {
      world.declare({}, overrides);
      world.baseUrlObjection = objection;
      await world.look();
      expect(world.condition()).toBe("False ApiUnavailable");
    }
    expect(world.queries).toStrictEqual([]);
  });
});

describe("a failure of the record", () => {
  test("stops forwarding while the record can't be written, and nothing is forwarded twice", async () => {
    const first = world.block("2026-03-10T11:00:00Z", 2);
    world.saveFaults.push("Failed", "Failed", "Failed");
    await world.look();
    expect(world.condition()).toBe("False OutputUnavailable");
    expect(world.takeForwarded()).toStrictEqual(first);
    const next = world.block("2026-03-10T11:30:00Z", 2);
    await world.lookAfter(300_000);
    expect(world.takeForwarded()).toStrictEqual([]);
    await world.lookAfter(300_000);
    expect(world.takeForwarded()).toStrictEqual(next);
    world.restart();
    await world.look();
    expect(world.takeForwarded()).toStrictEqual([]);
  });

  test("closes the oldest days if the record is too large, and ignores their late entries", async () => {
    const rows = ["2026-03-08", "2026-03-09", "2026-03-10"].flatMap((day) => world.block(`${day}T09:00:00Z`, 2));
    world.saveFaults.push("TooLarge");
    await world.look();
    world.block("2026-03-08T10:00:00Z", 1, "2026-03-10T12:01:00Z");
    const onTime = world.block("2026-03-09T10:00:00Z", 1, "2026-03-10T12:01:00Z");
    world.saveFaults.push("TooLarge");
    world.block("2026-03-10T11:59:00Z", 1);
    await world.lookAfter(301_000);
    await world.lookAfter(301_000);
    expect(world.status.eventReasons()).toContain("LogCursorTooLarge");
    expect(world.takeForwarded()).toStrictEqual(expect.arrayContaining([...rows, ...onTime]));
    world.restart();
    await world.look();
    expect(world.takeForwarded()).toStrictEqual([]);
  });
});

describe("how far back", () => {
  test("the first run reaches back as far as the lookback, and no further", async () => {
    world.block("2026-03-07T23:00:00Z", 1);
    const rows = world.block("2026-03-08T13:00:00Z", 1);
    await world.look();
    expect(world.takeForwarded()).toStrictEqual(rows);
    expect(world.queries.map((query) => query.slice(0, 10))).toStrictEqual(["2026-03-08", "2026-03-09", "2026-03-10"]);
  });

  test("days that the plan does not keep are not requested, and lost days are reported", async () => {
    world.declare({ plan: "Basic", lookbackMs: 60 * 24 * hourMs });
    await world.look();
    expect(world.queries[0]).toContain("2026-02-09");
    await world.clock.advance(60 * 24 * hourMs);
    world.restart();
    world.queries.length = 0;
    await world.look();
    expect(world.queries[0]).toContain("2026-04-10");
    const lost = world.status.events.find(({ reason }) => reason === "LogEntriesLost");
    expect(lost?.message).toContain("2026-03-11 to 2026-04-09");
  });
});

describe("a clock that is wrong", () => {
  test("by 40 days ahead at the first start stops nothing once it is right", async () => {
    world.clock.jumpWallClock(40 * 24 * hourMs);
    await world.look();
    world.clock.jumpWallClock(-40 * 24 * hourMs);
    const rows = world.block("2026-03-10T11:00:00Z", 6).sort();
    await world.lookAfter(300_000);
    expect(world.condition()).toBe("True Forwarded");
    expect(world.takeForwarded()).toStrictEqual(rows);
  });

  test("from the middle of a run on forwards no row twice once it is right", async () => {
    const rows = world.block("2026-03-10T11:00:00Z", 2).sort();
    world.onWrite = () => {
      world.clock.jumpWallClock(4 * 24 * hourMs);
      world.onWrite = () => undefined;
      return undefined;
    };
    await world.look();
    world.clock.jumpWallClock(-4 * 24 * hourMs);
    rows.push(...world.block("2026-03-10T11:30:00Z", 2));
    await world.lookAfter(300_000);
    expect(world.takeForwarded()).toStrictEqual(rows.sort());
  });

  test("for days loses no row of these days, and forwards none twice", async () => {
    const before = world.block("2026-03-10T11:00:00Z", 2);
    await world.look();
    world.clock.jumpWallClock(40 * 24 * hourMs);
    await world.lookAfter(300_000);
    await world.clock.advance(6 * 24 * hourMs);
    const missed = ["11", "13", "16"].flatMap((day) => world.block(`2026-03-${day}T09:00:00Z`, 2));
    await world.look();
    world.clock.jumpWallClock(-40 * 24 * hourMs);
    world.restart();
    for (let look = 0; look < 3; look += 1) {
      await world.lookAfter(300_000);
    }
    expect(world.takeForwarded()).toStrictEqual([...before, ...missed].sort());
  });

  test("by 40 days behind forwards no row again", async () => {
    const rows = world.block("2026-03-10T11:00:00Z", 2);
    await world.look();
    for (const days of [-40, 40]) {
      world.clock.jumpWallClock(days * 24 * hourMs);
      await world.lookAfter(300_000);
    }
    expect(world.takeForwarded()).toStrictEqual(rows);
    expect(world.condition()).toBe("True Forwarded");
  });
});

test("a longer lookback forwards no row of a closed day again", async () => {
  const rows = world.block("2026-03-09T11:00:00Z", 2);
  await world.look();
  world.block("2026-03-14T11:00:00Z", 1).forEach((path) => rows.push(path));
  for (let day = 0; day < 5; day += 1) {
    await world.lookAfter(24 * hourMs);
  }
  world.declare({ lookbackMs: 6 * 24 * hourMs });
  await world.look();
  expect(world.takeForwarded()).toStrictEqual(rows.sort());
});

describe("when it ends", () => {
  test("a process that may no longer forward forwards and reports nothing", async () => {
    world.block("2026-03-10T11:00:00Z", 2);
    world.mayForward = false;
    const outcome = await world.look();
    expect(outcome).toStrictEqual({ wakeAtMs: world.clock.nowMs() + 10_000 });
    expect(world.forwarded).toStrictEqual([]);
    expect(world.condition()).toBeUndefined();
    world.stopping.abort();
    await world.clock.advance(10_000);
    expect(await world.look()).toStrictEqual({ wakeAtMs: undefined });
  });

  test("entries that were forwarded before the process stopped are recorded", async () => {
    const rows = world.block("2026-03-10T11:00:00Z", 1200).sort();
    world.onWrite = () => {
      world.stopping.abort();
      world.mayForward = false;
      return undefined;
    };
    await world.look();
    expect(world.forwarded).toHaveLength(500);
    const next = new ForwardWorld();
    await next.becomeReady();
    next.rows.push(...world.rows);
    next.record = world.record;
    await next.look();
    expect([...world.forwarded, ...next.forwarded].sort()).toStrictEqual(rows);
  });

  test("an instance that is deleted or being deleted is ignored", async () => {
    world.block("2026-03-10T11:00:00Z", 3);
    const { gathered } = world;
    if (gathered === undefined) throw new Error("there is no instance");
    world.gathered = { ...gathered, instance: { ...gathered.instance, meta: { ...world.instance, deleting: true } } };
    expect(await world.look()).toStrictEqual({ wakeAtMs: undefined });
    world.gathered = undefined;
    expect(await world.look()).toStrictEqual({ wakeAtMs: undefined });
    expect(world.queries).toStrictEqual([]);
    world.gathered = gathered;
  });
});

test("an instance that is created again starts with its own record, and not with what is known of the former one", async () => {
  const rows = world.block("2026-03-10T11:00:00Z", 2);
  await world.look();
  expect(world.takeForwarded()).toStrictEqual(rows);
  const { gathered } = world;
  if (gathered === undefined) throw new Error("there is no instance");
  world.gathered = { ...gathered, instance: { ...gathered.instance, meta: { ...world.instance, uid: "again" } } };
  world.record = undefined;
  await world.lookAfter(300_000);
  expect(world.takeForwarded()).toStrictEqual(rows);
});

test("a new instance waits for its first reconcile run, which determines the domain", async () => {
  world = new ForwardWorld();
  world.block("2026-03-10T11:00:00Z", 1);
  expect(await world.look()).toStrictEqual({ wakeAtMs: undefined });
  expect(world.queries).toStrictEqual([]);
  await world.becomeReady();
  await world.look();
  expect(world.forwarded).toHaveLength(1);
  expect([...world.domains]).toStrictEqual(["shop.example"]);
  expect(world.condition()).toBe("True Forwarded");
});
