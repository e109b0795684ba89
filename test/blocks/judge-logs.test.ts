// Clock: 2026-03-10 12:00 UTC at the start of each test.
import { blockKey } from "../../src/blocks/judge.ts";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { anAutoBlock, type AutoBlockOverrides } from "../support/builders/declare-auto-block.ts";
import { aRule } from "../support/builders/declare.ts";
import { crash } from "../support/fakes/crash.ts";
import { anEntry } from "../support/builders/log-entry.ts";
import { ForwardWorld, type SaveFault } from "../support/worlds/forward-world.ts";

const minuteMs = 60_000;

let world: ForwardWorld;

afterEach(() => world.checkStatuses());

async function start(overrides: AutoBlockOverrides = {}, enabled = false): Promise<void> {
  world = new ForwardWorld();
  world.declare({ enabled }, { autoBlocks: [anAutoBlock({ threshold: 5, ...overrides })] });
  await world.becomeReady();
}

function attack(client: string, count: number, visibleAt: string, from = "2026-03-10T11:50:00Z"): void {
  for (let index = 0; index < count; index += 1) {
    const timestamp = new Date(Date.parse(from) + index * 1_000).toISOString();
    const entry = anEntry({ client_ip: client, timestamp, request_path: `/${world.rows.length}` });
    world.rows.push({ entry, visibleAtMs: Date.parse(visibleAt) });
  }
}

function judgement(uid = anAutoBlock().meta.uid) {
  const published = world.published[blockKey(anAutoBlock({ meta: { uid } }).meta)];
  if (published === undefined) throw new Error("nothing was published");
  return published;
}

describe("judged logs", () => {
  test("are read even if nothing is forwarded", async () => {
    await start();
    attack("203.0.113.7", 5, "2026-03-10T11:55:00Z");
    await world.look();
    expect(judgement().listed.map(({ entry }) => entry)).toStrictEqual(["203.0.113.7"]);
    expect(world.takeForwarded()).toStrictEqual([]);
    expect(world.condition()).toBeUndefined();
    expect(world.reading).toBe("True Judged");
  });

  test("are read once for judging and forwarding, without further calls", async () => {
    await start({}, true);
    attack("203.0.113.7", 5, "2026-03-10T11:55:00Z");
    await world.look();
    const { queries } = world;
    expect(world.takeForwarded()).toHaveLength(5);
    expect(judgement().rows.matched).toBe(5);
    const other = new ForwardWorld();
    await other.becomeReady();
    other.rows.push(...world.rows);
    await other.look();
    expect(queries).toStrictEqual(other.queries);
  });

  test.each([
    ["a suspended WafAutoBlock", { suspend: true }, undefined],
    ["a WafAutoBlock of a namespace without access", { name: "shop/scanners" }, []],
  ])("are not read for %s", async (_what, overrides, access) => {
    await start(overrides);
    const { instance } = world.gathered!;
    world.gathered = { ...world.gathered!, instance: { ...instance, access: access ?? instance.access } };
    attack("203.0.113.7", 5, "2026-03-10T11:55:00Z");
    expect(await world.look()).toStrictEqual({ wakeAtMs: undefined });
    expect(world.queries).toStrictEqual([]);
  });

  test("list no client that a rule allows", async () => {
    await start();
    const rules = [aRule("partners", { action: "Allow", addresses: ["203.0.113.0/28"] })];
    world.declare({ enabled: false }, { autoBlocks: [anAutoBlock({ threshold: 5 })], rules });
    attack("203.0.113.7", 50, "2026-03-10T11:55:00Z");
    attack("203.0.113.70", 50, "2026-03-10T11:55:00Z");
    await world.look();
    expect(judgement().listed.map(({ entry }) => entry)).toStrictEqual(["203.0.113.70"]);
  });

  test("say why they can't be read", async () => {
    await start();
    world.faults.push({ code: "BadApiKey", message: "The API rejected the API key." });
    await world.look();
    expect(world.reading).toBe("False ApiUnavailable");
  });

  test("start from scratch for an object that was deleted and recreated", async () => {
    await start();
    attack("203.0.113.7", 5, "2026-03-10T11:55:00Z");
    await world.look();
    world.declare({ enabled: false }, { autoBlocks: [anAutoBlock({ threshold: 5, meta: { uid: "another" } })] });
    world.restart();
    await world.look();
    expect(judgement("another").listed).toStrictEqual([]);
  });
});

describe("rows that the client did not send do not count", () => {
  const six = (): void => attack("203.0.113.7", 6, "2026-03-10T11:55:00Z");

  beforeEach(async () => {
    await start({ threshold: 10 }, true);
    world.pageSize = 4;
  });

  /** Looks `count` times, five minutes apart. */
  async function lookOften(count = 4): Promise<void> {
    for (let look = 0; look < count; look += 1) {
      await world.look();
      await world.clock.advance(5 * minuteMs);
    }
  }

  const counted = () => ({ listed: judgement().listed.map(({ entry }) => entry), rows: judgement().rows.matched });

  test("each row is returned twice", async () => {
    six();
    world.distort = (rows) => rows.flatMap((row) => [row, row]);
    await lookOften();
    expect(counted()).toStrictEqual({ listed: [], rows: 6 });
    expect(world.status.eventReasons()).toContain("LogEntriesMissing");
  });

  test("a page is returned twice, or pages overlap", async () => {
    six();
    world.distort = (rows) => [...rows.slice(0, 4), ...rows];
    await lookOften();
    expect(counted()).toStrictEqual({ listed: [], rows: 6 });
    attack("203.0.113.7", 3, "2026-03-10T12:00:00Z", "2026-03-10T11:58:00Z");
    world.distort = (rows) => [...rows.slice(0, 6), ...rows.slice(2, 5)];
    await lookOften();
    expect(counted()).toStrictEqual({ listed: [], rows: 6 });
    world.distort = undefined;
    await lookOften(1);
    expect(counted()).toStrictEqual({ listed: [], rows: 9 });
  });

  test("every day is answered with the same rows", async () => {
    six();
    world.distort = () => world.rows.map(({ entry }) => entry);
    world.total = 6;
    await lookOften();
    expect(counted()).toStrictEqual({ listed: [], rows: 6 });
    expect(world.status.eventReasons()).toContain("LogEntriesUnjudged");
  });

  test("rows are completed later, and their times are spelled otherwise", async () => {
    six();
    world.distort = (rows) => rows.map((row) => ({ ...row, country: null, response_size: 0 }));
    await lookOften(1);
    world.distort = (rows) =>
      rows.map((row) => ({ ...row, timestamp: row.timestamp.replace("Z", "+00:00"), client_ip: "::ffff:203.0.113.7" }));
    attack("203.0.113.7", 1, "2026-03-10T12:00:00Z", "2026-03-10T11:58:00Z");
    await lookOften();
    expect(counted()).toStrictEqual({ listed: [], rows: 7 });
  });

  test("rows change in a field by which they are known", async () => {
    six();
    await lookOften(1);
    attack("203.0.113.7", 1, "2026-03-10T12:00:00Z", "2026-03-10T11:58:00Z");
    world.distort = (rows) => rows.map((row) => ({ ...row, user_agent: "changed" }));
    await lookOften();
    expect(counted()).toStrictEqual({ listed: [], rows: 6 });
    expect(world.status.eventReasons()).toContain("LogEntriesUnjudged");
    world.distort = undefined;
    await lookOften(1);
    expect(counted()).toStrictEqual({ listed: [], rows: 7 });
  });

  /** One read while the clock is ahead. */
  async function lookAhead(days: number): Promise<void> {
    world.clock.jumpWallClock(days * 24 * 60 * minuteMs);
    await lookOften(1);
    world.clock.jumpWallClock(-days * 24 * 60 * minuteMs);
  }

  test.each([3, 40])("the clock is %i days ahead for one read", async (days) => {
    six();
    await lookOften(1);
    await lookAhead(days);
    await lookOften();
    expect(counted()).toStrictEqual({ listed: [], rows: 6 });
    expect(world.takeForwarded()).toHaveLength(6);
    expect(world.reading).toBe("True Judged");
  });

  test("the clock is ahead for one read, and every day is answered with the same rows", async () => {
    six();
    world.distort = () => world.rows.map(({ entry }) => entry);
    world.total = 6;
    await lookOften(1);
    await lookAhead(4);
    attack("203.0.113.7", 1, "2026-03-10T12:00:00Z", "2026-03-10T11:58:00Z");
    world.total = 7;
    await lookOften();
    expect(counted()).toStrictEqual({ listed: [], rows: 7 });
  });

  test("rows are missing: the day waits until it is complete", async () => {
    attack("203.0.113.7", 12, "2026-03-10T11:55:00Z");
    world.distort = (rows) => rows.slice(1);
    await lookOften(2);
    expect(counted()).toStrictEqual({ listed: [], rows: 0 });
    world.distort = undefined;
    await lookOften(1);
    expect(counted()).toStrictEqual({ listed: ["203.0.113.7"], rows: 12 });
  });

  test("no new row comes although the total says so: the day waits as well", async () => {
    await lookOften(1);
    attack("203.0.113.7", 12, "2026-03-10T11:55:00Z");
    world.distort = () => [];
    await lookOften(1);
    world.distort = undefined;
    await lookOften(1);
    expect(counted()).toStrictEqual({ listed: ["203.0.113.7"], rows: 12 });
  });

  test("equal requests of the same instant count as often as one page contains them, and as the total allows", async () => {
    world.pageSize = 12;
    const same = anEntry({ client_ip: "203.0.113.7", timestamp: "2026-03-10T11:50:00Z" });
    for (let copy = 0; copy < 9; copy += 1) {
      world.rows.push({ entry: same, visibleAtMs: Date.parse("2026-03-10T11:55:00Z") });
    }
    await lookOften();
    expect(counted()).toStrictEqual({ listed: [], rows: 9 });
    world.rows.push({ entry: same, visibleAtMs: world.clock.nowMs() });
    await lookOften();
    expect(counted()).toStrictEqual({ listed: ["203.0.113.7"], rows: 10 });
  });

  test("rows differ in nothing but the reason, and only one of them matches", async () => {
    await start({ threshold: 2, match: { ...anAutoBlock().match, reasons: ["SQL"] } });
    const row = anEntry({ client_ip: "203.0.113.7", timestamp: "2026-03-10T11:50:00Z" });
    const visibleAtMs = Date.parse("2026-03-10T11:55:00Z");
    world.rows.push({ entry: row, visibleAtMs });
    await lookOften(1);
    world.rows.unshift({ entry: { ...row, block_reason: "Bad Bot 7" }, visibleAtMs });
    await lookOften();
    expect(counted()).toStrictEqual({ listed: [], rows: 1 });
  });
});

describe("each row is judged once", () => {
  const looks = 8;

  /** Rows of several clients, a page at a time, some of them late. */
  async function story(disturb: () => void) {
    await start({ ttlMs: 10 * minuteMs });
    world.pageSize = 3;
    for (let look = 0; look < looks; look += 1) {
      const at = new Date(Date.UTC(2026, 2, 10, 12, 5 * look)).toISOString();
      attack("203.0.113.7", 3, at, new Date(Date.parse(at) - 6 * minuteMs).toISOString());
      attack(`203.0.113.${100 + look}`, 4, at, new Date(Date.parse(at) - 2 * minuteMs).toISOString());
    }
    disturb();
    for (let look = 0; look < looks; look += 1) {
      const untilMs = Date.UTC(2026, 2, 10, 12, 5 * look);
      await world.clock.advance(Math.max(0, untilMs - world.clock.nowMs()));
      // The new process starts immediately.
      for (let tries = 0; tries < 5 && (await world.look()) === undefined; tries += 1);
    }
    const { rows, listed } = judgement();
    return { rows, entries: listed.map(({ entry, times, requests }) => ({ entry, times, requests })) };
  }

  const faults: readonly SaveFault[] = ["CrashBefore", "CrashAfter", "Conflict", "Failed"];

  test.each(faults)("regardless of what happens when it is recorded: %s", async (fault) => {
    const undisturbed = await story(() => undefined);
    expect(undisturbed).toMatchObject({ rows: { matched: 7 * looks } });
    for (let place = 0; place < looks; place += 1) {
      const disturbed = await story(() => {
        world.saveFaults.push(...Array.from({ length: place }, () => "None" as SaveFault), fault);
      });
      // Failed work is retried in the next run, so later entries start later.
      const isAtOnce = fault === "CrashBefore" || fault === "CrashAfter";
      expect(disturbed).toStrictEqual(isAtOnce ? undisturbed : { ...disturbed, rows: undisturbed.rows });
    }
  });

  test("when the process is killed while it forwards them", async () => {
    for (let place = 1; place <= 4; place += 1) {
      await start({}, true);
      attack("203.0.113.7", 1_400, "2026-03-10T11:55:00Z");
      let writes = 0;
      world.onWrite = () => {
        writes += 1;
        if (writes === place) throw crash("during a write");
        return undefined;
      };
      for (let tries = 0; tries < 5 && (await world.look()) === undefined; tries += 1);
      expect(judgement().rows.matched).toBe(1_400);
      expect(judgement().listed[0]?.requests).toBe(1_400);
    }
  });
});
