import { describe, expect, test } from "@jest/globals";
import { dayMs, makeLogEntry } from "../../src/simulator/log-entries.ts";
import type { LogEntry } from "../../src/simulator/log-entries.ts";
import { withSimulator } from "../support/processes/call-simulator.ts";

const rowCount = 5000;
const firstDay = 20_000;

function rowsOf(day: number, seed = 1): LogEntry[] {
  const logDay = { seed, day, rowCount, lateMsMax: 0, scenario: "Attack" } as const;
  return Array.from({ length: rowCount }, (_, row) => makeLogEntry(logDay, row));
}

/** The number of rows for each value, the most frequent value first. */
function counts(values: readonly string[]): (readonly [value: string, count: number])[] {
  const counted = new Map<string, number>();
  for (const value of values) counted.set(value, (counted.get(value) ?? 0) + 1);
  return [...counted].sort(([, one], [, other]) => other - one);
}

const days = [0, 1, 2, 3, 4, 5, 6, 7].map((day) => rowsOf(firstDay + day));

describe("The scenario Attack", () => {
  test("generates the same rows for the same seed, and different rows for another seed", () => {
    expect(rowsOf(firstDay)).toStrictEqual(days[0]);
    expect(rowsOf(firstDay, 2)).not.toStrictEqual(days[0]);
    const logDay = { seed: 1, day: firstDay, rowCount, lateMsMax: 0, scenario: "Attack" } as const;
    expect(makeLogEntry(logDay, 4321)).toStrictEqual(days[0]?.[4321]);
  });

  test("logs rows in the order of their times, within the day", () => {
    for (const [index, rows] of days.entries()) {
      const times = rows.map(({ timestamp }) => Date.parse(timestamp));
      expect(times).toStrictEqual(times.toSorted((one, other) => one - other));
      expect(times[0]).toBeGreaterThanOrEqual((firstDay + index) * dayMs);
      expect(times.at(-1)).toBeLessThan((firstDay + index + 1) * dayMs);
    }
  });

  test("has the fields and formats of the API", () => {
    const fields = Object.keys(makeLogEntry({ seed: 1, day: 1, rowCount: 1, lateMsMax: 0 }, 0)).sort();
    const address = /^(?:192\.0\.2|198\.51\.100|203\.0\.113)\.\d+$|^2001:db8:[0-9a-f:]+$/u;
    const isRight = (row: LogEntry): boolean =>
      /^(?:[A-Za-z ]+ [0-9]+|NONE)$/u.test(row.block_reason) &&
      /^[A-Z]{2}$/u.test(row.country) &&
      row.request_path.startsWith("/") &&
      row.http_status === (row.block_reason === "Rate Limit 1015" ? 429 : 403) &&
      address.test(row.client_ip) &&
      Object.keys(row).sort().join(" ") === fields.join(" ");
    expect(days.flat().filter((row) => !isRight(row))).toStrictEqual([]);
  });

  test("has one hour with half of the requests of a day, not always the same hour", () => {
    const busiest = days.map((rows) => counts(rows.map(({ timestamp }) => timestamp.slice(11, 13)))[0]);
    for (const peak of busiest) expect(peak?.[1]).toBeGreaterThanOrEqual(rowCount / 2 - 50);
    expect(new Set(busiest.map((peak) => peak?.[0])).size).toBeGreaterThan(3);
  });

  test("has ten attackers, each with one country, user agent, reason and path", () => {
    for (const rows of days) {
      const [hour = ""] = counts(rows.map(({ timestamp }) => timestamp.slice(0, 13)))[0] ?? [];
      const wave = rows.filter(({ timestamp }) => timestamp.startsWith(hour));
      const attackers = counts(
        wave.map((row) => [row.client_ip, row.country, row.user_agent, row.block_reason, row.request_path].join(" ")),
      );
      const [first = 0, ...others] = attackers.slice(0, 10).map(([, count]) => count);
      expect(first + others.reduce((sum, count) => sum + count, 0)).toBeGreaterThan(wave.length * 0.95);
      expect(first).toBeGreaterThan(3 * (others.at(-1) ?? 0));
      expect(others.at(-1)).toBeGreaterThan(20);
    }
  });

  test("has other traffic from many clients", () => {
    for (const rows of days) expect(new Set(rows.map(({ client_ip }) => client_ip)).size).toBeGreaterThan(400);
  });
});

test("The control port changes the scenario of a running simulator", async () => {
  const clock = { nowMs: () => (firstDay + 2) * dayMs, sleep: async () => {} };
  await withSimulator({ logRowsPerDay: 50, logLateMsMax: 0, clock }, async (caller) => {
    const date = new Date(firstDay * dayMs).toISOString().slice(0, 10);
    const read = async () => (await caller.read("/api/logs/query", { start_date: date, end_date: date })).json;
    const uniform = await read();
    expect((await caller.control("POST", "/log-settings", { scenario: "Attack" })).status).toBe(200);
    expect(await read()).not.toStrictEqual(uniform);
    expect((await caller.control("POST", "/log-settings", { scenario: "Peace" })).status).toBe(400);
    await caller.control("POST", "/reset", {});
    expect(await read()).toStrictEqual(uniform);
  });
});
