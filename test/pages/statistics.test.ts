import { describe, expect, test } from "@jest/globals";
import { array, assert, integer, property } from "fast-check";
import type { LogEntry } from "../../src/model/log-entry.ts";
import type { Ranking } from "../../src/pages/statistics.ts";
import { FrequentCounter, RequestStatistics, TimeBars, textLengthMax } from "../../src/pages/statistics.ts";
import { labelOfReason } from "../../src/logs/row-tests.ts";
import { row } from "../support/fakes/scripted-logs.ts";

const dayMs = 86_400_000;
const hourMs = 3_600_000;
const minuteMs = 60_000;
const startMs = Date.parse("2026-11-21T11:37:05Z");
const firstDay = 20_000;

function entry(fields: Partial<LogEntry> = {}): LogEntry {
  return { ...row("/"), ...fields };
}

function reportOf(dayCount: number): RequestStatistics {
  return new RequestStatistics({ startMs: firstDay * dayMs, endMs: (firstDay + dayCount) * dayMs });
}

function summed(dayCount: number, entries: readonly (readonly [Partial<LogEntry>, number])[], topMax = 20) {
  const report = reportOf(dayCount);
  for (const [fields, hours] of entries) {
    const timeMs = firstDay * dayMs + hours * hourMs;
    report.add(entry(fields), Math.floor(timeMs / dayMs) * dayMs, timeMs);
  }
  return report.summary(topMax);
}

describe("over time", () => {
  test("each request counts in the bar of its own time", () => {
    const { series, total } = summed(2, [
      [{}, 0],
      [{}, 0.99],
      [{}, 23.99],
    ]);
    expect(series[0]?.counts.flatMap((count, bar) => (count === 0 ? [] : [[bar, count]]))).toStrictEqual([
      [0, 2],
      [23, 1],
    ]);
    expect(total).toBe(3);
  });

  test("an invalid time, or one outside the report, counts at the start of the day under which the row was listed", () => {
    const report = reportOf(2);
    report.add(entry(), (firstDay + 1) * dayMs, Number.NaN);
    report.add(entry(), (firstDay + 1) * dayMs, firstDay * dayMs - 1);
    report.add(entry(), firstDay * dayMs, (firstDay + 2) * dayMs);
    const { series, clients } = report.summary(5);
    expect([series[0]?.counts[0], series[0]?.counts[24]]).toStrictEqual([1, 2]);
    expect(series[0]?.counts).toHaveLength(48);
    expect(clients.items[0]?.lastMs).toBe((firstDay + 2) * dayMs);
  });

  test("the bars add up to all requests, also when there are too many types of reasons", () => {
    const { series } = summed(2, [
      [{ block_reason: "Z 1" }, 0],
      [{ block_reason: "Z 2" }, 0],
      ...Array.from({ length: 498 }, (_, place) => [{ block_reason: `Label-${place}- 1` }, place % 48] as const),
    ]);
    expect(series.map(({ key }) => key)).toStrictEqual([
      "Z",
      "Label-0-",
      "Label-1-",
      "Label-10-",
      "Label-11-",
      "Label-12-",
      "Other",
    ]);
    expect(series.map(({ count }) => count)).toStrictEqual([2, 1, 1, 1, 1, 1, 493]);
    for (const { count, counts } of series) expect(counts.reduce((sum, one) => sum + one, 0)).toBe(count);
  });
});

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

  test("rules with one label are one series, but separate reasons", () => {
    const { series, reasons } = summed(1, [
      [{ block_reason: "SQL Injection 1" }, 0],
      [{ block_reason: "SQL Injection 2" }, 0],
      [{ block_reason: "SQL Injection 2" }, 0],
      [{ block_reason: "XSS 1" }, 0],
    ]);
    expect(series.map(({ key, count }) => [key, count])).toStrictEqual([
      ["SQL Injection", 3],
      ["XSS", 1],
    ]);
    expect(reasons.items).toStrictEqual([
      expect.objectContaining({ key: "SQL Injection 2", count: 2 }),
      expect.objectContaining({ key: "SQL Injection 1", count: 1 }),
      expect.objectContaining({ key: "XSS 1", count: 1 }),
    ]);
  });
});

describe("by client, country and path", () => {
  test("spellings of one address are one client, with the country and time of its last request", () => {
    const { clients } = summed(1, [
      [{ client_ip: "2001:DB8::0001", country: "NL" }, 1],
      [{ client_ip: "2001:db8::1", country: "DE" }, 3],
      [{ client_ip: "::ffff:192.0.2.1", country: "US" }, 2],
      [{ client_ip: "192.0.2.1", country: null }, 1],
      [{ client_ip: "192.0.2.1", country: "BR" }, 0],
      [{ client_ip: "proxy, unknown" }, 0],
    ]);
    const startMs = firstDay * dayMs;
    expect(clients.items.map(({ key, count, country, lastMs }) => [key, count, country, lastMs])).toStrictEqual([
      ["192.0.2.1", 3, "US", startMs + 2 * hourMs],
      ["2001:db8::1", 2, "DE", startMs + 3 * hourMs],
      ["?proxy, unknown", 1, expect.any(String), startMs],
    ]);
  });

  test("paths are counted without their queries, and long ones are truncated", () => {
    const long = `/${"x".repeat(5_000)}`;
    const { paths } = summed(1, [
      [{ request_path: "/search?q=1" }, 0],
      [{ request_path: "/search?q=2&next=/a?b" }, 0],
      [{ request_path: "?only" }, 0],
      [{ request_path: long }, 0],
      [{ request_path: `${long}?more` }, 0],
      [{ request_path: "/\u{D800}lone?" }, 0],
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
      1,
      Array.from({ length: 50 }, (_, place) => {
        const client_ip = `192.0.2.${place}`;
        return [{ client_ip, request_path: `/${place}`, country: `C${place}`, block_reason: `R${place}x` }, 0] as const;
      }),
      5,
    );
    expect([clients, paths, reasons, countries].map(({ items }) => items.length)).toStrictEqual([5, 5, 5, 5]);
    expect([clients, paths, reasons, countries].map(({ distinctMin }) => distinctMin)).toStrictEqual([50, 50, 50, 50]);
  });

  test("a flood of clients and paths that occur once hides no frequent one", () => {
    const report = reportOf(1);
    const frequent = entry({ client_ip: "203.0.113.5", request_path: "/login" });
    for (let place = 0; place < 60_000; place += 1) {
      const client_ip = `2001:db8::${(place >> 16).toString(16)}:${(place & 0xffff).toString(16)}`;
      report.add(entry({ client_ip, request_path: `/${place}` }), firstDay * dayMs, firstDay * dayMs);
      if (place % 20 === 0) report.add(frequent, firstDay * dayMs, firstDay * dayMs);
    }
    const { clients, paths, total } = report.summary(1);
    expect([clients.items[0]?.key, paths.items[0]?.key, total]).toStrictEqual(["203.0.113.5", "/login", 63_000]);
    expect(3_000 - (clients.items[0]?.count ?? 0)).toBeLessThanOrEqual(clients.shortMax);
    expect(clients.distinctMin).toBeGreaterThan(10_000);
  });
});

describe("the bars of a period", () => {
  test.each([
    [0.5, 5],
    [7, 30],
    [37, 60],
    [73, 360],
    [433, 1440],
    [8760, 1440],
  ])("of %d hours are %i minutes long, start at round times, and there are few", (hours, minutes) => {
    const bars = new TimeBars({ startMs, endMs: startMs + hours * hourMs });
    expect(bars.barMs).toBe(minutes * minuteMs);
    expect(bars.startMs % bars.barMs).toBe(0);
    expect(bars.startMs).toBeLessThanOrEqual(startMs);
    expect(bars.length).toBeLessThanOrEqual(minutes === 1440 ? hours / 24 + 1 : 73);
    expect(bars.startMs + bars.length * bars.barMs).toBeGreaterThanOrEqual(startMs + hours * hourMs);
  });
});

function counted(keptMax: number, keys: readonly string[]): Ranking {
  const counter = new FrequentCounter(keptMax);
  for (const [place, key] of keys.entries()) counter.add(key, place);
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
