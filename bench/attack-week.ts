// A week in a WAF's log with known attackers: background noise, shared addresses, slow scanners, bursts, rotating
// botnets, and attackers who try to get a neighbor or an allowed partner blocked. It is evaluated every five minutes, as by a process.
import type { DeclaredAutoBlock } from "../src/model/declared.ts";
import { type JudgedEntry, Judges } from "../src/blocks/judge.ts";
import type { Gathered } from "../src/model/gathered.ts";
import type { LogEntry } from "../src/model/log-entry.ts";
import { readObservedEntry } from "../src/address/entry.ts";
import { NetworkIndex } from "../src/address/ranges.ts";
import { exemptionsIn } from "../src/blocks/judge-day.ts";
import { anAutoBlock, newRow } from "../test/support/builders/declare-auto-block.ts";
import { aRule, anInstance, anOrigin } from "../test/support/builders/declare.ts";
import { gathered } from "../test/support/builders/gathered.ts";
import { seededRandom } from "../test/support/builders/seeded-random.ts";
import { anEntry } from "../test/support/builders/log-entry.ts";

const weekStartMs = Date.UTC(2026, 2, 9);
const minuteMs = 60_000;
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const lookMs = 5 * minuteMs;
/** The maximum delay of a row. */
const delayMsMax = 20 * minuteMs;

/** Addresses that must never be listed: a partner, the office, an origin, a monitoring service, an internal address. */
const exemptClients = ["198.51.100.7", "192.0.2.10", "203.0.113.250", "198.18.5.5", "10.0.0.9"];

/** The rates of attackers that the two blocks, `fast` and `slow`, can find. */
const weekBlocks: readonly DeclaredAutoBlock[] = [
  anAutoBlock({ name: "fast", threshold: 60, groupBy: "Network", exempt: ["192.0.2.0/28"], maxEntries: 1_000 }),
  anAutoBlock({
    name: "slow",
    threshold: 150,
    windowMs: dayMs,
    ttlMs: 6 * hourMs,
    exempt: ["192.0.2.0/28"],
    maxEntries: 1_000,
  }),
];

function weekGathered(): Gathered {
  const [fast, slow] = weekBlocks;
  return gathered({
    instance: anInstance({ guards: { neverBlock: ["198.18.5.0/24"] } }),
    rules: [aRule("partners", { action: "Allow", addresses: ["198.51.100.7"] })],
    origins: [anOrigin("203.0.113.250")],
    autoBlocks: [fast, slow].flatMap((block) => block ?? []),
  });
}

export interface Week {
  /** In the order of arrival. */
  readonly rows: readonly { readonly entry: LogEntry; readonly arrivesMs: number }[];
  /** Addresses of attackers who send enough to be found. */
  readonly attackers: ReadonlySet<string>;
}

export function attackWeek(seed: number): Week {
  const random = seededRandom(seed);
  const rows: { entry: LogEntry; arrivesMs: number }[] = [];
  const attackers = new Set<string>();
  const add = (client: string, atMs: number, reason: string): void => {
    if (atMs < weekStartMs || atMs >= weekStartMs + 7 * dayMs) return;
    const timestamp = new Date(Math.floor(atMs)).toISOString();
    rows.push({ entry: rowOf(client, timestamp, reason, rows.length), arrivesMs: atMs + random() * delayMsMax });
  };
  const steady = (client: string, fromMs: number, forMs: number, count: number, reason: string): void => {
    for (let index = 0; index < count; index += 1) add(client, fromMs + (forMs * (index + random())) / count, reason);
  };
  const anyTime = (): number => weekStartMs + random() * 7 * dayMs;
  // Background noise: most clients of a WAF are wrongly blocked once or twice.
  for (let client = 0; client < 3_000; client += 1) {
    const address = `100.${20 + (client >> 8)}.${client & 255}.${Math.floor(random() * 256)}`;
    for (let request = 0; request < 1 + random() * 3; request += 1) add(address, anyTime(), "Protocol Anomaly 920");
  }
  // Shared addresses: many people, each occasionally blocked.
  for (let nat = 0; nat < 20; nat += 1) steady(`151.101.${nat}.1`, weekStartMs, 7 * dayMs, 350, "XSS Filter 941");
  // Bursts, some of which recur on later days.
  for (let burst = 0; burst < 40; burst += 1) {
    const client = `185.220.${burst}.66`;
    attackers.add(client);
    // A neighbor that is not an attacker, and is wrongly blocked at the same time.
    const startMs = weekStartMs + random() * 5 * dayMs;
    for (let round = 0; round < 1 + (burst % 3); round += 1) {
      steady(client, startMs + round * 8 * hourMs, 8 * minuteMs, 200, "SQL Injection 942");
      steady(`185.220.${burst}.67`, startMs + round * 8 * hourMs, 8 * minuteMs, 3, "Protocol Anomaly 920");
    }
  }
  // Slow scanners: one request every three minutes, all day.
  for (let scanner = 0; scanner < 10; scanner += 1) {
    const client = `193.32.${scanner}.9`;
    attackers.add(client);
    steady(client, weekStartMs + (scanner % 5) * dayMs, 2 * dayMs, 960, "Scanner 913");
  }
  // Networks with many attacking addresses.
  for (let net = 0; net < 5; net += 1) {
    for (let host = 1; host <= 30; host += 1) {
      const client = `45.155.${net}.${host}`;
      attackers.add(client);
      steady(client, weekStartMs + (net + 1) * dayMs, 6 * minuteMs, 8, "SQL Injection 942");
    }
  }
  // Attackers who try to get others blocked send through them, or from neighboring addresses.
  for (const client of exemptClients) steady(client, anyTime() - dayMs, 10 * minuteMs, 400, "SQL Injection 942");
  attackers.add("198.51.100.8");
  steady("198.51.100.8", weekStartMs + 3 * dayMs, 10 * minuteMs, 400, "SQL Injection 942");
  for (let host = 1; host < 7; host += 1) {
    steady(`198.51.100.${host}`, weekStartMs + 4 * dayMs, 5 * minuteMs, 15, "SQL Injection 942");
  }
  for (let host = 1; host < 7; host += 1) attackers.add(`198.51.100.${host}`);
  return { rows: rows.sort((a, b) => a.arrivesMs - b.arrivesMs), attackers };
}

function rowOf(client: string, timestamp: string, reason: string, index: number): LogEntry {
  // What an attacker writes into a request names a partner.
  const written = { referrer: "https://198.51.100.7/", user_agent: "198.51.100.7" };
  return anEntry({ timestamp, client_ip: client, request_path: `/${index}`, block_reason: reason, ...written });
}

/** The entries in the order in which they were listed. */
export function judgeWeek(week: Week): readonly JudgedEntry[] {
  const declared = weekGathered();
  const listed: JudgedEntry[] = [];
  const judges = new Judges({}, weekBlocks, 0);
  let next = 0;
  for (let look = 1; look <= (7 * dayMs) / lookMs; look += 1) {
    const nowMs = weekStartMs + look * lookMs;
    const batch: LogEntry[] = [];
    for (; (week.rows[next]?.arrivesMs ?? Infinity) <= nowMs; next += 1) {
      const row = week.rows[next];
      if (row !== undefined) batch.push(row.entry);
    }
    const found = judges.take(batch.map(newRow), nowMs, (block) => exemptionsIn(declared, block, nowMs));
    listed.push(...found.flatMap((one) => one.listed));
  }
  return listed;
}

export interface Score {
  readonly precision: number;
  readonly recall: number;
}

/** By address: a network counts for each client in it. */
export function scoreOf({ rows, attackers }: Week, listed: readonly JudgedEntry[]): Score {
  const index = new NetworkIndex(listed.map(({ entry }) => entry));
  const clients = new Set(rows.map(({ entry }) => entry.client_ip));
  const blocked = [...clients].filter((client) => index.containing(readObservedEntry(client)) !== undefined);
  const right = blocked.filter((client) => attackers.has(client)).length;
  return { precision: right / blocked.length, recall: right / attackers.size };
}
