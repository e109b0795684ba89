// Long: `npm run test:deploy` runs it.
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { collectRange } from "../../../src/cli/logs/collect-logs.ts";
import type { LogCollection } from "../../../src/cli/logs/collect-logs.ts";
import { createLogFormat } from "../../../src/cli/logs/log-format.ts";
import type { LogFormatName } from "../../../src/cli/logs/log-format.ts";
import { openFileOutput } from "../../../src/cli/logs/log-output.ts";
import { logEntryFields } from "../../../src/model/log-entry.ts";
import type { LogEntry } from "../../../src/model/log-entry.ts";
import { csvRows, withoutFormula } from "../../support/builders/csv-rows.ts";
import { Multiset, dayNumber, failPages, logKey, logWorld } from "../../support/worlds/log-world.ts";

const firstDay = dayNumber("2026-05-07");
const lastDay = dayNumber("2026-06-15");
const rowsPerDay = 6250;
const hourMs = 3_600_000;

function csvLine(entry: LogEntry): string {
  const cells = logEntryFields.map((field) => {
    const value = entry[field];
    if (value === null) return undefined;
    return typeof value === "string" ? withoutFormula(value) : String(value);
  });
  return JSON.stringify(cells);
}

const formats: Readonly<
  Record<"ndjson" | "csv", { expected: (entry: LogEntry) => string; lines: (text: string) => Iterable<string> }>
> = {
  ndjson: { expected: (entry) => JSON.stringify(entry), lines: (text) => text.trimEnd().split("\n") },
  csv: {
    expected: csvLine,
    *lines(text) {
      const [header, ...rows] = csvRows(text);
      expect(header).toStrictEqual([...logEntryFields]);
      for (const row of rows) yield JSON.stringify(row);
    },
  },
};

test.each(["ndjson", "csv"] as const satisfies LogFormatName[])(
  "250,000 rows over 40 days are written exactly as %s, although a third of the pages fail and rows arrive late",
  async (name) => {
    // The last day has just ended, so some of its rows are still missing, and each request takes a while.
    const seenAtMs = new Map<string, number>();
    const late = { passesMs: 0 };
    await using world = await logWorld({
      now: "2026-06-16T00:00:00Z",
      logRowsPerDay: rowsPerDay,
      logLateMsMax: 6 * hourMs,
      onRequest: ({ path, parameters }) => {
        if (path === "/api/logs/query") seenAtMs.set(parameters["start_date"] ?? "", world.time.nowMs);
        world.time.nowMs += late.passesMs;
      },
    });
    failPages(world.simulator, 1 / 3);
    const folder = await mkdtemp(join(tmpdir(), "wafsync-logs-"));
    const file = join(folder, "rows");
    late.passesMs = 90_000;
    const summaries = new Map<number, readonly [number, number]>();
    const output = await openFileOutput(file, 0);
    const collection: LogCollection = {
      ports: world.ports,
      perPage: 2500,
      filter: () => true,
      format: createLogFormat(name, false),
      output,
      watcher: {
        rowsRead: () => {},
        dayDone: (day, { came, total }) => void summaries.set(day, [came, total]),
        failed: () => {},
      },
    };
    const end = await collectRange(collection, { firstDay, lastDay });
    await output.close();
    const expected = new Multiset();
    const seenOn = (day: number): number => seenAtMs.get(new Date(day * 86_400_000).toISOString().slice(0, 10)) ?? 0;
    for (const entry of world.rows(firstDay, lastDay, seenOn)) expected.add(formats[name].expected(entry));
    const found = new Multiset(formats[name].lines(await readFile(file, "utf8")));
    await rm(folder, { recursive: true });
    expect(end).toStrictEqual({ state: "Done", rows: expected.size });
    expect(found.difference(expected)).toStrictEqual({ missing: [], tooMany: [] });
    expect(expected.size).toBeGreaterThan(249_000);
    const { requests, faults } = world.simulator.waf(logKey).counters;
    expect(faults / requests).toBeGreaterThan(0.28);
    expect(requests).toBeGreaterThan(40 * 3 * 1.5);
    expect([...summaries.values()].every(([came, total]) => came === total)).toBe(true);
    expect(world.simulator.waf(logKey).overlaps).toBe(0);
    expect(world.simulator.internalErrors).toStrictEqual([]);
  },
);
