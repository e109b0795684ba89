// Compares reading logs with reading the same pages with only undici and JSON.parse, and measures the command `wafsync logs`.
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "undici";
import { realClock } from "../src/async/clock.ts";
import { ApiKey } from "../src/model/api-key.ts";
import { readLogs } from "../src/logs/read-logs.ts";
import { createWafClient } from "../src/waf/client.ts";
import { LaneRegistry } from "../src/waf/lane.ts";
import type { Bench, BenchOutcome, BenchTable } from "./bench.ts";
import { inSeconds } from "./bench.ts";
import { bundle } from "./server-process.ts";

const key = "bench-key-0123456789";
const firstDay = 20_000;
const rounds = 5;

interface Shape {
  readonly days: number;
  readonly pagesPerDay: number;
  readonly rowsPerPage: number;
}

interface PagesServer extends AsyncDisposable {
  readonly baseUrl: string;
}

async function startPagesServer({ days, pagesPerDay, rowsPerPage }: Shape): Promise<PagesServer> {
  const script = fileURLToPath(import.meta.resolve("./log-pages-server.ts"));
  const child = spawn(process.execPath, [script, String(days), String(pagesPerDay), String(rowsPerPage)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const baseUrl = await new Promise<string>((resolve, reject) => {
    child.once("error", reject);
    child.stdout.setEncoding("utf8").once("data", (text: string) => resolve(text.split(" ")[0] ?? ""));
  });
  return {
    baseUrl,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => child.once("close", resolve));
      child.kill("SIGTERM");
      await closed;
    },
  };
}

function dateOf(day: number): string {
  return new Date(day * 86_400_000).toISOString().slice(0, 10);
}

interface BarePage {
  readonly _scroll_id: string | null;
  readonly hits: { readonly hits: readonly unknown[] };
}

async function readBare(baseUrl: string, { days }: Shape): Promise<number> {
  const client = new Client(baseUrl, { pipelining: 1 });
  let rows = 0;
  const read = async (path: string): Promise<BarePage> => {
    const { body } = await client.request({ method: "GET", path });
    return JSON.parse(await body.text()) as BarePage;
  };
  for (let day = firstDay; day < firstDay + days; day += 1) {
    const date = dateOf(day);
    let page = await read(`/api/logs/query?api_key=${key}&start_date=${date}&end_date=${date}&per_page=10000`);
    rows += page.hits.hits.length;
    while (page._scroll_id !== null) {
      page = await read(`/api/logs/scroll?api_key=${key}&scroll_id=${page._scroll_id}`);
      rows += page.hits.hits.length;
    }
  }
  await client.close();
  return rows;
}

async function readWithWafsync(baseUrl: string, { days }: Shape): Promise<number> {
  const registry = new LaneRegistry({ clock: realClock });
  const apiKey = new ApiKey(key);
  const lane = registry.acquire({ baseUrl, key: apiKey, minRequestIntervalMs: 0 });
  const permit = () => ({ permitted: true }) as const;
  const waf = createWafClient({ baseUrl, key: apiKey, requestTimeoutMs: 60_000, lane, permit, clock: realClock });
  const ports = { waf, clock: realClock, random: Math.random, stopping: new AbortController().signal };
  let rows = 0;
  for await (const piece of readLogs(ports, { days: { firstDay, lastDay: firstDay + days - 1 } })) {
    if (piece.kind === "Page") rows += piece.newEntries.length;
    if (piece.kind === "Failed") throw new Error(piece.fault.message);
  }
  await registry.close();
  return rows;
}

/** The duration in milliseconds and the peak memory in MiB of the whole program. */
async function runProgram(baseUrl: string, { days }: Shape, format: string): Promise<readonly [number, number]> {
  const folder = await mkdtemp(join(tmpdir(), "wafsync-bench-"));
  const report = `process.on("exit",()=>process.stderr.write("peak "+process.resourceUsage().maxRSS+"\\n"))`;
  const dates = ["--since", dateOf(firstDay), "--until", dateOf(firstDay + days - 1)];
  const where = ["--base-url", baseUrl, "--allow-insecure-http", "-o", format, "--out", join(folder, "rows")];
  const startMs = performance.now();
  const child = spawn(
    process.execPath,
    [`--import=data:text/javascript,${encodeURIComponent(report)}`, bundle, "logs", ...dates, ...where],
    { stdio: ["ignore", "ignore", "pipe"], env: { ...process.env, WAFSYNC_API_KEY: key } },
  );
  let printed = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (printed += text));
  await new Promise((resolve) => child.once("close", resolve));
  const durationMs = performance.now() - startMs;
  await rm(folder, { recursive: true, force: true });
  const peakKiB = /peak (\d+)/.exec(printed)?.[1];
  if (peakKiB === undefined) throw new Error(`wafsync logs failed: ${printed}`);
  return [durationMs, Number(peakKiB) / 1024];
}

/** The best of several alternating rounds, so that a busy moment of the machine affects both. */
async function compare(baseUrl: string, shape: Shape): Promise<readonly [bareMs: number, ourMs: number]> {
  const best = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, read] of [readBare, readWithWafsync].entries()) {
      const startMs = performance.now();
      const rows = await read(baseUrl, shape);
      best[index] = Math.min(best[index] ?? 0, performance.now() - startMs);
      const expected = shape.days * shape.pagesPerDay * shape.rowsPerPage;
      if (rows !== expected) throw new Error(`read ${rows} rows instead of ${expected}`);
    }
  }
  return [best[0] ?? 0, best[1] ?? 0];
}

const shapes: readonly Shape[] = [
  { days: 40, pagesPerDay: 1, rowsPerPage: 6_250 },
  { days: 25, pagesPerDay: 1, rowsPerPage: 10_000 },
  { days: 5, pagesPerDay: 5, rowsPerPage: 10_000 },
];

async function measureReader(): Promise<BenchTable> {
  const rows: string[][] = [];
  for (const shape of shapes) {
    await using server = await startPagesServer(shape);
    const [bareMs, ourMs] = await compare(server.baseUrl, shape);
    const { days, pagesPerDay, rowsPerPage } = shape;
    const rate = (durationMs: number): string =>
      `${Math.round((days * pagesPerDay * rowsPerPage) / durationMs)} rows/ms`;
    const perPage = rowsPerPage.toLocaleString("en-US");
    const title = `${days} days of ${pagesPerDay === 1 ? "" : `${pagesPerDay} × `}${perPage}`;
    rows.push([title, rate(bareMs), rate(ourMs), (bareMs / ourMs).toFixed(2)]);
  }
  return { columns: ["Pages", "undici alone", "Reader", "Ratio"], rows };
}

async function measureProgram(): Promise<BenchTable> {
  const rows: string[][] = [];
  for (const days of [4, 40]) {
    const shape = { days, pagesPerDay: 1, rowsPerPage: 6_250 };
    await using server = await startPagesServer(shape);
    for (const format of ["ndjson", "csv"]) {
      const [durationMs, peakMiB] = await runProgram(server.baseUrl, shape, format);
      const count = (days * shape.rowsPerPage).toLocaleString("en-US");
      rows.push([count, format, inSeconds(durationMs), `${peakMiB.toFixed(0)} MiB`]);
    }
  }
  return { columns: ["Rows", "Format", "Time", "Peak memory"], rows };
}

async function measure(): Promise<BenchOutcome> {
  return { state: "Measured", tables: { reader: await measureReader(), program: await measureProgram() } };
}

export const logsBench: Bench = {
  name: "logs",
  title: "250,000 log rows: undici and JSON.parse alone, the reader, and `wafsync logs` (best of 5)",
  measure,
};
