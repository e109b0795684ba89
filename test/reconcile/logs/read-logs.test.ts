import { describe, expect, test } from "@jest/globals";
import type { LogPage } from "../../../src/model/log-entry.ts";
import { LogCursor, loadLogCursor } from "../../../src/plan/logs/cursor.ts";
import { brokenShownMax } from "../../../src/plan/logs/day-reading.ts";
import { logFailuresMax } from "../../../src/plan/logs/retry.ts";
import type { LogReaderPorts, LogWait } from "../../../src/reconcile/logs/log-ports.ts";
import { countLogs, readLogs } from "../../../src/reconcile/logs/read-logs.ts";
import type { LogPiece } from "../../../src/reconcile/logs/read-logs.ts";
import { day, row, scriptedLogs, told } from "../../support/fakes/scripted-logs.ts";
import type { Answer, ScriptedLogs } from "../../support/fakes/scripted-logs.ts";

const date = "2026-06-10";
const days = { firstDay: day(date), lastDay: day(date) };

function portsOf(
  logs: ScriptedLogs,
  more: Partial<LogReaderPorts> = {},
): LogReaderPorts & { readonly waits: LogWait[] } {
  const waits: LogWait[] = [];
  return {
    waf: logs.waf,
    clock: { nowMs: () => 0, monotonicMs: () => 0, sleep: async () => {}, schedule: () => () => undefined },
    random: () => 0.5,
    stopping: new AbortController().signal,
    onWait: (wait) => void waits.push(wait),
    waits,
    ...more,
  };
}

async function lastOf(pieces: AsyncIterable<LogPiece>): Promise<LogPiece | undefined> {
  let last: LogPiece | undefined;
  for await (const piece of pieces) last = piece;
  return last;
}

/** What comes out of one day, of which each list is a reading. */
async function read(readings: readonly (readonly Answer[])[], total?: number): Promise<string[]> {
  const logs = scriptedLogs({ [date]: readings }, total === undefined ? {} : { [date]: total });
  return await told(readLogs(portsOf(logs), { days }));
}

describe("the stream of rows", () => {
  test("hands on every page of every day, oldest day first, with one call at a time", async () => {
    const logs = scriptedLogs({ [date]: [["a b", "c", "d"]], "2026-06-11": [[""]], "2026-06-12": [["e"]] });
    const pieces = readLogs(portsOf(logs), { days: { firstDay: day(date), lastDay: day("2026-06-12") }, perPage: 2 });
    expect(await told(pieces)).toEqual(["a b", "c", "d", "done 4/4", "done 0/0", "e", "done 1/1"]);
    expect(logs.calls).toEqual([
      `query ${date}/2`,
      `scroll ${date} 0 1`,
      `scroll ${date} 0 2`,
      "query 2026-06-11/2",
      "query 2026-06-12/2",
    ]);
    expect(logs.most).toBe(1);
  });

  test("asks for the next page while the last one is worked on, and for no page beyond that", async () => {
    const logs = scriptedLogs({ [date]: [["a", "b", "c"]] });
    const pieces = readLogs(portsOf(logs), { days });
    await pieces.next();
    expect(logs.calls).toEqual([`query ${date}/10000`, `scroll ${date} 0 1`]);
    await pieces.return();
    expect(logs.calls).toHaveLength(2);
  });

  test("takes an empty page with a scroll id for the end when all rows are there", async () => {
    const end: LogPage = { scrollId: "more", total: 2, entries: [], broken: [] };
    expect(await read([["a b", end]])).toEqual(["a b", "done 2/2"]);
  });

  test("hands on equal rows as often as they come", async () => {
    expect(await read([["a a", "a b b"]])).toEqual(["a a", "a b b", "done 5/5"]);
  });
});

describe("a scroll that breaks", () => {
  test.each([["Unavailable"], ["TimedOut"], ["ContractBroken"], ["Rejected"]] as const)(
    "by %s is begun again at its day, and nothing is handed on twice",
    async (fault) => {
      expect(
        await read([
          ["a a", { fault }, "c"],
          ["a a", "b", "c"],
        ]),
      ).toEqual(["a a", "b", "c", "done 4/4"]);
    },
  );

  test("hands on what has arrived meanwhile, wherever it stands, and equal rows as often as they are there", async () => {
    const pieces = await read([
      ["a b a", "c", { fault: "Unavailable" }],
      ["x a y", "c b", "a a"],
    ]);
    expect(pieces).toEqual(["a b a", "c", "x y", "a", "done 7/7"]);
  });

  test("costs its own day and no other", async () => {
    const logs = scriptedLogs({
      [date]: [["a", "b"]],
      "2026-06-11": [
        ["c", { fault: "Unavailable" }],
        ["c", "d"],
      ],
    });
    const pieces = readLogs(portsOf(logs), { days: { firstDay: day(date), lastDay: day("2026-06-11") } });
    expect(await told(pieces)).toEqual(["a", "b", "done 2/2", "c", "d", "done 2/2"]);
    expect(logs.calls.filter((call) => call.startsWith(`query ${date}`))).toHaveLength(1);
  });

  test("never uses a scroll id again that may have been used, but after a 429 it does", async () => {
    const broken = scriptedLogs({
      [date]: [
        ["a", { fault: "TimedOut" }],
        ["a", "b"],
      ],
    });
    await told(readLogs(portsOf(broken), { days }));
    expect(broken.calls).toEqual([
      `query ${date}/10000`,
      `scroll ${date} 0 1`,
      `query ${date}/10000`,
      `scroll ${date} 1 1`,
    ]);
    const limited = scriptedLogs({ [date]: [["a", { fault: "RateLimited", retryAfterMs: 7_000 }]] });
    const ports = portsOf(limited);
    const pieces = readLogs(ports, { days });
    await pieces.next();
    for (let step = 0; step < 2; step += 1) await Promise.race([pieces.next(), new Promise((go) => setImmediate(go))]);
    expect(new Set(limited.calls.slice(1))).toEqual(new Set([`scroll ${date} 0 1`]));
    expect(ports.waits[0]?.delayMs).toBe(7_000);
  });
});

describe("a reading that contradicts itself", () => {
  test("is repeated when a page comes twice, before that page is handed on", async () => {
    expect(
      await read([
        ["a b", "a b", "c d"],
        ["a b", "c d", "e f"],
      ]),
    ).toEqual(["a b", "c d", "e f", "done 6/6"]);
  });

  test("is repeated when rows are missing at its end", async () => {
    expect(
      await read(
        [
          ["a b", "c"],
          ["a b", "c d"],
        ],
        4,
      ),
    ).toEqual(["a b", "c", "d", "done 4/4"]);
  });

  test("is repeated when there are more rows than there should be, before they are handed on", async () => {
    expect(
      await read(
        [
          ["a b", "b c"],
          ["a b", "c"],
        ],
        3,
      ),
    ).toEqual(["a b", "c", "done 3/3"]);
  });

  test("is believed when it is the same again and again: equal pages are equal requests", async () => {
    expect(await read([["a a", "a a", "b"]])).toEqual(["a a", "a a", "b", "done 5/5"]);
  });

  test("is taken as it is when rows stay missing, and that is told", async () => {
    expect(await read([["a b"]], 3)).toEqual(["a b", "done 2/3"]);
    expect(await read([["a", "b"]], 3)).toEqual(["a", "b", "done 2/3"]);
    expect(await read([["a", "b", "c"]], 2)).toEqual(["a", "b", "c", "done 3/2"]);
  });

  test("does not trust a total that grows while the pages come, but the rows", async () => {
    const page = (path: string, total: number, scrollId: string | null): LogPage => ({
      scrollId,
      total,
      entries: [row(path)],
      broken: [],
    });
    const pages = [page("a", 2, "x"), page("b", 3, null)];
    const logs = scriptedLogs({ [date]: [pages] });
    const waf = { ...logs.waf, scrollLogs: async () => await logs.waf.scrollLogs(`${date} 0 1`) };
    expect(await told(readLogs(portsOf({ ...logs, waf }), { days }))).toEqual(["a", "b", "done 2/2"]);
  });
});

test("broken entries are told by their position in the day, and the others go on", async () => {
  const logs = scriptedLogs({
    [date]: [
      [{ scrollId: null, total: 3, entries: [row("a"), row("b")], broken: [{ position: 1, problem: "is odd" }] }],
    ],
  });
  expect(await lastOf(readLogs(portsOf(logs), { days }))).toMatchObject({
    kind: "DayDone",
    summary: { came: 3, total: 3, brokenCount: 1, broken: [{ position: 2, problem: "is odd" }] },
  });
  const many = Array.from({ length: 500 }, (_, position) => ({ position, problem: "is odd" }));
  const worse = scriptedLogs({ [date]: [[{ scrollId: null, total: 500, entries: [], broken: many }]] });
  const piece = await lastOf(readLogs(portsOf(worse), { days }));
  if (piece?.kind !== "DayDone") throw new TypeError("the day should be done");
  expect(piece.summary?.brokenCount).toBe(500);
  expect(piece.summary?.broken).toHaveLength(brokenShownMax);
});

describe("a failure that does not pass", () => {
  test.each([["BadApiKey"], ["MissingApiKey"], ["NotFound"], ["Rejected"]] as const)(
    "%s ends the stream at once",
    async (fault) => {
      const logs = scriptedLogs({ [date]: [[{ fault }]] });
      expect(await told(readLogs(portsOf(logs), { days }))).toEqual([`failed ${fault}`]);
      expect(logs.calls).toHaveLength(1);
    },
  );

  test("ends it soon when nothing ever worked, and late when something did", async () => {
    const never = scriptedLogs({ [date]: [[{ fault: "Unavailable" }]] });
    expect(await told(readLogs(portsOf(never), { days }))).toEqual(["failed Unavailable"]);
    expect(never.calls).toHaveLength(5);
    const later = scriptedLogs({ [date]: [["a", { fault: "Unavailable" }]] });
    expect(await told(readLogs(portsOf(later), { days }))).toEqual(["a", "failed Unavailable"]);
    expect(later.calls).toHaveLength(2 * logFailuresMax);
  });

  test("pauses longer and longer, and never for longer than ten seconds", async () => {
    const logs = scriptedLogs({ [date]: [["a", { fault: "Unavailable" }]] });
    const ports = portsOf(logs);
    await told(readLogs(ports, { days }));
    const delays = ports.waits.map(({ delayMs }) => delayMs);
    expect(delays).toEqual(delays.toSorted((a, b) => a - b));
    expect(delays[0]).toBeGreaterThanOrEqual(100);
    expect(delays.at(-1)).toBe(10_000);
  });

  test("a stop ends the stream without a further call", async () => {
    const stopping = new AbortController();
    const logs = scriptedLogs({ [date]: [["a", { fault: "Unavailable" }]] });
    const ports = portsOf(logs, { stopping: stopping.signal, onWait: () => stopping.abort() });
    expect(await told(readLogs(ports, { days }))).toEqual(["a", "stopped"]);
    expect(logs.calls).toHaveLength(2);
  });
});

describe("reading again and again with a cursor", () => {
  const firstDay = day(date);
  const seed = { low: 1, high: 2 };

  async function look(cursor: LogCursor, logs: ScriptedLogs, today: string, lookbackDays = 1): Promise<string[]> {
    const words: string[] = [];
    const markOf = (one: number) => cursor.markOf(one);
    const range = cursor.daysToRead(day(today), lookbackDays);
    for await (const piece of readLogs(portsOf(logs), { days: range, markOf })) {
      words.push(
        ...(await told(
          (async function* () {
            yield piece;
          })(),
        )),
      );
      if (piece.kind === "DayDone") cursor.dayDone(piece.day, piece.total);
    }
    cursor.forgetBefore(range.lastDay - lookbackDays);
    return words;
  }

  test("hands on only what is new, and asks for one row of a day to which nothing was added", async () => {
    const cursor = new LogCursor(firstDay, seed);
    const logs = scriptedLogs({ [date]: [["a a"], ["b a a"]] }, {});
    expect(await look(cursor, logs, date)).toEqual(["a a", "done 2/2"]);
    expect(await look(cursor, logs, date)).toEqual(["b", "done 3/3"]);
    expect(await look(cursor, logs, date)).toEqual(["unchanged"]);
    expect(logs.calls.at(-1)).toBe(`query ${date}/1`);
  });

  test("hands on a late copy of a row that was there already", async () => {
    const cursor = new LogCursor(firstDay, seed);
    const logs = scriptedLogs({ [date]: [["a"], ["a a"]] });
    expect(await look(cursor, logs, date)).toEqual(["a", "done 1/1"]);
    expect(await look(cursor, logs, date)).toEqual(["a", "done 2/2"]);
  });

  test("goes on where it was after a restart, also in the middle of a day", async () => {
    const before = new LogCursor(firstDay, seed);
    const logs = scriptedLogs({
      [date]: [
        ["a b", { fault: "BadApiKey" }],
        ["b c", "a d"],
      ],
    });
    expect(await look(before, logs, date)).toEqual(["a b", "failed BadApiKey"]);
    const after = loadLogCursor(JSON.parse(JSON.stringify(before.save())));
    expect(after && (await look(after, logs, date))).toEqual(["c", "d", "done 4/4"]);
  });

  test("reads the days that it missed, then only those for which rows may still arrive, and forgets the others", async () => {
    const cursor = new LogCursor(firstDay, seed);
    const logs = scriptedLogs({ [date]: [["a"]], "2026-06-13": [["b"]] });
    await look(cursor, logs, date);
    expect(await look(cursor, logs, "2026-06-13")).toEqual(["unchanged", "done 0/0", "done 0/0", "b", "done 1/1"]);
    expect(cursor.daysToRead(day("2026-06-13"), 1)).toEqual({
      firstDay: day("2026-06-12"),
      lastDay: day("2026-06-13"),
    });
    expect(cursor.save().days.map((one) => one.day)).toEqual([day("2026-06-12"), day("2026-06-13")]);
  });

  test("never reaches behind its first day", () => {
    const cursor = new LogCursor(firstDay, seed);
    expect(cursor.daysToRead(firstDay, 30)).toEqual({ firstDay, lastDay: firstDay });
  });
});

test("the number of rows of a range is asked for with one row, and again when that fails", async () => {
  const logs = scriptedLogs({ [date]: [["a b c"]] });
  const dates = { startDate: date, endDate: "2026-06-12" };
  expect(await countLogs(portsOf(logs), dates)).toEqual({ ok: true, total: 3 });
  expect(logs.calls).toEqual([`query ${date}..2026-06-12/1`]);
  const failing = scriptedLogs({ [date]: [[{ fault: "Unavailable" }]] });
  expect(await countLogs(portsOf(failing), dates)).toMatchObject({ ok: false, fault: { code: "Unavailable" } });
  expect(failing.calls).toHaveLength(5);
});
