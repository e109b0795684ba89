// `npm run demo`: demonstrates wafsync in one terminal. It is also a test: each step is checked against the state of the
// simulator, and the exit code is 0 only if all steps succeed. Parameters name a different program than the built one:
// `node scripts/demo.ts /usr/local/bin/wafsync`.
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { attackWave } from "./demo/attack-wave.ts";
import { SimulatorControl, type WafState } from "./demo/simulator-control.ts";
import { DemoFailure, Stage, colour } from "./demo/stage.ts";

const root = join(import.meta.dirname, "..");
const key = "demo-key-0123456789";
const stepTimeoutMs = 20_000;
const latencyMs = 8;
const slowLatencyMs = 15;
const reasonsShown = 5;
/** Per day. */
const blockedRequests = 200;
const botnetSize = 300;
const secondWaveSize = 200;
/** An entry that another writer adds. */
const foreignAddress = "198.51.100.254";
const urgentAddress = "203.0.113.66";
/** The urgent rule is added when this number of addresses of the second wave are on the list. */
const urgentAfter = 40;
const directoryOptions = ["--allow-insecure-http"];

const startedAtMs = performance.now();
const interrupted = new AbortController();
const folder = await mkdtemp(join(tmpdir(), "wafsync-demo-"));
const stage = new Stage({
  program: process.argv.length > 2 ? process.argv.slice(2) : [process.execPath, join(root, "dist", "wafsync.mjs")],
  folder,
  environment: { ...process.env, WAFSYNC_API_KEY: key },
  signal: interrupted.signal,
  stepTimeoutMs,
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => interrupted.abort());

/** A ConfigMap with generated addresses from the documentation range, and the rule that blocks them. */
function addressList(name: string, group: string, count: number): string {
  const addresses = Array.from({ length: count }, (_, index) => `    2001:db8:${group}::${(index + 1).toString(16)}`);
  return `apiVersion: v1
kind: ConfigMap
metadata: { name: ${name}, namespace: shop }
data:
  addresses.txt: |
${addresses.join("\n")}
---
apiVersion: wafsync.dev/v1alpha1
kind: WafIpRule
metadata: { name: ${name}, namespace: shop }
spec:
  instanceRef: { name: shop }
  action: Block
  addressesFrom:
    - configMapKeyRef: { name: ${name}, key: addresses.txt }
`;
}

const urgentRule = `apiVersion: wafsync.dev/v1alpha1
kind: WafIpRule
metadata: { name: urgent, namespace: shop }
spec:
  instanceRef: { name: shop }
  action: Block
  priority: 100
  description: Attacks the login right now
  addresses: [${urgentAddress}]
`;

function path(file: string): string {
  return join(folder, "waf", file);
}

async function edit(file: string, from: string, to: string): Promise<void> {
  const text = await readFile(path(file), "utf8");
  if (!text.includes(from)) throw new DemoFailure(`examples/directory/${file} does not contain ${from}`);
  await writeFile(path(file), text.replaceAll(from, to));
}

async function startSimulator(): Promise<{ readonly baseUrl: string; readonly control: SimulatorControl }> {
  stage.step(
    "Start a simulated WAF",
    `The demo uses a simulator of the WAF's API instead of a real WAF. The simulator is strict: it rejects simultaneous requests, and each request takes ${latencyMs} ms. The API has no bulk call, so 300 addresses take 300 calls.`,
  );
  const simulator = stage.start(
    [
      "simulator",
      "--port",
      "0",
      "--control-port",
      "0",
      "--latency",
      `${latencyMs}`,
      "--log-rows",
      `${blockedRequests}`,
    ],
    true,
  );
  const baseUrl = (await simulator.line(/^WAF API +(\S+)$/))[1] ?? "";
  const control = new SimulatorControl((await simulator.line(/^Control +(\S+)$/))[1] ?? "");
  await simulator.line(/^API key/);
  await cp(join(root, "examples", "directory"), path("."), { recursive: true });
  await edit("waf.yaml", "http://127.0.0.1:8080", baseUrl);
  await edit("waf.yaml", "resyncInterval: 5m", "resyncInterval: 1s");
  await mkdir(path("."), { recursive: true });
  await writeFile(path("botnet.yaml"), addressList("botnet", "b07", botnetSize));
  return { baseUrl, control };
}

async function plan(control: SimulatorControl): Promise<void> {
  stage.step(
    "Show the plan",
    `The folder waf/ contains examples/directory and a list of ${botnetSize} generated addresses. The plan shows the calls, their order, and the rules that cause them. It changes nothing, so you can show it on a pull request.`,
  );
  await stage.run(["plan", "-f", "waf", ...directoryOptions], 1);
  const { counters } = await control.state();
  const reads = Object.entries(counters.byEndpoint).filter(([endpoint]) => endpoint.startsWith("GET "));
  stage.check(
    reads.length === Object.keys(counters.byEndpoint).length,
    `the plan made ${counters.requests} calls, all of them reads`,
  );
}

async function apply(control: SimulatorControl): Promise<WafState> {
  stage.step(
    "Apply the plan",
    "wafsync makes one call after another, for urgent rules first. Before it adds an entry, it records the entry as managed, so it never removes entries that another writer added.",
  );
  await stage.run(["apply", "-f", "waf", ...directoryOptions], 0);
  const state = await control.state();
  const adds = state.counters.byEndpoint["POST /api/blocklist_ip"] ?? 0;
  stage.check(
    state.blocklist.length >= botnetSize && adds === state.blocklist.length,
    `${adds} calls blocked ${state.blocklist.length} addresses`,
  );
  return state;
}

/** Another writer edits the list while wafsync runs. */
async function correctDrift(control: SimulatorControl, { blocklist }: WafState): Promise<void> {
  const removed = blocklist.slice(0, 2);
  stage.act(`Another writer unblocks ${removed.join(" and ")}, and blocks ${foreignAddress}.`);
  await control.edit("remove", removed);
  await control.edit("add", [foreignAddress]);
  const state = await stage.until("the correction", async () => {
    const state = await control.state();
    return removed.every((entry) => state.blocklist.includes(entry)) ? state : undefined;
  });
  await stage.until("the end of the reconcile run", async () => {
    const { blocklist } = await control.state();
    return blocklist.length === state.blocklist.length ? true : undefined;
  });
  stage.check(
    state.blocklist.includes(foreignAddress),
    `both are blocked again; ${foreignAddress} is unmanaged and stays`,
  );
}

async function overtake(control: SimulatorControl, { blocklist }: WafState): Promise<void> {
  await control.setLatency(slowLatencyMs);
  stage.act(`A list of ${secondWaveSize} more addresses is added to the folder.`);
  await writeFile(path("second-wave.yaml"), addressList("second-wave", "b08", secondWaveSize));
  const inSecondWave = (state: WafState): number =>
    state.blocklist.filter((entry) => entry.startsWith("2001:db8:b08::")).length;
  await stage.until("the second wave", async () =>
    inSecondWave(await control.state()) >= urgentAfter ? true : undefined,
  );
  stage.act(`When ${urgentAfter} of them are blocked, urgent.yaml is added: block ${urgentAddress}, priority 100.`);
  const droppedAtMs = Date.now();
  await writeFile(path("urgent.yaml"), urgentRule);
  const state = await stage.until("the urgent address", async () => {
    const state = await control.state();
    return state.blocklist.includes(urgentAddress) ? state : undefined;
  });
  const later = (await control.requests(secondWaveSize)).filter(({ timeMs }) => timeMs >= droppedAtMs);
  const place = later.findIndex(({ parameters }) => parameters["ip"] === urgentAddress);
  const waiting = secondWaveSize - inSecondWave(state);
  stage.check(
    place >= 0 && waiting > 0,
    `blocked after ${(later[place]?.timeMs ?? 0) - droppedAtMs + slowLatencyMs} ms, after ${place === 1 ? "1 other call" : `${place} other calls`}; ${waiting} addresses were still waiting`,
  );
  const expected = blocklist.length + 1 + secondWaveSize + 1;
  await stage.until("the rest", async () => ((await control.state()).blocklist.length === expected ? true : undefined));
  await control.setLatency(latencyMs);
}

async function keep(control: SimulatorControl, before: WafState): Promise<void> {
  stage.step(
    "Keep the declared state",
    "wafsync watches the folder and reads the lists regularly, every second in this demo. It corrects and reports changes by other writers to declared entries. It does not touch entries that other writers add.",
  );
  const run = stage.start(["run", "--from", "waf", ...directoryOptions], true);
  await run.line(/blocklist \d+ \(/);
  await correctDrift(control, before);
  await run.line(/DriftDetected/);
  await run.line(/1 unmanaged/);

  stage.step(
    "Block an urgent address first",
    "An attack does not wait until a long list has been applied: before each call, wafsync checks whether another entry is more urgent.",
  );
  await overtake(control, before);
  await run.line(new RegExp(`second-wave +${secondWaveSize}/${secondWaveSize}`));
  await run.line(/urgent +1\/1/);

  const from = ["-f", "waf", ...directoryOptions];
  await attackWave({ stage, control, run, file: path("attackers.yaml"), from });

  stage.step(
    "Clear the cache",
    "A WafCacheClear is a job: it clears the cache once for each new value of its trigger, for example the name of a release. A pipeline can also clear the cache with a command.",
  );
  stage.act("The trigger in cache-clear.yaml changes to release-2.");
  const { cacheClears } = (await control.state()).counters;
  await edit("cache-clear.yaml", "release-1", "release-2");
  await stage.until("the clear", async () =>
    (await control.state()).counters.cacheClears === cacheClears + 1 ? true : undefined,
  );
  await run.line(/after-release +release-2/);
  stage.check(cacheClears === 1, "the cache was cleared once for release-1, and once for release-2");
  stage.act("Ctrl-C stops `wafsync run`.");
  const stoppedAtMs = performance.now();
  const exitCode = await run.stop("SIGINT");
  const tookMs = performance.now() - stoppedAtMs;
  stage.check(exitCode === 0 && tookMs < 2_000, `it stopped within ${Math.ceil(tookMs)} ms`);
  if (run.lines.some((line) => line.includes(key))) throw new DemoFailure("the API key was printed");
}

async function clearByCommand(baseUrl: string, control: SimulatorControl): Promise<void> {
  const { cacheClears } = (await control.state()).counters;
  const parameters = ["clear-cache", "--base-url", baseUrl];
  await stage.run([...parameters, ...directoryOptions], 0);
  const after = (await control.state()).counters.cacheClears;
  stage.check(
    after === cacheClears + 1,
    "the cache was cleared once more, with the key from the environment variable WAFSYNC_API_KEY",
  );
}

async function removeOurs(control: SimulatorControl): Promise<void> {
  stage.step(
    "Remove only managed entries",
    "Removals are dangerous, so guards check them: the inventory must record that wafsync added the entry, every file must be readable, and a plan must not contain too many removals. Entries of other writers stay.",
  );
  stage.act("The attack is over: urgent.yaml is deleted.");
  await rm(path("urgent.yaml"));
  await stage.run(["plan", "-f", "waf", ...directoryOptions], 1);
  await stage.run(["apply", "-f", "waf", ...directoryOptions], 0);
  const { blocklist, counters } = await control.state();
  const deletions = counters.byEndpoint["DELETE /api/blocklist_ip"];
  stage.check(
    deletions === 1 && !blocklist.includes(urgentAddress) && blocklist.includes(foreignAddress),
    `one call removed ${urgentAddress}; ${foreignAddress} is still on the list`,
  );
}

async function tellBlocked(): Promise<void> {
  stage.step(
    "Read the logs of blocked requests",
    "The WAF logs every request that it blocks. `wafsync logs` writes these logs to a file, a terminal or a pipe. `wafsync report` creates a page about them, with a proposed rule for the worst clients.",
  );
  // This day has ended, so no row can be late.
  await stage.run(
    ["logs", "-f", "waf", ...directoryOptions, "--since", "2d", "--until", "2d", "--out", "blocked.ndjson"],
    0,
  );
  const lines = (await readFile(join(folder, "blocked.ndjson"), "utf8")).trimEnd().split("\n");
  const rows = lines.map((line) => JSON.parse(line) as { block_reason: string; request_path: string });
  const byReason = Object.entries(Object.groupBy(rows, ({ block_reason }) => block_reason))
    .map(([reason, rows = []]) => ({ reason, count: rows.length, example: rows[0]?.request_path ?? "" }))
    .sort((a, b) => b.count - a.count);
  stage.table(
    byReason
      .slice(0, reasonsShown)
      .map(({ reason, count, example }) => [reason, `${count}, for example ${example}`] as const),
  );
  stage.check(
    rows.length === blockedRequests,
    `the file contains ${rows.length} blocked requests of one day, with ${byReason.length} reasons`,
  );
}

async function sumUp(control: SimulatorControl): Promise<void> {
  stage.step("Compare with the WAF", "The simulator has its own state and counters, which confirm the result.");
  await stage.run(["plan", "-f", "waf", ...directoryOptions], 0);
  const { blocklist, allowlist, origins, counters, overlaps } = await control.state();
  const writes = Object.entries(counters.byEndpoint).filter(([endpoint]) => !endpoint.startsWith("GET "));
  const written = writes.reduce((sum, [, count]) => sum + count, 0);
  const rows: readonly (readonly [string, string])[] = [
    ["blocklist", `${blocklist.length} entries, 1 of them unmanaged`],
    ["allowlist", `${allowlist.length} entries`],
    ["origins", origins.map(({ host, type }) => `${host} (${type})`).join(", ")],
    ["cache clears", `${counters.cacheClears}`],
    ["calls", `${counters.requests}: ${written} writes, ${counters.requests - written} reads`],
    ["rejected", `${counters.refusals}`],
    ["overlapping", `${overlaps}`],
  ];
  stage.table(rows);
  stage.check(overlaps === 0 && counters.refusals === 0, "requests never overlapped, and the API rejected none");
}

async function story(): Promise<void> {
  console.log(`\n${colour("bold", "wafsync")} keeps a hosted web application firewall in the state that you declare.`);
  console.log("This demo takes about 20 seconds. Everything runs on this machine.");
  const { baseUrl, control } = await startSimulator();
  await plan(control);
  const applied = await apply(control);
  await keep(control, applied);
  await clearByCommand(baseUrl, control);
  await removeOurs(control);
  await sumUp(control);
  await tellBlocked();
  const seconds = ((performance.now() - startedAtMs) / 1000).toFixed(0);
  console.log(`\n${colour(["bold", "green"], `Done in ${seconds} s.`)} To continue, see docs/tutorial.md.\n`);
}

try {
  await story();
} catch (error) {
  if (interrupted.signal.aborted) {
    process.exitCode = 130;
    console.error("\nInterrupted.");
  } else {
    process.exitCode = 1;
    const text = error instanceof DemoFailure ? error.message : String((error as Error).stack);
    console.error(`\n${colour(["bold", "red"], "The demo failed:")} ${text}`);
  }
} finally {
  await stage.close();
  await rm(folder, { recursive: true, force: true, maxRetries: 3 });
}
