import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { collectRange, type Following, followLogs, type LogCollection } from "../../../src/cli/logs/collect-logs.ts";
import { logFormats } from "../../../src/cli/logs/log-format.ts";
import { type LogOutput, openLogFile } from "../../../src/cli/logs/log-output.ts";
import { seededRandom } from "../../support/builders/seeded-random.ts";
import { scratchDirectory } from "../../support/worlds/scratch-directory.ts";
import { dayNumber, failPages, logWorld, type LogWorld } from "../../support/worlds/log-world.ts";

const firstDay = dayNumber("2026-06-06");
const lastDay = dayNumber("2026-06-15");
const hourMs = 3_600_000;

const question = "--base-url https://waf.example --output json";
const range = { days: { firstDay, lastDay }, sinceMs: undefined, untilMs: undefined };

/** A process that dies in the middle of a write: its last write is truncated, and noise follows. */
function dyingOutput(output: LogOutput, writesLeft: number): LogOutput {
  let left = writesLeft;
  return {
    ...output,
    async write(text) {
      left -= 1;
      if (left > 0) return await output.write(text);
      await output.write(`${text.slice(0, text.length / 2)}\u0000\u0000`);
      throw Object.assign(new Error("The process has ended."), { code: "Crash" });
    },
  };
}

/** One download of the range to a file, which may die after this many writes. */
async function download(
  world: LogWorld,
  file: string,
  writes = Number.POSITIVE_INFINITY,
): Promise<"Ended" | "Crashed"> {
  const output = await openLogFile(file, { question, range, isResuming: true });
  try {
    await collectRange(collectionOf(world, dyingOutput(output, writes)), range.days);
    return "Ended";
  } catch (error) {
    if ((error as { code?: string }).code !== "Crash") throw error;
    return "Crashed";
  } finally {
    await output.close();
  }
}

function collectionOf({ ports }: LogWorld, output: LogOutput): LogCollection {
  const watcher = { rowsRead: () => {}, dayDone: () => {}, failed: () => {} };
  return { ports, perPage: 100, filter: () => true, format: logFormats.json(), output, watcher };
}

async function follow(world: LogWorld, file: string, following: Following): Promise<void> {
  const output = await openLogFile(file, { question, range, isResuming: false });
  await followLogs(collectionOf(world, output), following);
  await output.close();
}

/** As JSON, in any order. */
function sorted(entries: Iterable<unknown>): readonly string[] {
  return Array.from(entries, (entry) => JSON.stringify(entry)).sort();
}

function allOf(world: LogWorld): readonly string[] {
  return sorted(world.rows(firstDay, lastDay, () => Number.POSITIVE_INFINITY));
}

async function rowsIn(file: string, isOpen = false): Promise<readonly string[]> {
  const text = await readFile(file, "utf8");
  return sorted(JSON.parse(isOpen ? `${text}]` : text) as unknown[]);
}

describe("a range", () => {
  test("is written exactly, however often the program dies in the middle of a write", async () => {
    await using files = await scratchDirectory({});
    await using world = await logWorld({ now: "2026-06-20T00:00:00Z", logRowsPerDay: 250 });
    failPages(world.simulator, 0.2);
    const file = join(files.path, "rows.json");
    const random = seededRandom(5);
    const ends: string[] = [];
    while (!ends.includes("Ended") && ends.length < 60) {
      const writes = ends.length < 40 ? 1 + Math.floor(random() * 8) : Number.POSITIVE_INFINITY;
      ends.push(await download(world, file, writes));
    }
    expect(ends.filter((end) => end === "Crashed").length).toBeGreaterThan(5);
    expect(await readdir(files.path)).toStrictEqual(["rows.json"]);
    expect(await rowsIn(file)).toStrictEqual(allOf(world));
  });

  test("leaves no file if nothing was written", async () => {
    await using files = await scratchDirectory({});
    const output = await openLogFile(join(files.path, "rows"), { question, range, isResuming: false });
    await output.close();
    expect(await readdir(files.path)).toStrictEqual([]);
  });
});

describe("following", () => {
  test("prints every row once, including late rows, although pages fail", async () => {
    await using files = await scratchDirectory({});
    await using world = await logWorld({
      now: "2026-06-15T20:00:00Z",
      logRowsPerDay: 400,
      logLateMsMax: 20 * hourMs,
    });
    failPages(world.simulator, 0.2);
    const file = join(files.path, "rows.json");
    const start = dayNumber("2026-06-14");
    const end = Date.parse("2026-06-18T00:00:00Z");
    // The follower uses the simulator's clock, which advances by an hour at each poll.
    const clock = {
      nowMs: () => world.time.nowMs,
      sleep: async () => {
        world.time.nowMs += hourMs;
        if (world.time.nowMs >= end) world.stopping.abort();
      },
    };
    const following = { firstDay: start, lookbackDays: 2, intervalMs: 1, clock };
    await follow(world, file, following);
    const expected = sorted(world.rows(start, dayNumber("2026-06-17"), () => end - hourMs));
    expect(expected.length).toBeGreaterThan(1_200);
    expect(await rowsIn(file, true)).toStrictEqual(expected);
  });
});

test("a checkpoint that was tampered with is rejected, and the error says what to do", async () => {
  await using files = await scratchDirectory({ "rows.wafsync-resume": '{"version":1,"offset":-5}' });
  await expect(openLogFile(join(files.path, "rows"), { question, range, isResuming: true })).rejects.toMatchObject({
    code: "Command",
    hint: expect.stringContaining("start again without --resume"),
  });
});

test("a file that is shorter than its checkpoint says is rejected", async () => {
  const checkpoint = { version: 1, question, range, nextDay: firstDay, offset: 4, rows: 1 };
  await using files = await scratchDirectory({ rows: "abc", "rows.wafsync-resume": JSON.stringify(checkpoint) });
  const resumed = openLogFile(join(files.path, "rows"), { question, range, isResuming: true });
  await expect(resumed).rejects.toThrow("the file is shorter than when the download stopped");
  const inNone = openLogFile(join(files.path, "no", "rows"), { question, range, isResuming: false });
  await expect(inNone).rejects.toThrow("cannot be written: no such file or directory");
});
