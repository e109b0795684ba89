import { describe, expect, test } from "@jest/globals";
import { array, assert, integer, property } from "fast-check";
import type { LogEntry } from "../../src/model/log-entry.ts";
import { type Ranking, FrequentCounter, RequestStatistics, textLengthMax } from "../../src/pages/requests.ts";
import { labelOfReason } from "../../src/logs/row-tests.ts";
import { row } from "../support/fakes/scripted-logs.ts";

function entry(fields: Partial<LogEntry> = {}): LogEntry {
  return { ...row("/"), ...fields };
}

function summed(entries: readonly Partial<LogEntry>[], topMax = 20) {
  const report = new RequestStatistics();
  for (const fields of entries) report.add(entry(fields));
  return report.summary(topMax);
}

describe("by reason", () => {
  test.each([
    ["SQL Injection 942100", "SQL Injection"],
    ["Bad Bot 1002", "Bad Bot"],
    ["NONE", "NONE"],
    ["  Rate Limit  1015 ", "Rate Limit"],
    ["HTTP2 Flood", "HTTP2 Flood"],
    ["942100", "942100"],
    ["", ""],
    ["Überlast٣ 7", "Überlast٣"],
  ])("%j has the category %j", (reason, category) => {
    expect(labelOfReason(reason)).toBe(category);
  });

  test("a long run of digits takes no longer than its length", () => {
    const digits = "1".repeat(1_000_000);
    expect(labelOfReason(`a ${digits}`)).toBe("a");
    expect(labelOfReason(`${digits}a`)).toHaveLength(1_000_001);
  });
});

describe("by client, country and path", () => {
  test("spellings of one address are one client", () => {
    const { clients } = summed([
      { client_ip: "2001:DB8::0001" },
      { client_ip: "2001:db8::1" },
      { client_ip: "::ffff:192.0.2.1" },
      { client_ip: "192.0.2.1" },
      { client_ip: "192.0.2.1" },
      { client_ip: "proxy, unknown" },
    ]);
    expect(clients.items.map(({ key, count }) => [key, count])).toStrictEqual([
      ["192.0.2.1", 3],
      ["2001:db8::1", 2],
      ["?proxy, unknown", 1],
    ]);
  });

  test("paths are counted without their queries, and long ones are truncated", () => {
    const long = `/${"x".repeat(5_000)}`;
    const { paths } = summed([
      { request_path: "/search?q=1" },
      { request_path: "/search?q=2&next=/a?b" },
      { request_path: "?only" },
      { request_path: long },
      { request_path: `${long}?more` },
      { request_path: "/\u{D800}lone?" },
    ]);
    expect(paths.items.map(({ key, count }) => [key, count])).toStrictEqual([
      ["/search", 2],
      [long.slice(0, textLengthMax), 2],
      ["", 1],
      ["/\u{D800}lone", 1],
    ]);
  });

  test("the number of items of each kind is limited", () => {
    const { clients, paths, reasons, countries } = summed(
      Array.from({ length: 50 }, (_, place) => {
        const client_ip = `192.0.2.${place}`;
        return { client_ip, request_path: `/${place}`, country: `C${place}`, block_reason: `R${place}x` };
      }),
      5,
    );
    expect([clients, paths, reasons, countries].map(({ items }) => items.length)).toStrictEqual([5, 5, 5, 5]);
    expect([clients, paths, reasons, countries].map(({ distinctMin }) => distinctMin)).toStrictEqual([50, 50, 50, 50]);
  });

  test("a flood of clients and paths that occur once hides no frequent one", () => {
    const report = new RequestStatistics();
    const frequent = entry({ client_ip: "203.0.113.5", request_path: "/login" });
    for (let place = 0; place < 60_000; place += 1) {
      const client_ip = `2001:db8::${(place >> 16).toString(16)}:${(place & 0xffff).toString(16)}`;
      report.add(entry({ client_ip, request_path: `/${place}` }));
      if (place % 20 === 0) report.add(frequent);
    }
    const { clients, paths, total } = report.summary(1);
    expect([clients.items[0]?.key, paths.items[0]?.key, total]).toStrictEqual(["203.0.113.5", "/login", 63_000]);
    expect(3_000 - (clients.items[0]?.count ?? 0)).toBeLessThanOrEqual(clients.shortMax);
    expect(clients.distinctMin).toBeGreaterThan(10_000);
  });
});

function counted(keptMax: number, keys: readonly string[]): Ranking {
  const counter = new FrequentCounter(keptMax);
  for (const key of keys) counter.add(key);
  return counter.ranking(Number.POSITIVE_INFINITY);
}

function trueCounts(keys: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}

describe("a counter of frequent strings", () => {
  test("never counts too much, nor too little by more than its known error, in any order", () => {
    const keys = array(
      integer({ min: 0, max: 60 }).map((number) => `key ${Math.floor(number ** 1.5)}`),
      {
        maxLength: 2000,
        size: "max",
      },
    );
    assert(
      property(integer({ min: 1, max: 12 }), keys, (keptMax, keys) => {
        const counter = counted(keptMax, keys);
        const ranked = new Map(counter.items.map(({ key, count }) => [key, count]));
        expect(ranked.size).toBeLessThanOrEqual(2 * keptMax);
        expect(counter.shortMax).toBeLessThanOrEqual(keys.length / (keptMax + 1));
        const truth = trueCounts(keys);
        expect(counter.distinctMin).toBeLessThanOrEqual(truth.size);
        for (const [key, count] of truth) {
          const shown = ranked.get(key) ?? 0;
          expect(shown).toBeLessThanOrEqual(count);
          expect(shown).toBeGreaterThanOrEqual(count - counter.shortMax);
        }
      }),
      { numRuns: 200 },
    );
  });
});
