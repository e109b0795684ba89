// `npm run mutate [-- --only TEXT]`: breaks one guarantee at a time in a copy of the source, and checks that the
// simulation or a test fails. Fails if a mutation is not detected. Each job has its own copy.
import { spawn } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { type Mutation, mutations } from "../test/support/simulation/mutations.ts";
import { count, scriptCommand } from "./script-command.ts";

/** Enough to detect every mutation that the simulation should detect. */
const seeds = 400;
/** A test that hangs counts as detection. The simulation itself reports seeds that do not end. */
const testMsMax = 300_000;
const simulationMsMax = 900_000;
const root = join(import.meta.dirname, "..");
const values = scriptCommand(
  "mutate",
  "Breaks one guarantee at a time, and checks that a test or the simulation fails.",
)
  .option("--only <text>", "run only the mutations whose guarantee, or the path of whose test, contains this text", "")
  .option("--jobs <number>", "how many mutations to run at once", count, availableParallelism())
  .parse()
  .opts<{ readonly only: string; readonly jobs: number }>();

interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function copyOfTree(): string {
  const folder = mkdtempSync(join(tmpdir(), "wafsync-mutate-"));
  for (const name of ["src", "test", "scripts", "package.json", "jest.config.js"]) {
    cpSync(join(root, name), join(folder, name), { recursive: true });
  }
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  return folder;
}

async function run(folder: string, parameters: readonly string[], timeout: number): Promise<Ended> {
  const environment = { ...process.env, WAFSYNC_TEST_CASES: "all" };
  const child = spawn(process.execPath, parameters, { cwd: folder, env: environment, timeout, killSignal: "SIGKILL" });
  const output = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8");
    child[name].on("data", (text: string) => void (output[name] += text));
  }
  const { promise, resolve, reject } = Promise.withResolvers<number | null>();
  child.on("error", reject);
  child.on("close", resolve);
  return { status: await promise, ...output };
}

/** Returns what detected the mutation, or undefined. A program that fails to load does not count as detection. */
async function check(folder: string, foundBy: string): Promise<string | undefined> {
  if (foundBy === "simulation") {
    const parameters = ["scripts/simulate.ts", "--seeds", String(seeds), "--failures", "1", "--jobs", "1"];
    const { stdout } = await run(folder, parameters, simulationMsMax);
    return /^(seed \d+: .*)/m.exec(stdout)?.[1];
  }
  const jest = ["--experimental-vm-modules", "--no-warnings", "node_modules/jest/bin/jest.js", "--bail", foundBy];
  const { status, stderr } = await run(folder, jest, testMsMax);
  if (status === 0) return undefined;
  if (status === null) return `${foundBy}: the test does not end`;
  const title = /● (?!Test suite failed to run)(.*)/.exec(stderr)?.[1];
  return title === undefined ? undefined : `${foundBy}: ${title}`;
}

async function notice(folder: string, { file, from, to, foundBy }: Mutation): Promise<string | undefined> {
  const path = join(folder, file);
  const source = readFileSync(path, "utf8");
  if (source.split(from).length !== 2) return undefined;
  writeFileSync(
    path,
    source.replace(from, () => to),
  );
  const found = await check(folder, foundBy);
  writeFileSync(path, source);
  return found;
}

const waiting = mutations.filter(({ guard, foundBy }) => guard.includes(values.only) || foundBy.includes(values.only));
if (waiting.length === 0) {
  console.error(`error: no guarantee in docs/contributing/reliability.md contains "${values.only}"`);
  process.exit(2);
}
const missed: string[] = [];
const startMs = performance.now();

async function work(): Promise<void> {
  const folder = copyOfTree();
  for (let mutation = waiting.shift(); mutation !== undefined; mutation = waiting.shift()) {
    const { guard } = mutation;
    const found = await notice(folder, mutation);
    if (found === undefined) missed.push(guard);
    console.log(`${found === undefined ? "MISSED" : "detected"}  ${guard}: ${found ?? "nothing fails"}`);
  }
  rmSync(folder, { recursive: true, force: true });
}

await Promise.all(Array.from({ length: Math.min(values.jobs, waiting.length) }, work));
const minutes = ((performance.now() - startMs) / 60_000).toFixed(1);
console.log(
  missed.length === 0
    ? `All mutations were detected, in ${minutes} minutes.`
    : `${missed.length} mutations were not detected, in ${minutes} minutes: ${missed.join("; ")}.`,
);
process.exitCode = missed.length === 0 ? 0 : 1;
