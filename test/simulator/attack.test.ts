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

/** The /24 of an IPv4 address, or the /64 of an IPv6 address. */
function networkOf(address: string): string {
  return address.includes(":") ? (address.split("::")[0] ?? "") : address.split(".").slice(0, 3).join(".");
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
    const address = /^(?:192\.0\.2|198\.51\.100|203\.0\.113|198\.1[89]\.\d+)\.\d+$|^2001:db8:[0-9a-f:]+$/u;
    const isRight = (row: LogEntry): boolean =>
      /^(?:[A-Za-z ]+ [0-9]+|NONE)$/u.test(row.block_reason) &&
      /^[A-Z]{2}$/u.test(row.country) &&
      row.request_path.startsWith("/") &&
      row.http_status === (row.block_reason === "Rate Limit 1015" ? 429 : 403) &&
      address.test(row.client_ip) &&
      Object.keys(row).sort().join(" ") === fields.join(" ");
    expect(days.flat().filter((row) => !isRight(row))).toStrictEqual([]);
  });

  test("has waves on most days: hours with many times more requests than others, from a few networks", () => {
    const peaks = days.map((rows) => {
      const hours = counts(rows.map(({ timestamp }) => timestamp.slice(0, 13)));
      const median = hours[Math.floor(hours.length / 2)]?.[1] ?? 0;
      return (hours[0]?.[1] ?? 0) / median;
    });
    expect(peaks.filter((peak) => peak > 4).length).toBeGreaterThanOrEqual(4);
    const shares = days.map((rows) => {
      const networks = counts(rows.map(({ client_ip }) => networkOf(client_ip)));
      return networks.slice(0, 4).reduce((sum, [, count]) => sum + count, 0) / rowCount;
    });
    expect(shares.filter((share) => share > 0.4).length).toBeGreaterThanOrEqual(4);
  });

  test("has background traffic from many clients, each with one country and one user agent", () => {
    for (const rows of days) expect(new Set(rows.map(({ client_ip }) => client_ip)).size).toBeGreaterThan(400);
    const background = days.flat().filter(({ client_ip }) => /^198\.1[89]\./u.test(client_ip));
    const identities = new Map<string, Set<string>>();
    for (const { client_ip, country, user_agent } of background) {
      const known = identities.get(client_ip) ?? new Set();
      identities.set(client_ip, known.add(`${country} ${user_agent}`));
    }
    const changing = [...identities.values()].filter((known) => known.size > 1).length;
    // Two clients may share an address.
    expect(changing).toBeLessThan(identities.size / 20);
  });

  test("continues with the same networks on the next day", () => {
    const top = days.map(
      (rows) =>
        new Set(
          counts(rows.map(({ client_ip }) => networkOf(client_ip)))
            .slice(0, 4)
            .map(([one]) => one),
        ),
    );
    const returning = top.slice(1).filter((networks, index) => [...networks].some((one) => top[index]?.has(one)));
    expect(returning.length).toBeGreaterThanOrEqual(4);
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
