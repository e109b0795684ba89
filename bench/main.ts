// `npm run bench` compares wafsync with other programs on this machine, and prints tables. It asserts nothing, because the results
// depend on the machine.
import { readFile, writeFile } from "node:fs/promises";
import { availableParallelism, cpus, loadavg, totalmem } from "node:os";
import { join } from "node:path";
import { Option } from "commander";
import { scriptCommand } from "../scripts/script-command.ts";
import { tableOf } from "../src/cli/terminal.ts";
import type { Bench, BenchTable } from "./bench.ts";
import { benches } from "./benches.ts";
import { pageFile, resultsFile, templateFile } from "./files.ts";
import type { RecordedBench, Results } from "./page.ts";
import { renderPage } from "./page.ts";

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
  const cells = columns.map((title, place) => ({ title, cell: (row: readonly string[]) => row[place] ?? "" }));
  for (const line of tableOf(cells, rows)) console.log(`  ${line}`);
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

const names = benches.map(({ name }) => name);
const only = new Option("--only <names...>", "run only these benchmarks").choices(names).default([], "all");
const given = scriptCommand("bench", "Compares wafsync with other programs on this machine, and prints tables.")
  .addOption(only)
  .option("--list", "list all benchmarks", false)
  .option("--write", "record the results, and write docs/operations/performance.md from them", false)
  .parse()
  .opts<{ readonly only: readonly string[]; readonly list: boolean; readonly write: boolean }>();
if (given.list) {
  for (const { name, title } of benches) console.log(`${name.padEnd(12)}${title}`);
} else {
  const measured: Record<string, RecordedBench> = {};
  for (const bench of benches) {
    if (given.only.length > 0 && !given.only.includes(bench.name)) continue;
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
