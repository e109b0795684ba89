// `npm run simulate -- --seeds 20000`: simulates whole installations, with one worker per core by default, and prints the results. For
// a seed that fails, it prints the seed and a readable trace. `--folder` runs the commands of a folder as real processes instead.
import { once } from "node:events";
import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { Option } from "commander";
import { wholeNumber } from "../src/cli/commands/declare.ts";
import type { SeedReport } from "../test/support/simulation/simulate-seed.ts";
import type { SeedAnswer } from "../test/support/simulation/seed-worker.ts";
import { simulateFolder } from "../test/support/simulation/folder-world.ts";
import { SimSums } from "../test/support/simulation/sim-sums.ts";
import { count, scriptCommand } from "./script-command.ts";

interface SimulateOptions {
  readonly seeds: number;
  readonly first: number;
  readonly seed?: number;
  readonly jobs: number;
  readonly failures: number;
  readonly trace: boolean;
  readonly folder: boolean;
}

const seedNumber = wholeNumber(0, 1_000_000_000);

const values = scriptCommand("simulate", "Simulates whole installations, and prints the seeds that fail.")
  .option("--seeds <number>", "how many seeds to run", count, 1000)
  .option("--first <number>", "the first seed", seedNumber, 0)
  .addOption(new Option("--seed <number>", "run only this seed").argParser(seedNumber).conflicts(["seeds", "first"]))
  .option("--jobs <number>", "how many workers to use", count, availableParallelism())
  .option("--failures <number>", "stop after this number of failed seeds", count, 5)
  .option("--trace", "print the events of all seeds", false)
  .option("--folder", "run several commands at once in a folder, as real processes", false)
  .parse()
  .opts<SimulateOptions>();

/** Most seeds take a tenth of a second. */
const seedMsMax = 60_000;
const first = values.seed ?? values.first;
const end = first + (values.seed === undefined ? values.seeds : 1);
const sums = new SimSums();
const failed: number[] = [];
const heapsMb: number[] = [];
const folderSums = { commands: 0, kills: 0 };
const startMs = performance.now();
let next = first;

/** Workers take one seed at a time. It does not matter which worker runs a seed. */
async function work(): Promise<void> {
  const worker = new Worker(new URL("../test/support/simulation/seed-worker.ts", import.meta.url));
  while (next < end && failed.length < values.failures) {
    const seed = next++;
    const answer = await ask(worker, seed);
    if (answer === undefined) {
      console.log(`\nseed ${seed}: the simulation does not end`);
      failed.push(seed);
      break;
    }
    if (answer.heapMb !== undefined) heapsMb.push(answer.heapMb);
    note(answer.report);
  }
  await worker.terminate();
}

/** Returns undefined if the simulation of the seed does not end. */
async function ask(worker: Worker, seed: number): Promise<SeedAnswer | undefined> {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker has no origin
  worker.postMessage(seed);
  try {
    const [answer] = (await once(worker, "message", { signal: AbortSignal.timeout(seedMsMax) })) as [SeedAnswer];
    return answer;
  } catch (error) {
    if (Error.isError(error) && error.name === "AbortError") return undefined;
    throw error;
  }
}

/** The work is done by the processes of each seed, so it needs no workers. */
async function playFolders(): Promise<void> {
  while (next < end && failed.length < values.failures) {
    const report = await simulateFolder(next++);
    folderSums.commands += report.commands;
    folderSums.kills += report.kills;
    print(report);
  }
}

function note(report: SeedReport): void {
  sums.add(report);
  print(report);
}

function print(report: Pick<SeedReport, "seed" | "violations" | "trace">): void {
  if (report.violations.length > 0) failed.push(report.seed);
  if (values.trace || report.violations.length > 0) console.log(report.trace.join("\n"));
  for (const violation of report.violations) console.log(`\nseed ${report.seed}: ${violation}`);
}

/** The measurements of all workers, in chronological order. */
function describeHeaps(): string {
  if (heapsMb.length === 0) return "";
  return `the heap of a worker took ${heapsMb[0]} MB at first, ${heapsMb.at(-1)} MB in the end, and at most ${Math.max(...heapsMb)} MB. `;
}

await Promise.all(Array.from({ length: Math.min(values.jobs, end - first) }, values.folder ? playFolders : work));
const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
const seeds = failed.toSorted((a, b) => a - b);
console.log(
  `${values.folder ? `${folderSums.commands} commands, ${folderSums.kills} kills.` : sums.describe()} It took ${seconds} s; ${describeHeaps()}` +
    (seeds.length === 0 ? "No seed failed." : `${seeds.length} seeds failed: ${seeds.join(", ")}.`),
);
process.exitCode = seeds.length === 0 ? 0 : 1;
