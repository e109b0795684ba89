// Measures the cost of the bundle before a command does anything: the time and the memory of `wafsync --version`.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Bench, BenchOutcome } from "./bench.ts";
import { inMilliseconds, median } from "./bench.ts";
import { bundle } from "./server-process.ts";

const run = promisify(execFile);
const rounds = 9;

async function measure(): Promise<BenchOutcome> {
  const timed = async (parameters: readonly string[]): Promise<number> => {
    const startMs = performance.now();
    await run(process.execPath, [...parameters]);
    return performance.now() - startMs;
  };
  const bare: number[] = [];
  const own: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    bare.push(await timed(["--eval", "0"]));
    own.push(await timed([bundle, "--version"]));
  }
  const script = `process.argv.splice(1,1,${JSON.stringify(bundle)},"--version"); await import(${JSON.stringify(bundle)}); console.log(process.resourceUsage().maxRSS)`;
  const { stdout } = await run(process.execPath, ["--input-type=module", "-e", script, "x"]);
  const peakMiB = Math.round(Number(stdout.trim().split("\n").at(-1)) / 1024);
  const rows = [
    ["`node --eval 0`", inMilliseconds(median(bare)), ""],
    ["`wafsync --version`", inMilliseconds(median(own)), `${peakMiB} MiB`],
  ];
  return { state: "Measured", tables: { start: { columns: ["Program", "Time", "Peak memory"], rows } } };
}

export const bundleBench: Bench = {
  name: "bundle",
  title: `start and memory of \`wafsync --version\` (medians of ${rounds} alternating runs)`,
  measure,
};
