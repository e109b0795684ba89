// A simulator with logs, a client for it, and the expected rows.
import { parseDay } from "../../../src/model/texts.ts";
import type { Clock } from "../../../src/async/clock.ts";
import { ApiKey } from "../../../src/model/api-key.ts";
import type { LogEntry } from "../../../src/model/log-entry.ts";
import type { LogReaderPorts } from "../../../src/logs/read-logs.ts";
import type { FaultEffect, FaultRule } from "../../../src/simulator/fault-rule.ts";
import { makeLogEntry, visibleAtMs } from "../../../src/simulator/log-entries.ts";
import { type Simulator, type SimulatorOptions, startSimulator } from "../../../src/simulator/start-simulator.ts";
import { createWafClient, type WafClient } from "../../../src/waf/client.ts";
import { LaneRegistry } from "../../../src/waf/lane.ts";
import { seededRandom } from "../builders/seeded-random.ts";
import { fastClock } from "../processes/fast-clock.ts";
import { everythingPrinted } from "../processes/wafsync-process.ts";
import { keySpellings } from "./waf-folder.ts";

export const logKey = "log-suite/k3y+0123456789";
export const logDomain = "logs.example";

export interface LogWorld extends AsyncDisposable {
  readonly simulator: Simulator;
  readonly waf: WafClient;
  readonly clock: Clock;
  readonly ports: LogReaderPorts;
  /** The simulator's current time, in milliseconds since 1970. */
  time: { nowMs: number };
  readonly stopping: AbortController;
  /** The rows of the days that are visible at these times. */
  rows(firstDay: number, lastDay: number, seenAtMs: (day: number) => number): Generator<LogEntry>;
}

const pageEffects: readonly FaultEffect[] = [
  { kind: "ServerError" },
  { kind: "Reset" },
  { kind: "Reset", afterEffect: true },
  { kind: "TruncatedBody" },
  { kind: "Respond", body: "OK" },
  { kind: "RateLimited", retryAfter: "0" },
  { kind: "MissingRows" },
];
const scrollEffects: readonly FaultEffect[] = [
  { kind: "RepeatedPage" },
  {
    kind: "Respond",
    status: 400,
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ success: false, message: "Invalid scroll_id" }),
  },
];

/** Lets about this share of the pages of logs fail, in all ways. */
export function failPages(simulator: Simulator, share: number): void {
  const rulesFor = (path: string, effects: readonly FaultEffect[]): FaultRule[] => {
    const each = 1 - (1 - share) ** (1 / effects.length);
    return effects.map((effect) => ({ match: { path, share: each }, times: 1_000_000, effect }));
  };
  simulator.addFaults(
    ...rulesFor("/api/logs/query", pageEffects),
    ...rulesFor("/api/logs/scroll", [...pageEffects, ...scrollEffects]),
  );
}

interface LogWorldOptions extends Omit<Partial<SimulatorOptions>, "clock"> {
  /** ISO 8601. */
  readonly now: string;
}

/** When it is closed, it checks that no command of the suite has printed the key. */
export async function logWorld({ now, ...options }: LogWorldOptions): Promise<LogWorld> {
  const time = { nowMs: Date.parse(now) };
  const { logRowsPerDay = 0, logLateMsMax = 0, seed = 1 } = options;
  const simulator = await startSimulator({
    keys: [{ key: logKey, domain: logDomain }],
    clock: { nowMs: () => time.nowMs, sleep: async () => {} },
    ...options,
    logRowsPerDay,
    logLateMsMax,
    seed,
  });
  const clock = fastClock(200);
  const registry = new LaneRegistry({ clock });
  const key = new ApiKey(logKey);
  const waf = createWafClient({
    baseUrl: simulator.baseUrl,
    key,
    requestTimeoutMs: 60_000 * 200,
    lane: registry.acquire({ baseUrl: simulator.baseUrl, key, minRequestIntervalMs: 0 }),
    permit: () => ({ permitted: true }),
    clock,
  });
  const stopping = new AbortController();
  return {
    simulator,
    waf,
    clock,
    time,
    stopping,
    ports: { waf, clock, random: seededRandom(7), stopping: stopping.signal },
    *rows(firstDay, lastDay, seenAtMs) {
      for (let day = firstDay; day <= lastDay; day += 1) {
        const logDay = { seed, day, rowCount: logRowsPerDay, lateMsMax: logLateMsMax };
        for (let row = 0; row < logRowsPerDay; row += 1) {
          if (visibleAtMs(logDay, row) <= seenAtMs(day)) yield makeLogEntry(logDay, row);
        }
      }
    },
    async [Symbol.asyncDispose]() {
      await registry.close();
      await simulator.close();
      const isPrinted = keySpellings(logKey).some((spelling) => everythingPrinted().includes(spelling));
      if (isPrinted) throw new Error("A command printed the API key");
    },
  };
}

export function dayNumber(date: string): number {
  const day = parseDay(date);
  if (day === undefined) throw new TypeError(`${date} is no date`);
  return day;
}
