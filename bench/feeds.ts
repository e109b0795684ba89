// Reading a threat list: wafsync beside Go's netipx and Rust's ipnet, in one run, over the same file. Each reads the first
// column of every line and makes a set of it. A language that is not installed is left out.
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { readFeed } from "../src/feed/read/read-feed.ts";
import { seededRandom } from "../test/support/builders/seeded-random.ts";

const run = promisify(execFile);
/** As many as IPsum's list of level 1 has, in its shape: an address, a tab, and on how many lists it is. */
const linesCount = 120_430;
const rounds = 10;
const chunkBytes = 65_536;

export async function benchFeeds(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "wafsync-bench-feeds-"));
  const file = join(folder, "list.txt");
  await writeFile(file, listText());
  console.log(`\nReading a list of ${linesCount.toLocaleString("en-US")} addresses (best of ${rounds})`);
  console.log(await measureOwn(file));
  console.log(await measureGo(folder, file).catch(() => "Go netipx       not measured: Go is not installed"));
  console.log(await measureRust(folder, file).catch(() => "Rust ipnet      not measured: cargo is not installed"));
  await rm(folder, { recursive: true, force: true });
}

function listText(): string {
  const random = seededRandom(1);
  const octet = (from: number, to: number): number => from + Math.floor(random() * (to - from));
  const line = (): string => `${octet(1, 224)}.${octet(0, 256)}.${octet(0, 256)}.${octet(0, 256)}\t${octet(1, 9)}`;
  return ["# A list", ...Array.from({ length: linesCount }, line), ""].join("\n");
}

async function measureOwn(file: string): Promise<string> {
  const text = await readFile(file);
  let bestMs = Number.POSITIVE_INFINITY;
  let bestCpuMs = Number.POSITIVE_INFINITY;
  let entries = 0;
  for (let round = 0; round < rounds; round += 1) {
    const startMs = performance.now();
    const cpuBefore = process.cpuUsage();
    const read = await readFeed(chunksOf(text), { type: "Plain" });
    const { user, system } = process.cpuUsage(cpuBefore);
    bestMs = Math.min(bestMs, performance.now() - startMs);
    bestCpuMs = Math.min(bestCpuMs, (user + system) / 1000);
    entries = read.ok ? read.reading.counts.valid : 0;
  }
  return `${row("wafsync", bestMs, entries)} as listed, ${bestCpuMs.toFixed(1)} ms of CPU`;
}

// oxlint-disable-next-line typescript/require-await -- a stream that is there already
async function* chunksOf(text: Buffer): AsyncGenerator<Buffer> {
  for (let start = 0; start < text.length; start += chunkBytes) yield text.subarray(start, start + chunkBytes);
}

async function measureGo(folder: string, file: string): Promise<string> {
  const program = join(folder, "netipx");
  await run("go", ["build", "-o", program, "."], { cwd: join(import.meta.dirname, "netipx") });
  return await measureProgram("Go netipx", program, file);
}

async function measureRust(folder: string, file: string): Promise<string> {
  const target = join(folder, "target");
  const parameters = ["build", "--quiet", "--release", "--target-dir", target];
  await run("cargo", parameters, { cwd: join(import.meta.dirname, "ipnet") });
  return await measureProgram("Rust ipnet", join(target, "release/bench-ipnet"), file);
}

async function measureProgram(title: string, program: string, file: string): Promise<string> {
  const { stdout } = await run(program, [file, String(rounds)]);
  const [ms = "", networks = ""] = stdout.trim().split(" ");
  return `${row(title, Number(ms), Number(networks))} after aggregation`;
}

function row(title: string, ms: number, count: number): string {
  return `${title.padEnd(16)}${ms.toFixed(1).padStart(7)} ms   ${count.toLocaleString("en-US")} networks`;
}
