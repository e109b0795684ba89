// `npm run demo`: wafsync in one story on one terminal. It is a test too: each step is checked against the state of the
// simulator, and the exit code is 0 only if all of them came out as told. Parameters are another program than the built one:
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
/** Of each day. */
const blockedRequests = 200;
const botnetSize = 300;
const secondWaveSize = 200;
/** Blocked by somebody else. */
const foreignAddress = "198.51.100.254";
const urgentAddress = "203.0.113.66";
/** The urgent rule comes when so many of the second wave are on the list. */
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

/** A ConfigMap with generated addresses of the documentation range, and the rule that blocks them. */
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
  if (!text.includes(from)) throw new DemoFailure(`examples/directory/${file} does not say ${from}`);
  await writeFile(path(file), text.replaceAll(from, to));
}

async function startSimulator(): Promise<{ readonly baseUrl: string; readonly control: SimulatorControl }> {
  stage.step(
    "A WAF to work on",
    `A simulator of the WAF's API, since a demo must not touch a real one. It is strict: two requests at a time are refused, and each takes ${latencyMs} ms. There is no bulk call, so 300 addresses are 300 calls.`,
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
    `The folder waf/ holds examples/directory and a list of ${botnetSize} generated addresses. The plan says what would be called, in which order, and for whose sake. It writes nothing: good for a pull request.`,
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
    "One call after another, urgent rules first. Each entry is recorded as wafsync's own before it is added, so that later nothing is removed that somebody else has put there.",
  );
  await stage.run(["apply", "-f", "waf", ...directoryOptions], 0);
  const state = await control.state();
  const adds = state.counters.byEndpoint["POST /api/blocklist_ip"] ?? 0;
  stage.check(
    state.blocklist.length >= botnetSize && adds === state.blocklist.length,
    `${state.blocklist.length} addresses blocked by exactly ${adds} calls`,
  );
  return state;
}

/** Somebody else edits the list while wafsync runs. */
async function correctDrift(control: SimulatorControl, { blocklist }: WafState): Promise<void> {
  const removed = blocklist.slice(0, 2);
  stage.act(`Somebody unblocks ${removed.join(" and ")} by hand, and blocks ${foreignAddress}.`);
  await control.edit("remove", removed);
  await control.edit("add", [foreignAddress]);
  const state = await stage.until("the correction", async () => {
    const state = await control.state();
    return removed.every((entry) => state.blocklist.includes(entry)) ? state : undefined;
  });
  await stage.until("the end of the pass", async () => {
    const { blocklist } = await control.state();
    return blocklist.length === state.blocklist.length ? true : undefined;
  });
  stage.check(
    state.blocklist.includes(foreignAddress),
    `both are blocked again; ${foreignAddress} is not ours and stays`,
  );
}

async function overtake(control: SimulatorControl, { blocklist }: WafState): Promise<void> {
  await control.setLatency(slowLatencyMs);
  stage.act(`A list of ${secondWaveSize} further addresses appears in the folder.`);
  await writeFile(path("second-wave.yaml"), addressList("second-wave", "b08", secondWaveSize));
  const inSecondWave = (state: WafState): number =>
    state.blocklist.filter((entry) => entry.startsWith("2001:db8:b08::")).length;
  await stage.until("the second wave", async () =>
    inSecondWave(await control.state()) >= urgentAfter ? true : undefined,
  );
  stage.act(`With ${urgentAfter} of them done, urgent.yaml is dropped: block ${urgentAddress}, priority 100.`);
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
    `blocked ${(later[place]?.timeMs ?? 0) - droppedAtMs + slowLatencyMs} ms later: ${place === 1 ? "1 other call" : `${place} other calls`} came before it, ${waiting} addresses still waited`,
  );
  const expected = blocklist.length + 1 + secondWaveSize + 1;
  await stage.until("the rest", async () => ((await control.state()).blocklist.length === expected ? true : undefined));
  await control.setLatency(latencyMs);
}

async function keep(control: SimulatorControl, before: WafState): Promise<void> {
  stage.step(
    "Keep it so",
    "wafsync follows the folder and reads the lists again and again (here every second): what others change against the declared state is corrected, and said. What they add of their own is left alone.",
  );
  const run = stage.start(["run", "--from", "waf", ...directoryOptions], true);
  await run.line(/blocklist \d+ \(/);
  await correctDrift(control, before);
  await run.line(/DriftDetected/);
  await run.line(/1 unmanaged/);

  stage.step(
    "An urgent address overtakes",
    "An attack does not wait for a long list to be loaded: before each call wafsync looks for what is more urgent now.",
  );
  await overtake(control, before);
  await run.line(new RegExp(`second-wave +${secondWaveSize}/${secondWaveSize}`));
  await run.line(/urgent +1\/1/);

  const from = ["-f", "waf", ...directoryOptions];
  await attackWave({ stage, control, run, file: path("attackers.yaml"), from });

  stage.step(
    "Clear the cache",
    "A WafCacheClear is a job: the cache is cleared once for each new value of its trigger, for example the release that was rolled out. A pipeline can also do it by a command.",
  );
  stage.act("The trigger in cache-clear.yaml becomes release-2.");
  const { cacheClears } = (await control.state()).counters;
  await edit("cache-clear.yaml", "release-1", "release-2");
  await stage.until("the clear", async () =>
    (await control.state()).counters.cacheClears === cacheClears + 1 ? true : undefined,
  );
  await run.line(/after-release +release-2/);
  stage.check(cacheClears === 1, "cleared once for release-1, and once for release-2");
  stage.act("Ctrl-C for `wafsync run`.");
  const stoppedAtMs = performance.now();
  const exitCode = await run.stop("SIGINT");
  const tookMs = performance.now() - stoppedAtMs;
  stage.check(exitCode === 0 && tookMs < 2_000, `ended within ${Math.ceil(tookMs)} ms`);
  if (run.lines.some((line) => line.includes(key))) throw new DemoFailure("the API key was printed");
}

async function clearByCommand(baseUrl: string, control: SimulatorControl): Promise<void> {
  const { cacheClears } = (await control.state()).counters;
  const parameters = ["clear-cache", "--base-url", baseUrl];
  await stage.run([...parameters, ...directoryOptions], 0);
  const after = (await control.state()).counters.cacheClears;
  stage.check(
    after === cacheClears + 1,
    "cleared once more; the key came from the environment variable WAFSYNC_API_KEY",
  );
}

async function removeOurs(control: SimulatorControl): Promise<void> {
  stage.step(
    "Only what is ours goes",
    "A removal is what can hurt, so it passes guards: the inventory must say that wafsync added the entry, every file must be readable, and there must not be too many at once. Somebody else's entry stays.",
  );
  stage.act("The attack is over: urgent.yaml is deleted.");
  await rm(path("urgent.yaml"));
  await stage.run(["plan", "-f", "waf", ...directoryOptions], 1);
  await stage.run(["apply", "-f", "waf", ...directoryOptions], 0);
  const { blocklist, counters } = await control.state();
  const deletions = counters.byEndpoint["DELETE /api/blocklist_ip"];
  stage.check(
    deletions === 1 && !blocklist.includes(urgentAddress) && blocklist.includes(foreignAddress),
    `${urgentAddress} is off the list by one call; ${foreignAddress} is still there`,
  );
}

async function tellBlocked(): Promise<void> {
  stage.step(
    "What was blocked",
    "The WAF logs every request that it blocks. wafsync logs writes them to a file, a terminal or a pipe; wafsync report makes a page of them, with a rule to copy for the worst clients.",
  );
  // A day that is over, so that no row can be late.
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
    `${rows.length} blocked requests of one day, for ${byReason.length} reasons`,
  );
}

async function sumUp(control: SimulatorControl): Promise<void> {
  stage.step("What the WAF says", "The last word has the simulator, with a state and counters of its own.");
  await stage.run(["plan", "-f", "waf", ...directoryOptions], 0);
  const { blocklist, allowlist, origins, counters, overlaps } = await control.state();
  const writes = Object.entries(counters.byEndpoint).filter(([endpoint]) => !endpoint.startsWith("GET "));
  const written = writes.reduce((sum, [, count]) => sum + count, 0);
  const rows: readonly (readonly [string, string])[] = [
    ["blocklist", `${blocklist.length} entries, 1 of them somebody else's`],
    ["allowlist", `${allowlist.length} entries`],
    ["origins", origins.map(({ host, type }) => `${host} (${type})`).join(", ")],
    ["cache clears", `${counters.cacheClears}`],
    ["calls", `${counters.requests}: ${written} writes, ${counters.requests - written} reads`],
    ["refused", `${counters.refusals}`],
    ["overlapping", `${overlaps}`],
  ];
  stage.table(rows);
  stage.check(overlaps === 0 && counters.refusals === 0, "never two requests at a time, and none that the API refused");
}

async function story(): Promise<void> {
  console.log(`\n${colour("bold", "wafsync")} keeps a hosted web application firewall in the state that you declare.`);
  console.log("This demo takes about 20 seconds and ends by itself. All of it runs on this machine.");
  const { baseUrl, control } = await startSimulator();
  await plan(control);
  const applied = await apply(control);
  await keep(control, applied);
  await clearByCommand(baseUrl, control);
  await removeOurs(control);
  await sumUp(control);
  await tellBlocked();
  const seconds = ((performance.now() - startedAtMs) / 1000).toFixed(0);
  console.log(`\n${colour(["bold", "green"], `Done in ${seconds} s.`)} On your own: docs/tutorial.md\n`);
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
