import { describe, expect, test } from "@jest/globals";
import type { BrokenLogEntry, LogEntry, LogPage } from "../../src/model/log-entry.ts";
import { LogCursor } from "../../src/logs/cursor.ts";
import { brokenShownMax } from "../../src/logs/day-reading.ts";
import {
  logFailuresMax,
  type LogPiece,
  type LogReaderPorts,
  type LogWait,
  readLogs,
} from "../../src/logs/read-logs.ts";
import {
  type Answer,
  day,
  pageOf,
  row,
  scriptedLogs,
  type ScriptedLogs,
  told,
} from "../support/fakes/scripted-logs.ts";

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

async function* only(piece: LogPiece): AsyncGenerator<LogPiece> {
  yield piece;
}

/** The rows of one day. Each list is one reading of it. */
async function read(...readings: readonly (readonly Answer[])[]): Promise<string[]> {
  return await readOf(undefined, ...readings);
}

/** The same, of a day for which the API says this total. */
async function readOf(total: number | undefined, ...readings: readonly (readonly Answer[])[]): Promise<string[]> {
  const logs = scriptedLogs({ [date]: readings }, total === undefined ? {} : { [date]: total });
  return await told(readLogs(portsOf(logs), { days }));
}

describe("the stream of rows", () => {
  test("contains every page of every day, oldest day first, with one call at a time", async () => {
    const logs = scriptedLogs({ [date]: [["a b", "c", "d"]], "2026-06-11": [[""]], "2026-06-12": [["e"]] });
    const pieces = readLogs(portsOf(logs), { days: { firstDay: day(date), lastDay: day("2026-06-12") }, perPage: 2 });
    expect(await told(pieces)).toStrictEqual(["a b", "c", "d", "done 4/4", "done 0/0", "e", "done 1/1"]);
    expect(logs.calls).toStrictEqual([
      `query ${date}/2`,
      `scroll ${date} 0 1`,
      `scroll ${date} 0 2`,
      "query 2026-06-11/2",
      "query 2026-06-12/2",
    ]);
    expect(logs.most).toBe(1);
  });

  test("treats an empty page with a scroll ID as the end if all rows have arrived", async () => {
    expect(await read(["a b", pageOf([], 2, "more")])).toStrictEqual(["a b", "done 2/2"]);
  });
});

describe("a failed scroll", () => {
  test.each([["Unavailable"], ["TimedOut"], ["ContractBroken"], ["Rejected"]] as const)(
    "with %s is restarted at its day, and nothing is returned twice",
    async (fault) => {
      const pieces = await read(["a a", { fault }, "c"], ["a a", "b", "c"]);
      expect(pieces).toStrictEqual(["a a", "b", "c", "done 4/4"]);
    },
  );

  test("returns rows that have arrived meanwhile, at any position, and equal rows as often as they occur", async () => {
    const pieces = await read(["a b a", "c", { fault: "Unavailable" }], ["x a y", "c b", "a a"]);
    expect(pieces).toStrictEqual(["a b a", "c", "x y", "a", "done 7/7"]);
  });

  test("repeats its own day and no other", async () => {
    const logs = scriptedLogs({
      [date]: [["a", "b"]],
      "2026-06-11": [
        ["c", { fault: "Unavailable" }],
        ["c", "d"],
      ],
    });
    const pieces = readLogs(portsOf(logs), { days: { firstDay: day(date), lastDay: day("2026-06-11") } });
    expect(await told(pieces)).toStrictEqual(["a", "b", "done 2/2", "c", "d", "done 2/2"]);
    expect(logs.calls.filter((call) => call.startsWith(`query ${date}`))).toHaveLength(1);
  });

  test("never reuses a scroll ID that may have been consumed, except after a 429", async () => {
    const interrupted = [
      ["a", { fault: "TimedOut" }],
      ["a", "b"],
    ] as const;
    const broken = scriptedLogs({ [date]: interrupted });
    await told(readLogs(portsOf(broken), { days }));
    const query = `query ${date}/10000`;
    expect(broken.calls).toStrictEqual([query, `scroll ${date} 0 1`, query, `scroll ${date} 1 1`]);
    const limited = scriptedLogs({ [date]: [["a", { fault: "RateLimited", retryAfterMs: 7_000 }]] });
    const ports = portsOf(limited);
    const pieces = readLogs(ports, { days });
    await pieces.next();
    for (let step = 0; step < 2; step += 1) await Promise.race([pieces.next(), new Promise((go) => setImmediate(go))]);
    expect(new Set(limited.calls.slice(1))).toStrictEqual(new Set([`scroll ${date} 0 1`]));
    expect(ports.waits[0]?.delayMs).toBe(7_000);
  });
});

describe("a reading that contradicts itself", () => {
  test.each<[string, number | undefined, readonly (readonly string[])[], readonly string[]]>([
    [
      "a page occurs twice",
      undefined,
      [
        ["a b", "a b", "c d"],
        ["a b", "c d", "e f"],
      ],
      ["a b", "c d", "e f", "done 6/6"],
    ],
    [
      "rows are missing at its end",
      4,
      [
        ["a b", "c"],
        ["a b", "c d"],
      ],
      ["a b", "c", "d", "done 4/4"],
    ],
    [
      "there are too many rows",
      3,
      [
        ["a b", "b c"],
        ["a b", "c"],
      ],
      ["a b", "c", "done 3/3"],
    ],
  ])("is repeated if %s, before what is wrong is returned", async (_, total, readings, expected) => {
    expect(await readOf(total, ...readings)).toStrictEqual(expected);
  });

  test("is accepted if every repetition is the same: equal pages are equal requests", async () => {
    expect(await read(["a a", "a a", "b"])).toStrictEqual(["a a", "a a", "b", "done 5/5"]);
  });

  test("is accepted if rows stay missing, and this is reported", async () => {
    expect(await readOf(3, ["a b"])).toStrictEqual(["a b", "done 2/3"]);
    expect(await readOf(3, ["a", "b"])).toStrictEqual(["a", "b", "done 2/3"]);
    expect(await readOf(2, ["a", "b", "c"])).toStrictEqual(["a", "b", "c", "done 3/2"]);
  });

  test("trusts the rows and not a total that grows while the pages arrive", async () => {
    const pages = [pageOf([row("a")], 2, "x"), pageOf([row("b")], 3, null)];
    const logs = scriptedLogs({ [date]: [pages] });
    const waf = { ...logs.waf, scrollLogs: async () => await logs.waf.scrollLogs(`${date} 0 1`) };
    expect(await told(readLogs(portsOf({ ...logs, waf }), { days }))).toStrictEqual(["a", "b", "done 2/2"]);
  });
});

test("malformed entries are reported by their position in the day, and the others are returned", async () => {
  const pageWith = (entries: readonly LogEntry[], broken: readonly BrokenLogEntry[]): LogPage => {
    const length = entries.length + broken.length;
    return { ...pageOf([], length, null), length, rows: () => ({ entries, broken }) };
  };
  const page = pageWith([row("a"), row("b")], [{ position: 1, problem: "is odd" }]);
  const logs = scriptedLogs({ [date]: [[page]] });
  expect(await lastOf(readLogs(portsOf(logs), { days }))).toMatchObject({
    kind: "DayDone",
    summary: { came: 3, total: 3, brokenCount: 1, broken: [{ position: 2, problem: "is odd" }] },
  });
  const many = Array.from({ length: 500 }, (_, position) => ({ position, problem: "is odd" }));
  const worse = scriptedLogs({ [date]: [[pageWith([], many)]] });
  const piece = await lastOf(readLogs(portsOf(worse), { days }));
  if (piece?.kind !== "DayDone") throw new TypeError("the day should be done");
  expect(piece.summary?.brokenCount).toBe(500);
  expect(piece.summary?.broken).toHaveLength(brokenShownMax);
});

describe("a permanent failure", () => {
  test.each([["BadApiKey"], ["NotFound"], ["Rejected"]] as const)("%s ends the stream immediately", async (fault) => {
    const logs = scriptedLogs({ [date]: [[{ fault }]] });
    expect(await told(readLogs(portsOf(logs), { days }))).toStrictEqual([`failed ${fault}`]);
    expect(logs.calls).toHaveLength(1);
  });

  test("ends the stream soon if no call ever succeeded, and late otherwise", async () => {
    const never = scriptedLogs({ [date]: [[{ fault: "Unavailable" }]] });
    expect(await told(readLogs(portsOf(never), { days }))).toStrictEqual(["failed Unavailable"]);
    expect(never.calls).toHaveLength(5);
    const later = scriptedLogs({ [date]: [["a", { fault: "Unavailable" }]] });
    expect(await told(readLogs(portsOf(later), { days }))).toStrictEqual(["a", "failed Unavailable"]);
    expect(later.calls).toHaveLength(2 * logFailuresMax);
  });

  test("causes increasing pauses of at most ten seconds", async () => {
    const logs = scriptedLogs({ [date]: [["a", { fault: "Unavailable" }]] });
    const ports = portsOf(logs);
    await told(readLogs(ports, { days }));
    const delays = ports.waits.map(({ delayMs }) => delayMs);
    expect(delays).toStrictEqual(delays.toSorted((a, b) => a - b));
    expect(delays[0]).toBeGreaterThanOrEqual(100);
    expect(delays.at(-1)).toBe(10_000);
  });
});

describe("repeated reading with a cursor", () => {
  const firstDay = day(date);
  const seed = { low: 1, high: 2 };

  async function look(cursor: LogCursor, logs: ScriptedLogs, today: string, lookbackDays = 1): Promise<string[]> {
    const words: string[] = [];
    const range = cursor.daysToRead(day(today), lookbackDays);
    for await (const piece of readLogs(portsOf(logs), { days: range, cursor })) {
      words.push(...(await told(only(piece))));
      if (piece.kind === "DayDone") cursor.dayDone(piece.day, piece.total);
    }
    cursor.forget(range.lastDay, lookbackDays);
    return words;
  }

  test("returns only new rows, and requests one row of a day without new rows", async () => {
    const cursor = new LogCursor(firstDay, seed);
    const logs = scriptedLogs({ [date]: [["a a"], ["b a a"]] }, {});
    expect(await look(cursor, logs, date)).toStrictEqual(["a a", "done 2/2"]);
    expect(await look(cursor, logs, date)).toStrictEqual(["b", "done 3/3"]);
    expect(await look(cursor, logs, date)).toStrictEqual(["unchanged"]);
    expect(logs.calls.at(-1)).toBe(`query ${date}/1`);
  });

  test("continues at its position after a restart, even in the middle of a day", async () => {
    const before = new LogCursor(firstDay, seed);
    const logs = scriptedLogs({
      [date]: [
        ["a b", { fault: "BadApiKey" }],
        ["b c", "a d"],
      ],
    });
    expect(await look(before, logs, date)).toStrictEqual(["a b", "failed BadApiKey"]);
    const after = LogCursor.load(JSON.parse(JSON.stringify(before.save())));
    expect(after && (await look(after, logs, date))).toStrictEqual(["c", "d", "done 4/4"]);
  });
});
