// Measures reading a threat list: wafsync, Go's netipx and Rust's ipnet read the same file in one run. Each reads the first
// column of every line into a set; the other two then merge the set into networks.
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { realClock } from "../src/async/clock.ts";
import { readFeed } from "../src/feeds/read-feed.ts";
import { seededRandom } from "../test/support/builders/seeded-random.ts";
import type { Bench, BenchOutcome } from "./bench.ts";
import { inMilliseconds } from "./bench.ts";
import { buildGoProgram } from "./go-program.ts";

const run = promisify(execFile);
/** The length of IPsum's level 1. Its lines have an address, a tab, and the number of lists that contain the address. */
const linesCount = 120_430;
const rounds = 10;

async function measure(): Promise<BenchOutcome> {
  const folder = await mkdtemp(join(tmpdir(), "wafsync-bench-feeds-"));
  try {
    const file = join(folder, "list.txt");
    await writeFile(file, listText());
    const rows = [
      await measureRust(folder, file).catch(() => absent("Rust, `ipnet`", "cargo")),
      await measureOwn(file),
      await measureGo(folder, file).catch(() => absent("Go, `go4.org/netipx`", "Go")),
    ];
    return { state: "Measured", tables: { read: { columns: ["Program", "Time", "Networks"], rows } } };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export const feedsBench: Bench = {
  name: "feeds",
  title: `a list of ${linesCount.toLocaleString("en-US")} addresses, from bytes to a set (best of ${rounds})`,
  measure,
};

function listText(): string {
  const random = seededRandom(1);
  const octet = (from: number, to: number): number => from + Math.floor(random() * (to - from));
  const line = (): string => `${octet(1, 224)}.${octet(0, 256)}.${octet(0, 256)}.${octet(0, 256)}\t${octet(1, 9)}`;
  return ["# A list", ...Array.from({ length: linesCount }, line), ""].join("\n");
}

async function measureOwn(file: string): Promise<readonly string[]> {
  const text = await readFile(file);
  let bestMs = Number.POSITIVE_INFINITY;
  let entries = 0;
  for (let round = 0; round < rounds; round += 1) {
    const startMs = performance.now();
    const read = await readFeed(text, { type: "Plain" }, { clock: realClock });
    bestMs = Math.min(bestMs, performance.now() - startMs);
    entries = read.counts.valid;
  }
  return row("wafsync", bestMs, entries);
}

async function measureGo(folder: string, file: string): Promise<readonly string[]> {
  return await measureProgram("Go, `go4.org/netipx`", await buildGoProgram("netipx", folder), file);
}

async function measureRust(folder: string, file: string): Promise<readonly string[]> {
  const target = join(folder, "target");
  const parameters = ["build", "--quiet", "--release", "--target-dir", target];
  await run("cargo", parameters, { cwd: join(import.meta.dirname, "ipnet") });
  return await measureProgram("Rust, `ipnet`", join(target, "release/bench-ipnet"), file);
}

async function measureProgram(title: string, program: string, file: string): Promise<readonly string[]> {
  const { stdout } = await run(program, [file, String(rounds)]);
  const [ms = "", networks = ""] = stdout.trim().split(" ");
  return row(title, Number(ms), Number(networks));
}

function row(title: string, ms: number, count: number): readonly string[] {
  return [title, inMilliseconds(ms), count.toLocaleString("en-US")];
}

function absent(title: string, what: string): readonly string[] {
  return [title, `${what} is not installed`, ""];
}
