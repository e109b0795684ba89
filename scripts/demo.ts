// `npm run demo`: shows wafsync in one story on one terminal. It is also a test: each step is checked against the state of the
// simulator, and the exit code is 0 only if all checks pass. To run another program than the built one, pass it as an argument:
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
/** Blocked by another writer. */
const foreignAddress = "198.51.100.254";
const urgentAddress = "203.0.113.66";
/** The urgent rule is added when this many addresses of the second wave are on the list. */
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

/** A ConfigMap with generated addresses of the documentation range, and a rule that blocks them. */
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
  description: Attacks the login page
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
    "A simulated WAF",
    `The demo uses a simulator of the WAF's API instead of a real WAF. Like the API, it rejects concurrent requests and has no bulk call, so 300 addresses need 300 calls. Each call takes ${latencyMs} ms.`,
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
    "The plan",
    `The folder waf/ contains the files of examples/directory and a list of ${botnetSize} generated addresses. The plan shows which calls would be made, in which order, and for which rule. It writes nothing, so you can show it in a pull request.`,
  );
  await stage.run(["plan", "-f", "waf", ...directoryOptions], 1);
  const { counters } = await control.state();
  const reads = Object.entries(counters.byEndpoint).filter(([endpoint]) => endpoint.startsWith("GET "));
  stage.check(
    reads.length === Object.keys(counters.byEndpoint).length,
    `${counters.requests} calls, all of them reads`,
  );
}

async function apply(control: SimulatorControl): Promise<WafState> {
  stage.step(
    "Apply",
    "wafsync makes one call at a time and starts with the most urgent rules. Each entry is recorded as managed before it is added, so wafsync never removes an entry that another writer added.",
  );
  await stage.run(["apply", "-f", "waf", ...directoryOptions], 0);
  const state = await control.state();
  const adds = state.counters.byEndpoint["POST /api/blocklist_ip"] ?? 0;
  stage.check(
    state.blocklist.length >= botnetSize && adds === state.blocklist.length,
    `${state.blocklist.length} addresses are blocked, with exactly ${adds} calls`,
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
  stage.act(`After ${urgentAfter} of them are blocked, urgent.yaml is added: block ${urgentAddress}, priority 100.`);
  const addedAtMs = Date.now();
  await writeFile(path("urgent.yaml"), urgentRule);
  const state = await stage.until("the urgent address", async () => {
    const state = await control.state();
    return state.blocklist.includes(urgentAddress) ? state : undefined;
  });
  const later = (await control.requests(secondWaveSize)).filter(({ timeMs }) => timeMs >= addedAtMs);
  const place = later.findIndex(({ parameters }) => parameters["ip"] === urgentAddress);
  const waiting = secondWaveSize - inSecondWave(state);
  stage.check(
    place >= 0 && waiting > 0,
    `blocked after ${(later[place]?.timeMs ?? 0) - addedAtMs + slowLatencyMs} ms: ${place === 1 ? "1 other call" : `${place} other calls`} came first, and ${waiting} addresses were still waiting`,
  );
  const expected = blocklist.length + 1 + secondWaveSize + 1;
  await stage.until("the rest", async () => ((await control.state()).blocklist.length === expected ? true : undefined));
  await control.setLatency(latencyMs);
}

async function keep(control: SimulatorControl, before: WafState): Promise<void> {
  stage.step(
    "Keep the declared state",
    "wafsync watches the folder and reads the lists periodically, here every second. It reports and corrects changes that contradict the declared state. Entries that other writers add stay on the list.",
  );
  const run = stage.start(["run", "--from", "waf", ...directoryOptions], true);
  await run.line(/blocklist \d+ \(/);
  await correctDrift(control, before);
  await run.line(/DriftDetected/);
  await run.line(/1 unmanaged/);

  stage.step(
    "An urgent address goes first",
    "An urgent address must not wait until a long list has been written. Before each call, wafsync checks which entry is the most urgent.",
  );
  await overtake(control, before);
  await run.line(new RegExp(`second-wave +${secondWaveSize}/${secondWaveSize}`));
  await run.line(/urgent +1\/1/);

  const from = ["-f", "waf", ...directoryOptions];
  await attackWave({ stage, control, run, file: path("attackers.yaml"), from });

  stage.step(
    "Clear the cache",
    "A WafCacheClear works like a Job: it clears the cache once for each new value of its trigger, for example a release name. A pipeline can also run a command.",
  );
  stage.act("The trigger in cache-clear.yaml is changed to release-2.");
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
    "the cache was cleared once more, with the key in the environment variable WAFSYNC_API_KEY",
  );
}

async function removeManaged(control: SimulatorControl): Promise<void> {
  stage.step(
    "Remove only managed entries",
    "Guards protect against wrong removals: the inventory must record the entry as managed, every file must be readable, and a plan must not remove too many entries. Entries of other writers stay.",
  );
  stage.act("The attack has ended: urgent.yaml is deleted.");
  await rm(path("urgent.yaml"));
  await stage.run(["plan", "-f", "waf", ...directoryOptions], 1);
  await stage.run(["apply", "-f", "waf", ...directoryOptions], 0);
  const { blocklist, counters } = await control.state();
  const deletions = counters.byEndpoint["DELETE /api/blocklist_ip"];
  stage.check(
    deletions === 1 && !blocklist.includes(urgentAddress) && blocklist.includes(foreignAddress),
    `${urgentAddress} was removed with one call; ${foreignAddress} is still on the list`,
  );
}

async function showBlocked(): Promise<void> {
  stage.step(
    "Blocked requests",
    "The WAF logs every request that it blocks. `wafsync logs` prints these requests or writes them to a file. `wafsync report` writes an HTML page about them, with a rule to copy that blocks the top clients.",
  );
  // A past day, so that no row can be late.
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
    `${rows.length} blocked requests on one day, with ${byReason.length} reasons`,
  );
}

async function sumUp(control: SimulatorControl): Promise<void> {
  stage.step("The state of the WAF", "Finally, the state and the counters of the simulator show what happened.");
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
  stage.check(overlaps === 0 && counters.refusals === 0, "no concurrent requests, and no rejected ones");
}

async function story(): Promise<void> {
  console.log(`\n${colour("bold", "wafsync")} keeps a hosted web application firewall in the state that you declare.`);
  console.log("This demo takes about 20 seconds, and runs only on this machine.");
  const { baseUrl, control } = await startSimulator();
  await plan(control);
  const applied = await apply(control);
  await keep(control, applied);
  await clearByCommand(baseUrl, control);
  await removeManaged(control);
  await sumUp(control);
  await showBlocked();
  const seconds = ((performance.now() - startedAtMs) / 1000).toFixed(0);
  console.log(`\n${colour(["bold", "green"], `Done in ${seconds} s.`)} To try it yourself, see docs/tutorial.md.\n`);
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
