// `npm test`: runs all checks and all tests that need nothing but Node.js, one stage after another, even if an earlier stage fails.
// The last line is `N passed, N failed` (and `, N skipped` if tests were skipped) and counts all tests and checks. Arguments are
// passed to jest (`npm test -- test/waf`), except for these options: --fast runs the checks and the fast tests (`npm run verify`),
// --cluster runs only the suites that need a control plane (`npm run test:cluster`), --deploy only the deployment tests and the
// long tests (`npm run test:deploy`), and --all runs everything and the demo (`.ci/run`). The deployment tests need Helm, Argo CD's
// Lua, Flux's kstatus, Prometheus, an OpenTelemetry Collector and the CrowdSec local API.
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { delimiter, join, relative } from "node:path";
import { findCollector, findControlPlane, findCrowdsec, findTools } from "../test/support/control-plane/go-programs.ts";
import { offerControlPlane } from "../test/support/control-plane/shared-control-plane.ts";
import { buildCommand, bundleIn, bundleVariable } from "../test/support/processes/bundle.ts";
import { type Check, checks, clusterTests, fastTests, longTests, measuringTests, thoroughTests } from "./checks.ts";

interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** The parts of jest's `--json` report that are used. */
interface JestReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  /** Suites that failed before their tests ran. Each counts as one failure. */
  readonly numRuntimeErrorTestSuites: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly startTime: number;
    readonly endTime: number;
    readonly assertionResults: readonly { readonly status: string; readonly title: string }[];
  }[];
}

const nothing: Counts = { passed: 0, failed: 0, skipped: 0 };
const results: Counts[] = [];
const failedChecks: Check[] = [];
const skippedTests: string[] = [];
const suites: { readonly path: string; readonly seconds: number }[] = [];
const root = join(import.meta.dirname, "..");
const bin = join(root, "node_modules", ".bin");
const modes = ["--fast", "--cluster", "--deploy", "--all"];
const mode = process.argv.slice(2).find((parameter) => modes.includes(parameter));
const parameters = process.argv.slice(2).filter((parameter) => !modes.includes(parameter));
/** The folder of the bundle that all suites of the run share. */
const bundleFolder = await mkdtemp(join(tmpdir(), "wafsync-built-"));
const environment = {
  ...process.env,
  PATH: `${bin}${delimiter}${process.env["PATH"] ?? ""}`,
  // Fast tests run the sources: a build would take longer than all of them.
  [bundleVariable]: mode === "--fast" ? "" : bundleFolder,
};

/** Returns the exit code; 1 if the program can't be started or is killed. */
function run([program = "", ...parameters]: readonly string[], more: NodeJS.ProcessEnv = {}): Promise<number> {
  return new Promise((resolve) => {
    const child = spawn(program, parameters, { cwd: root, env: { ...environment, ...more }, stdio: "inherit" });
    child.once("error", (error) => {
      console.log(`${program} can't be started: ${error.message}`);
      resolve(1);
    });
    child.once("close", (code) => resolve(code ?? 1));
  });
}

function bold(text: string): string {
  return process.stdout.isTTY ? `\u001b[1m${text}\u001b[22m` : text;
}

/** Runs one stage, prints a header, the result and the duration, and counts it. */
async function stage(title: string, act: () => Promise<Counts>): Promise<void> {
  console.log(`\n${bold(`── ${title} ${"─".repeat(Math.max(0, 76 - title.length))}`)}`);
  const startedAtMs = performance.now();
  const counts = await act();
  results.push(counts);
  const took = `${((performance.now() - startedAtMs) / 1000).toFixed(1)} s`;
  console.log(`${counts.failed > 0 ? "✗" : "✓"} ${title}, ${took}`);
}

async function runCheck(check: Check): Promise<void> {
  await stage(check.title, async () => {
    if ((await run(check.command)) === 0) return { ...nothing, passed: 1 };
    failedChecks.push(check);
    return { ...nothing, failed: 1 };
  });
}

/** @param workers by default more than the number of cores, because many suites wait for servers, Leases and killed processes */
async function runTests(
  title: string,
  parameters: readonly string[],
  {
    workers = availableParallelism() + 2,
    more = {},
  }: { readonly workers?: number; readonly more?: NodeJS.ProcessEnv } = {},
): Promise<void> {
  await stage(title, async () => {
    const folder = await mkdtemp(join(tmpdir(), "wafsync-test-"));
    const reportFile = join(folder, "report.json");
    const jest = [process.execPath, "--experimental-vm-modules", "--no-warnings", "node_modules/jest/bin/jest.js"];
    // Starts when the first suite requests it. All suites that need it share it.
    const controlPlane = await offerControlPlane();
    const command = [...jest, `--maxWorkers=${workers}`, "--json", `--outputFile=${reportFile}`, ...parameters];
    const exitCode = await run(command, { ...controlPlane.environment, ...more });
    await controlPlane.withdraw();
    const text = await readFile(reportFile, "utf8").catch(() => undefined);
    await rm(folder, { recursive: true, force: true });
    return readReport(text, exitCode);
  });
}

/** A run that failed without a failed test, or left no report, counts as one failure. */
function readReport(text: string | undefined, exitCode: number): Counts {
  if (text === undefined) return { ...nothing, failed: 1 };
  const report = JSON.parse(text) as JestReport;
  for (const { name, startTime, endTime, assertionResults } of report.testResults) {
    suites.push({ path: relative(root, name), seconds: (endTime - startTime) / 1000 });
    for (const { status, title } of assertionResults) {
      // describe-missing.ts puts the reason into the title.
      if (status === "pending") skippedTests.push(`${relative(root, name)}: ${title}`);
    }
  }
  const failed = report.numFailedTests + report.numRuntimeErrorTestSuites;
  return {
    passed: report.numPassedTests,
    failed: failed === 0 && exitCode !== 0 ? 1 : failed,
    skipped: report.numPendingTests,
  };
}

function printList(title: string, lines: readonly string[]): void {
  if (lines.length > 0) console.log(`\n${bold(title)}\n${lines.map((line) => `  ${line}`).join("\n")}`);
}

const ignoring = (paths: readonly string[]): string[] =>
  ["/node_modules/", "/test/fixtures/", ...paths].map((path) => `--testPathIgnorePatterns=${path}`);

if (mode === "--all") await runCheck({ title: "Demo", command: ["npm", "run", "--silent", "demo"] });
if (mode !== "--fast") await runCheck({ title: "Bundle", command: buildCommand(bundleIn(bundleFolder)) });
if (mode !== "--cluster" && mode !== "--deploy") {
  for (const check of checks) await runCheck(check);
}
const elsewhere = [...longTests(), ...measuringTests()];
const inCluster = clusterTests().filter((path) => !elsewhere.includes(path));
if (mode === "--fast") {
  const blocker = failedChecks.find(({ testsNeedIt }) => testsNeedIt);
  if (blocker !== undefined)
    console.log(`\nNo tests were run: first fix the problems that "${blocker.title}" reports.`);
  // Paths come first, because jest would treat paths after a list of patterns as further patterns.
  else await runTests("Fast tests", [...fastTests, ...parameters, ...ignoring(clusterTests())]);
} else if (mode === "--cluster") {
  const found = await findControlPlane();
  if (found.state === "Found") await runTests("Tests on a control plane", [...inCluster, ...parameters]);
  else {
    console.log(`No tests were run: they need a control plane. ${found.problem}`);
    results.push({ ...nothing, failed: 1 });
  }
} else if (mode === undefined) {
  // Named paths run even if they are normally ignored.
  await runTests("Tests", parameters.length > 0 ? parameters : ignoring([...elsewhere, ...inCluster]));
} else {
  // Built before the tests, because a build at the same time would slow them down.
  await findControlPlane();
  await findTools();
  await findCollector();
  await findCrowdsec();
  const more = { WAFSYNC_TEST_CASES: "all" };
  const most = mode === "--all" ? ignoring(measuringTests()) : [...longTests(), ...thoroughTests()];
  await runTests(mode === "--all" ? "Tests" : "Deployment tests and long tests", [...parameters, ...most], { more });
  await runTests("Tests that measure", measuringTests(), { workers: 1, more });
}
await rm(bundleFolder, { recursive: true, force: true });
const slowest = suites.toSorted((one, other) => other.seconds - one.seconds).slice(0, 10);
printList(
  "Slowest suites",
  slowest.map(({ path, seconds }) => `${seconds.toFixed(1).padStart(6)} s  ${path}`),
);
printList("Skipped tests", skippedTests);
if (mode === undefined && parameters.length === 0) {
  console.log(
    `\n${inCluster.length} suites that need a Kubernetes API server, and ${elsewhere.length} that take long or need other programs, ` +
      "were not run.\n`npm run test:cluster` runs the former: it builds the API server with Go once. `npm run test:deploy` runs the latter.",
  );
}
// Repeated here, where the output of the tests does not hide them.
const toFix = failedChecks.map(({ title, fix }) => (fix === undefined ? title : `${title}: npm run ${fix}`));
printList("Failed checks", toFix);

const sum = (count: keyof Counts): number => results.reduce((total, counts) => total + counts[count], 0);
const skipped = sum("skipped") === 0 ? "" : `, ${sum("skipped")} skipped`;
console.log(`\n${sum("passed")} passed, ${sum("failed")} failed${skipped}`);
process.exitCode = sum("failed") === 0 ? 0 : 1;
