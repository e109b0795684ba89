// Measures which clients automatic blocks find in a simulated week, and the cost of evaluating a busy hour without reading it.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { attackWeek, judgeWeek, scoreOf } from "./attack-week.ts";
import { anAutoBlock, newRow } from "../test/support/builders/declare-auto-block.ts";
import { seededRandom } from "../test/support/builders/seeded-random.ts";
import type { LogEntry } from "../src/model/log-entry.ts";
import { Judges } from "../src/blocks/judge.ts";
import type { Bench, BenchOutcome, BenchTable } from "./bench.ts";
import { inMilliseconds, inSeconds } from "./bench.ts";

const weeks = 5;
const rowsPerHour = 250_000;
/** Most of them appear only once, which is the worst case for memory. */
const clients = 100_000;
const rowsPerPage = 500;
const hourMs = 3_600_000;
const startMs = Date.UTC(2026, 2, 9);

/** A row with its own copies of all strings, like a row from the WAF. */
function rowAt(index: number, random: () => number): LogEntry {
  const client = Math.floor(random() ** 2 * clients);
  const isV6 = client % 4 === 0;
  return {
    timestamp: new Date(startMs + (index * hourMs) / rowsPerHour).toISOString(),
    client_ip: isV6
      ? `2001:db8:${client.toString(16)}::1`
      : `100.${64 + (client >> 16)}.${(client >> 8) & 255}.${client & 255}`,
    http_method: "GET",
    request_path: `/${index}`,
    http_status: 403,
    response_size: 0,
    referrer: null,
    user_agent: "curl/8.5.0",
    block_reason: `SQL Injection ${index % 50}`,
    country: "NL",
    cache_hit: false,
  };
}

function weeksTable(): BenchTable {
  const rows = Array.from({ length: weeks }, (_, index) => {
    const week = attackWeek(index + 1);
    const { precision, recall } = scoreOf(week, judgeWeek(week));
    return [String(index + 1), week.rows.length.toLocaleString("en-US"), precision.toFixed(3), recall.toFixed(3)];
  });
  return { columns: ["Seed", "Log rows", "Precision", "Recall"], rows };
}

function hourTable(): BenchTable {
  const blocks = [
    anAutoBlock({ name: "one" }),
    anAutoBlock({ name: "two", groupBy: "Network", windowMs: 24 * hourMs }),
  ];
  const judges = new Judges({}, blocks, 0);
  const random = seededRandom(1);
  const before = heapBytes();
  let totalMs = 0;
  let longestMs = 0;
  for (let start = 0; start < rowsPerHour; start += rowsPerPage) {
    const page = Array.from({ length: rowsPerPage }, (_, index) => rowAt(start + index, random));
    const from = performance.now();
    judges.take(page.map(newRow), startMs + (start * hourMs) / rowsPerHour, () => () => false);
    const tookMs = performance.now() - from;
    totalMs += tookMs;
    longestMs = Math.max(longestMs, tookMs);
  }
  const heapMiB = (heapBytes() - before) / 2 ** 20;
  const recordMiB = JSON.stringify(judges.save()).length / 2 ** 20;
  const columns = ["CPU time", "Share of a core", "Longest page of 500", "Memory", "Record"];
  const share = `${((totalMs / hourMs) * 100).toFixed(2)} %`;
  const sizes = [heapMiB, recordMiB].map((size) => `${size.toFixed(1)} MiB`);
  return { columns, rows: [[inSeconds(totalMs), share, inMilliseconds(longestMs), ...sizes]] };
}

/** The heap size after garbage collection. */
function heapBytes(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  return process.memoryUsage().heapUsed;
}

// oxlint-disable-next-line typescript/require-await -- the other benches wait for processes
async function measure(): Promise<BenchOutcome> {
  return { state: "Measured", tables: { weeks: weeksTable(), hour: hourTable() } };
}

export const blocksBench: Bench = {
  name: "blocks",
  title: `automatic blocks: a simulated week, and ${rowsPerHour.toLocaleString("en-US")} rows of one hour from ${clients.toLocaleString("en-US")} clients`,
  measure,
};
