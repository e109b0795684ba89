// `npm run bench` compares wafsync with other programs on this machine, and prints tables. It asserts nothing, because the results
// depend on the machine. `--only NAME` runs one benchmark (repeat it for several), `--list` lists all of them, and `--write`
// records the results in bench/results.json and writes docs/operations/performance.md from them.
import { readFile, writeFile } from "node:fs/promises";
import { availableParallelism, cpus, loadavg, totalmem } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { tableLines } from "../src/cli/table.ts";
import type { Bench, BenchTable } from "./bench.ts";
import { benches } from "./benches.ts";
import { pageFile, resultsFile, templateFile } from "./files.ts";
import type { RecordedBench, Results } from "./page.ts";
import { renderPage } from "./page.ts";

function chosen(only: readonly string[]): readonly Bench[] {
  const unknown = only.filter((name) => !benches.some((bench) => bench.name === name));
  if (unknown.length > 0)
    throw new Error(`unknown benchmark ${unknown.join(", ")}: npm run bench -- --list lists all benchmarks`);
  return only.length === 0 ? benches : benches.filter(({ name }) => only.includes(name));
}

function machine(): string {
  const [processor] = cpus();
  const memoryGiB = Math.round(totalmem() / 2 ** 30);
  const name = processor?.model.replaceAll(/\((?:R|TM)\)/g, "").trim() ?? "unknown processor";
  return `${availableParallelism()} cores, ${name}, ${memoryGiB} GiB, Node.js ${process.versions.node}`;
}

async function measure({ name, title, measure: run }: Bench): Promise<RecordedBench | undefined> {
  console.log(`\n${name}: ${title}`);
  const loadBefore = loadavg()[0] ?? 0;
  const startMs = performance.now();
  const outcome = await run((line) => console.error(`  ${line}`));
  if (outcome.state === "Skipped") {
    console.log(`  skipped: ${outcome.problem}`);
    return undefined;
  }
  const tookSeconds = Math.round((performance.now() - startMs) / 1000);
  for (const table of Object.values(outcome.tables)) print(table);
  const measuredOn = new Date().toISOString().slice(0, 10);
  return { measuredOn, machine: machine(), loadBefore, tookSeconds, tables: outcome.tables };
}

function print({ columns, rows }: BenchTable): void {
  console.log();
  for (const line of tableLines(columns, rows)) console.log(`  ${line}`);
}

/** Benchmarks that were not run keep their earlier results. The results of benchmarks that no longer exist are removed. */
async function write(measured: Results): Promise<void> {
  const before = JSON.parse(await readFile(resultsFile, "utf8")) as Results;
  const merged = benches.flatMap(({ name }) => {
    const result = measured[name] ?? before[name];
    return result === undefined ? [] : [[name, result] as const];
  });
  const results: Results = Object.fromEntries(merged);
  await writeFile(resultsFile, `${JSON.stringify(results, undefined, 2)}\n`);
  await writeFile(pageFile, renderPage(await readFile(templateFile, "utf8"), results));
  console.log(
    `\nWrote ${[resultsFile, pageFile].map((file) => file.slice(join(import.meta.dirname, "..").length + 1)).join(" and ")}.`,
  );
}

const { values: given } = parseArgs({
  options: {
    only: { type: "string", multiple: true, default: [] },
    list: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
  },
});
if (given.list) {
  for (const { name, title } of benches) console.log(`${name.padEnd(12)}${title}`);
} else {
  const measured: Record<string, RecordedBench> = {};
  for (const bench of chosen(given.only)) {
    try {
      const result = await measure(bench);
      if (result !== undefined) measured[bench.name] = result;
    } catch (error) {
      console.error(`  ${bench.name} failed:`, error);
      process.exitCode = 1;
    }
  }
  if (given.write) await write(measured);
}
