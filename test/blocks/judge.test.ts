import { describe, expect, test } from "@jest/globals";
import { array, assert, boolean, integer, property, tuple } from "fast-check";
import type { DeclaredAutoBlock } from "../../src/model/declared.ts";
import type { LogEntry } from "../../src/model/log-entry.ts";
import { Judge, ttlOf } from "../../src/blocks/judge.ts";
import { anAutoBlock, type AutoBlockOverrides, newRow } from "../support/builders/declare-auto-block.ts";
import { caseCount } from "../support/builders/case-count.ts";
import { anEntry } from "../support/builders/log-entry.ts";

const startMs = Date.UTC(2026, 2, 10, 12);
const minuteMs = 60_000;
const hourMs = 3_600_000;
const nobody = (): boolean => false;

function row(client: string, atMs: number, overrides: Partial<LogEntry> = {}): LogEntry {
  return anEntry({ client_ip: client, timestamp: new Date(atMs).toISOString(), ...overrides });
}

function rows(client: string, count: number, fromMs: number, stepMs: number): LogEntry[] {
  return Array.from({ length: count }, (_, index) => row(client, fromMs + index * stepMs));
}

class Bench {
  readonly declared: DeclaredAutoBlock;
  judge: Judge;

  constructor(overrides: AutoBlockOverrides = {}, capacity = 1_000) {
    this.declared = anAutoBlock({ threshold: 10, ...overrides });
    this.judge = new Judge(this.declared, capacity);
  }

  take(entries: readonly LogEntry[], nowMs: number, isExempt: (entry: string) => boolean = nobody): string[] {
    return this.judge.take(entries.map(newRow), { nowMs, isExempt }).map(({ entry }) => entry);
  }

  judgement() {
    return this.judge.save();
  }

  listed(): string[] {
    return this.judgement().listed.map(({ entry }) => entry);
  }
}

describe("the threshold", () => {
  test("a client is listed when its requests within the window reach it, with the evidence", () => {
    const bench = new Bench();
    expect(bench.take(rows("203.0.113.7", 9, startMs, 1_000), startMs + minuteMs)).toStrictEqual([]);
    expect(bench.take([row("203.0.113.7", startMs + 10_000)], startMs + minuteMs)).toStrictEqual(["203.0.113.7"]);
    expect(bench.judgement().listed).toStrictEqual([
      {
        entry: "203.0.113.7",
        sinceMs: startMs + minuteMs,
        untilMs: startMs + minuteMs + hourMs,
        times: 1,
        requests: 10,
        firstMs: startMs,
        lastMs: startMs + 10_000,
        reasons: [["SQL Injection", 10]],
      },
    ]);
  });

  test("requests further apart than the window never count together, and requests within eleven twelfths of it always do", () => {
    assert(
      property(
        array(integer({ min: 0, max: 3_600 }), { minLength: 1, maxLength: 60 }),
        integer({ min: 2, max: 12 }),
        (seconds, threshold) => {
          const bench = new Bench({ threshold, windowMs: 10 * minuteMs });
          const times = seconds.map((second) => startMs + second * 1_000);
          const requests = times.map((atMs) => row("203.0.113.7", atMs));
          const isListed = bench.take(requests, startMs + hourMs).length > 0;
          const sorted = times.toSorted((a, b) => a - b);
          const isWithin = (spanMs: number): boolean =>
            sorted.some((atMs, index) => (sorted[index + threshold - 1] ?? Infinity) - atMs < spanMs);
          if (isListed) expect(isWithin(10 * minuteMs)).toBe(true);
          // The number of counted steps per client is limited, which does not matter to clients within one hour.
          if (isWithin((11 * 10 * minuteMs) / 12)) expect(isListed).toBe(true);
        },
      ),
      { numRuns: caseCount(2_000) },
    );
  });

  test("the order of the rows and their division into pages make no difference", () => {
    assert(
      property(
        array(tuple(integer({ min: 1, max: 4 }), integer({ min: 0, max: 1_200 })), { maxLength: 60 }),
        integer({ min: 1, max: 20 }),
        boolean(),
        (requests, page, isReversed) => {
          const all = requests.map(([host, second]) => row(`203.0.113.${host}`, startMs + second * 1_000));
          const one = new Bench({ threshold: 8, windowMs: 5 * minuteMs });
          one.take(all, startMs + hourMs / 2);
          const other = new Bench({ threshold: 8, windowMs: 5 * minuteMs });
          const ordered = isReversed ? all.toReversed() : all;
          for (let start = 0; start < ordered.length; start += page) {
            other.take(ordered.slice(start, start + page), startMs + hourMs / 2);
          }
          expect(other.listed()).toStrictEqual(one.listed());
        },
      ),
      { numRuns: caseCount(1_000) },
    );
  });

  test("only rows that match count", () => {
    const bench = new Bench({
      match: { reasons: ["sql"], countries: ["nl"], paths: ["/login*"], statuses: ["4xx"] },
    });
    const fitting = { request_path: "/login?a", http_status: 403, country: "NL", block_reason: "SQL Injection 1" };
    const others: Partial<LogEntry>[] = [
      { ...fitting, request_path: "/a/login" },
      { ...fitting, http_status: 503 },
      { ...fitting, country: null },
      { ...fitting, block_reason: "Scanner 2" },
    ];
    for (const other of others) {
      const entries = Array.from({ length: 20 }, () => row("203.0.113.7", startMs, other));
      expect(bench.take(entries, startMs)).toStrictEqual([]);
    }
    const entries = Array.from({ length: 10 }, () => row("203.0.113.7", startMs, fitting));
    expect(bench.take(entries, startMs)).toStrictEqual(["203.0.113.7"]);
    expect(bench.judgement().rows.matched).toBe(10);
  });
});

describe("which requests count", () => {
  test.each([
    "203.0.113.7, 198.51.100.1",
    "203.0.113.0/24",
    "203.0.113.7/32",
    "fe80::1%eth0",
    "unknown",
    "",
    "0xCB007107",
    "203.0.113.007",
  ])("a client_ip that is not a single address blocks no client: %j", (client) => {
    const bench = new Bench();
    expect(bench.take(rows(client, 30, startMs, 100), startMs + minuteMs)).toStrictEqual([]);
    expect(bench.judgement().rows).toStrictEqual({ matched: 30, late: 0, unreadable: 30 });
  });

  test("headers that the client controls count for nothing", () => {
    const bench = new Bench();
    const forged = Array.from({ length: 30 }, (_, index) => ({
      ...row("203.0.113.7", startMs + index),
      x_forwarded_for: "198.51.100.1",
      referrer: "198.51.100.1",
      user_agent: "198.51.100.1",
      request_path: "/?ip=198.51.100.1",
    }));
    bench.take(forged, startMs + minuteMs);
    expect(bench.listed()).toStrictEqual(["203.0.113.7"]);
  });

  test.each([
    ["2001:DB8::7", "2001:db8:0:0:0:0:0:7", "2001:db8::7"],
    ["::ffff:203.0.113.7", "203.0.113.7", "203.0.113.7"],
  ])("every spelling of an address is the same client: %s and %s", (one, other, client) => {
    const bench = new Bench();
    bench.take([...rows(one, 5, startMs, 100), ...rows(other, 5, startMs, 100)], startMs + minuteMs);
    expect(bench.listed()).toStrictEqual([client]);
  });

  test("no exempt client is listed, however many requests it sends", () => {
    const bench = new Bench();
    const isExempt = (entry: string): boolean => entry === "203.0.113.7";
    expect(bench.take(rows("203.0.113.7", 500, startMs, 100), startMs + minuteMs, isExempt)).toStrictEqual([]);
    expect(bench.listed()).toStrictEqual([]);
  });
});

describe("networks", () => {
  const many = (clients: readonly string[], count: number) =>
    clients.flatMap((client) => rows(client, count, startMs, 1_000));
  const three = ["203.0.113.1", "203.0.113.2", "203.0.113.3"];
  const old = three.slice(0, 2).map((client) => row(client, startMs - 30 * minuteMs));

  test.each<[string, readonly LogEntry[], readonly string[]]>([
    ["a network is listed if three of its addresses reach the threshold together", many(three, 4), ["203.0.113.0/24"]],
    ["so is one of IPv6", many(["2001:db8::a", "2001:db8::b", "2001:db8::c"], 4), ["2001:db8::/64"]],
    [
      "a single attacker never gets its neighbors in the network blocked",
      [row("203.0.113.9", startMs), ...rows("203.0.113.66", 300, startMs, 100)],
      ["203.0.113.66"],
    ],
    [
      "addresses with only old requests do not count",
      [...old, ...rows("203.0.113.66", 12, startMs, 100)],
      ["203.0.113.66"],
    ],
  ])("%s", (_title, entries, listed) => {
    const bench = new Bench({ groupBy: "Network", threshold: 12 });
    bench.take(entries, startMs + minuteMs);
    expect(bench.listed()).toStrictEqual(listed);
  });

  test("a network with an exempt address is never listed; its other addresses are", () => {
    const bench = new Bench({ groupBy: "Network", threshold: 12 });
    const isExempt = (entry: string) => entry.endsWith("/24") || entry === "203.0.113.1";
    bench.take(many(three, 20), startMs + minuteMs, isExempt);
    expect(bench.listed()).toStrictEqual(["203.0.113.2", "203.0.113.3"]);
  });
});

describe("time", () => {
  test("an entry ends on time, and lasts longer each time", () => {
    const bench = new Bench({ ttlMs: hourMs, repeatFactor: 3, maxTtlMs: 5 * hourMs });
    let nowMs = startMs;
    const lengths: number[] = [];
    for (let time = 0; time < 4; time += 1) {
      bench.take(rows("203.0.113.7", 10, nowMs, 100), nowMs + minuteMs);
      const [entry] = bench.judgement().listed;
      if (entry === undefined) throw new Error("nobody is listed");
      lengths.push((entry.untilMs - entry.sinceMs) / hourMs);
      expect(entry.times).toBe(time + 1);
      nowMs = entry.untilMs;
      bench.judge.expire(nowMs);
      expect(bench.listed()).toStrictEqual([]);
    }
    expect(lengths).toStrictEqual([1, 3, 5, 5]);
  });

  test("requests while the client was listed are only evidence, and never list it again", () => {
    const bench = new Bench();
    bench.take(rows("203.0.113.7", 10, startMs, 100), startMs + minuteMs);
    const endMs = startMs + minuteMs + hourMs;
    bench.take(rows("203.0.113.7", 40, startMs + 2 * minuteMs, 1_000), endMs - 1);
    expect(bench.judgement().listed[0]?.requests).toBe(50);
    // They arrive after the entry has ended.
    expect(bench.take(rows("203.0.113.7", 40, endMs - 10 * minuteMs, 1_000), endMs + minuteMs)).toStrictEqual([]);
    expect(bench.take(rows("203.0.113.7", 10, endMs, 1_000), endMs + 2 * minuteMs)).toStrictEqual(["203.0.113.7"]);
  });

  test("a client without requests for the maximum time counts as new", () => {
    const bench = new Bench({ maxTtlMs: 2 * hourMs });
    bench.take(rows("203.0.113.7", 10, startMs, 100), startMs + minuteMs);
    const laterMs = startMs + 4 * hourMs;
    bench.take(rows("203.0.113.7", 10, laterMs, 100), laterMs + minuteMs);
    expect(bench.judgement().listed[0]?.times).toBe(1);
  });

  test("rows that were in time stay counted for their window, however far apart the log is read", () => {
    const bench = new Bench();
    const requests = rows("203.0.113.7", 10, startMs, minuteMs / 2);
    expect(bench.take(requests.slice(0, 5), startMs + 5 * minuteMs)).toStrictEqual([]);
    expect(bench.take(requests.slice(5), startMs + hourMs + 2.4 * minuteMs)).toStrictEqual(["203.0.113.7"]);
  });

  test("rows that arrive too late are counted, but list no client", () => {
    const bench = new Bench();
    expect(bench.take(rows("203.0.113.7", 50, startMs, 100), startMs + 2 * hourMs)).toStrictEqual([]);
    expect(bench.judgement().rows).toStrictEqual({ matched: 50, late: 50, unreadable: 0 });
  });

  test("a row with a wrong time counts for nothing", () => {
    const bench = new Bench();
    const wrong = [row("203.0.113.7", startMs + 2 * hourMs), anEntry({ client_ip: "203.0.113.7", timestamp: "soon" })];
    bench.take(wrong, startMs);
    expect(bench.judgement().rows).toStrictEqual({ matched: 2, late: 0, unreadable: 2 });
  });

  test("no entry lasts longer than maxTtl", () => {
    assert(
      property(integer({ min: 1, max: 10 }), integer({ min: 1, max: 500 }), (repeatFactor, times) => {
        const ttlMs = ttlOf({ ttlMs: hourMs, repeatFactor, maxTtlMs: 7 * 24 * hourMs }, times);
        expect(ttlMs).toBeGreaterThanOrEqual(hourMs);
        expect(ttlMs).toBeLessThanOrEqual(7 * 24 * hourMs);
      }),
    );
  });
});

describe("limits", () => {
  test("no more than maxEntries clients are listed; the others are counted", () => {
    const bench = new Bench({ maxEntries: 2 });
    for (const host of [1, 2, 3, 4]) bench.take(rows(`203.0.113.${host}`, 10, startMs, 100), startMs + minuteMs);
    expect(bench.listed()).toStrictEqual(["203.0.113.1", "203.0.113.2"]);
    expect(bench.judgement().leftOut).toBe(2);
  });

  test("with more clients than the limit, attackers with many requests are still found", () => {
    const bench = new Bench({ threshold: 50 }, 100);
    const entries: LogEntry[] = [];
    for (let second = 0; second < 300; second += 1) {
      for (let client = 0; client < 20; client += 1) {
        entries.push(row(`2001:db8:${second.toString(16)}::${client.toString(16)}`, startMs + second * 1_000));
      }
      entries.push(row("203.0.113.7", startMs + second * 1_000));
    }
    bench.take(entries, startMs + 5 * minuteMs);
    expect(bench.judge.clients).toBeLessThanOrEqual(125);
    expect(bench.listed()).toStrictEqual(["203.0.113.7"]);
  });
});

describe("a saved judge", () => {
  test("continues after any row as if it had not been saved", () => {
    const all = [
      ...rows("203.0.113.7", 25, startMs, 7_000),
      ...rows("203.0.113.8", 25, startMs + 1_000, 20_000),
      ...rows("203.0.113.9", 9, startMs, 100),
      ...["1", "2", "3"].flatMap((host) => rows(`198.51.100.${host}`, 4, startMs, 5_000)),
    ].toSorted((a, b) => (a.timestamp < b.timestamp ? -1 : 1));
    const run = (restartAt: number) => {
      const bench = new Bench({ groupBy: "Network", ttlMs: minuteMs });
      for (const [index, entry] of all.entries()) {
        if (index === restartAt) {
          const saved: unknown = JSON.parse(JSON.stringify(bench.judge.save()));
          bench.judge = new Judge(bench.declared, 1_000, saved as ReturnType<Judge["save"]>);
        }
        bench.take([entry], Date.parse(entry.timestamp) + 500);
      }
      return bench.judge.save();
    };
    const undisturbed = run(-1);
    expect(undisturbed.former.length + undisturbed.listed.length).toBeGreaterThan(2);
    for (let place = 0; place < all.length; place += 1) expect(run(place)).toStrictEqual(undisturbed);
  });

  test("resets its counts if the window has changed, but listed clients stay", () => {
    const bench = new Bench();
    bench.take([...rows("203.0.113.7", 10, startMs, 1), ...rows("203.0.113.8", 9, startMs, 1)], startMs + 10);
    const next = new Judge(anAutoBlock({ threshold: 10, windowMs: minuteMs }), 1_000, bench.judge.save());
    const later = [newRow(row("203.0.113.8", startMs + 20))];
    expect(next.take(later, { nowMs: startMs + 20, isExempt: nobody })).toStrictEqual([]);
    expect(next.save().listed.map(({ entry }) => entry)).toStrictEqual(["203.0.113.7"]);
  });
});
