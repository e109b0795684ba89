// `npm run bench`: how close `run --once` comes to the serial floor, how plans grow, how fast lists are read, and what the
// bundle costs. Prints tables; asserts nothing, since the machine decides.
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { addresses } from "../test/support/builders/declare.ts";
import { benchFeeds } from "./feeds.ts";
import { benchOperator } from "./operator.ts";
import { benchLogs } from "./logs.ts";
import { measureFloorMs } from "./serial-floor.ts";
import { measurePlanMs } from "./plan-time.ts";
import { startServer } from "./server-process.ts";

const run = promisify(execFile);
const bundle = join(import.meta.dirname, "../dist/wafsync.mjs");
const addsCount = 2000;
const key = "bench-key-0123456789";

function documents(baseUrl: string): string {
  const common = "apiVersion: wafsync.dev/v1alpha1\nkind: ";
  const list = addresses(addsCount).map((address) => `    ${address}\n`);
  return [
    `${common}WafInstance\nmetadata: {name: bench}\nspec:\n  baseUrl: ${baseUrl}\n  apiKeySecretRef: {name: bench}\n`,
    `apiVersion: v1\nkind: Secret\nmetadata: {name: bench}\nstringData: {apiKey: ${key}}\n`,
    `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bench}\ndata:\n  list: |\n${list.join("")}`,
    `${common}WafIpRule\nmetadata: {name: bench}\nspec:\n  instanceRef: {name: bench}\n  action: Block\n  addressesFrom: [{configMapKeyRef: {name: bench, key: list}}]\n`,
  ].join("---\n");
}

async function runOnceMs(folder: string): Promise<number> {
  const startMs = performance.now();
  await run(process.execPath, [bundle, "run", "--from", folder, "--once", "--allow-insecure-http"]);
  return performance.now() - startMs;
}

async function benchCalls(): Promise<void> {
  console.log(
    `\n${addsCount} additions by \`run --once\`, start of the program included, against the same calls by bare undici`,
  );
  console.log("latency   floor      run --once   ratio");
  for (const latencyMs of [0, 5, 20]) {
    await using server = await startServer(key, latencyMs);
    // Written before the floor is measured: files that changed a moment ago are waited for, as half of them may be missing.
    const folder = await mkdtemp(join(tmpdir(), "wafsync-bench-"));
    await writeFile(join(folder, "all.yaml"), documents(server.baseUrl));
    const floorMs = await measureFloorMs(server.baseUrl, key, addresses(addsCount));
    await server.reset();
    const totalMs = await runOnceMs(folder);
    await rm(folder, { recursive: true, force: true });
    const cells = [`${latencyMs} ms`, `${(floorMs / 1000).toFixed(2)} s`, `${(totalMs / 1000).toFixed(2)} s`];
    console.log(`${cells.map((cell) => cell.padEnd(11)).join("")}${(floorMs / totalMs).toFixed(3)}`);
  }
}

async function benchBundle(): Promise<void> {
  console.log("\nThe bundle: start-up and memory of `--version`");
  const times: number[] = [];
  for (let round = 0; round < 5; round += 1) {
    const startMs = performance.now();
    await run(process.execPath, [bundle, "--version"]);
    times.push(performance.now() - startMs);
  }
  const script = `process.argv.splice(1,1,${JSON.stringify(bundle)},"--version"); await import(${JSON.stringify(bundle)}); console.log(process.resourceUsage().maxRSS)`;
  const { stdout } = await run(process.execPath, ["--input-type=module", "-e", script, "x"]);
  const median = times.toSorted((a, b) => a - b)[2] ?? 0;
  console.log(
    `median of 5: ${median.toFixed(0)} ms, peak memory ${Math.round(Number(stdout.trim().split("\n").at(-1)) / 1024)} MiB`,
  );
}

console.log("A plan from scratch: compile what is declared, compare, order (best of 5)");
for (const count of [1_000, 10_000, 100_000]) {
  console.log(`${String(count).padStart(7)} entries   ${measurePlanMs(count).toFixed(1)} ms`);
}
await benchFeeds();
await benchCalls();
await benchBundle();
await benchOperator();
await benchLogs();
