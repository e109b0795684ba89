// `npm run bench:auto-blocks`: what automatic blocks find in a simulated week, and what judging a busy hour costs beside reading it.
import { attackWeek, judgeWeek, scoreOf } from "../test/support/worlds/attack-week.ts";
import { anAutoBlock } from "../test/support/builders/declare-auto-block.ts";
import { seededRandom } from "../test/support/builders/seeded-random.ts";
import type { LogEntry } from "../src/model/log-entry.ts";
import { Judges } from "../src/plan/blocking/judges.ts";
import { timed } from "../src/reconcile/logs/judge-rows.ts";

const weeks = 5;
const rowsPerHour = 250_000;
/** Most of them are seen once: the worst case for the memory. */
const clients = 100_000;
const pageRows = 500;
const hourMs = 3_600_000;
const startMs = Date.UTC(2026, 2, 9);

/** One that has to be counted as if it came from the WAF: with texts of its own. */
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

for (let seed = 1; seed <= weeks; seed += 1) {
  const week = attackWeek(seed);
  const { precision, recall } = scoreOf(week, judgeWeek(week).listed);
  console.log(`week ${seed}: ${week.rows.length} rows, precision ${precision.toFixed(3)}, recall ${recall.toFixed(3)}`);
}

const blocks = [anAutoBlock({ name: "one" }), anAutoBlock({ name: "two", groupBy: "Network", windowMs: 24 * hourMs })];
const judges = new Judges(undefined);
judges.use(blocks);
const random = seededRandom(1);
globalThis.gc?.();
const before = process.memoryUsage().heapUsed;
let cpuMs = 0;
let longestMs = 0;
for (let start = 0; start < rowsPerHour; start += pageRows) {
  const page = Array.from({ length: pageRows }, (_, index) => rowAt(start + index, random));
  const from = performance.now();
  judges.take(page.map(timed), startMs + (start * hourMs) / rowsPerHour, () => () => false);
  const tookMs = performance.now() - from;
  cpuMs += tookMs;
  longestMs = Math.max(longestMs, tookMs);
}
globalThis.gc?.();
const heapMiB = (process.memoryUsage().heapUsed - before) / 1024 / 1024;
const from = performance.now();
const saved = JSON.stringify(judges.save());
const saveMs = performance.now() - from;
console.log(
  `${rowsPerHour.toLocaleString("en-US")} rows of an hour, ${clients.toLocaleString("en-US")} clients, ${blocks.length} WafAutoBlocks: ${(cpuMs / 1000).toFixed(2)} s (${((cpuMs / hourMs) * 100).toFixed(3)} % of a core), at most ${longestMs.toFixed(0)} ms at once`,
);
console.log(
  `memory ${heapMiB.toFixed(1)} MiB; record ${(saved.length / 1024 / 1024).toFixed(2)} MiB, written in ${saveMs.toFixed(0)} ms`,
);
