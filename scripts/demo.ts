// `npm run demo`: shows wafsync in one story on one terminal. It is also a test: each step is checked against the state of the
// simulator, and the exit code is 0 only if all checks pass. To run another program than the built one, pass it as an argument:
// `node scripts/demo.ts /usr/local/bin/wafsync`.
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeLogEntry } from "../src/simulator/log-entries.ts";
import { describeSimulator, startSimulator } from "../src/simulator/start-simulator.ts";
import { type BackgroundProcess, DemoFailure, Stage, colour } from "./demo/stage.ts";

const root = join(import.meta.dirname, "..");
const key = "demo-key-0123456789";
const stepTimeoutMs = 20_000;
const latencyMs = 8;
const slowLatencyMs = 15;
/** Per day. */
const blockedRequests = 200;
const botnetSize = 300;
const secondWaveSize = 200;
/** Blocked by another writer. */
const foreignAddress = "198.51.100.254";
const urgentAddress = "203.0.113.66";
const attacker = "203.0.113.99";
/** `guards.neverBlock` of the example protects it. */
const office = "203.0.113.5";
const attackRequests = 60;
/** The urgent rule is added when this many addresses of the second wave are on the list. */
const urgentAfter = 40;
const insecure = "--allow-insecure-http";
const from = ["-f", "waf", insecure];

const startedAtMs = performance.now();
const interrupted = new AbortController();
const folder = await mkdtemp(join(tmpdir(), "wafsync-demo-"));
const simulator = await startSimulator({
  keys: [{ key, domain: "www.example.com" }],
  latencyMs,
  logRowsPerDay: blockedRequests,
});
const waf = simulator.waf(key);
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

async function prepare(): Promise<void> {
  stage.step(
    "A simulated WAF",
    `The demo uses a simulator of the WAF's API instead of a real WAF. Like the API, it rejects concurrent requests and has no bulk call, so 300 addresses need 300 calls. Each call takes ${latencyMs} ms.`,
  );
  console.log(describeSimulator(simulator).join("\n"));
  await cp(join(root, "examples", "directory"), path("."), { recursive: true });
  await edit("waf.yaml", "http://127.0.0.1:8080", simulator.baseUrl);
  await edit("waf.yaml", "resyncInterval: 5m", "resyncInterval: 1s");
  await writeFile(path("botnet.yaml"), addressList("botnet", "b07", botnetSize));
}

async function plan(): Promise<void> {
  stage.step(
    "The plan",
    `The folder waf/ contains the files of examples/directory and a list of ${botnetSize} generated addresses. The plan shows which calls would be made, in which order, and for which rule. It writes nothing, so you can show it in a pull request.`,
  );
  await stage.run(["plan", ...from], 1);
  const { counters } = waf;
  const reads = Object.entries(counters.byEndpoint).filter(([endpoint]) => endpoint.startsWith("GET "));
  stage.check(
    reads.length === Object.keys(counters.byEndpoint).length,
    `${counters.requests} calls, all of them reads`,
  );
}

async function apply(): Promise<void> {
  stage.step(
    "Apply",
    "wafsync makes one call at a time and starts with the most urgent rules. Each entry is recorded as managed before it is added, so wafsync never removes an entry that another writer added.",
  );
  await stage.run(["apply", ...from], 0);
  const adds = waf.requestCount("POST /api/blocklist_ip");
  stage.check(
    waf.blocklist.length >= botnetSize && adds === waf.blocklist.length,
    `${waf.blocklist.length} addresses are blocked, with exactly ${adds} calls`,
  );
}

/** Another writer edits the list while wafsync runs. */
async function correctDrift(): Promise<void> {
  const { length } = waf.blocklist;
  const removed = waf.blocklist.slice(0, 2);
  stage.act(`Another writer unblocks ${removed.join(" and ")}, and blocks ${foreignAddress}.`);
  waf.remove("blocklist", removed);
  waf.add("blocklist", [foreignAddress]);
  await stage.until("the correction", () => removed.every((entry) => waf.has("blocklist", entry)));
  stage.check(
    waf.has("blocklist", foreignAddress) && waf.blocklist.length === length + 1,
    `both are blocked again; ${foreignAddress} is unmanaged and stays`,
  );
}

async function overtake(): Promise<void> {
  simulator.settings.latencyMs = slowLatencyMs;
  const expected = waf.blocklist.length + secondWaveSize + 1;
  stage.act(`A list of ${secondWaveSize} more addresses is added to the folder.`);
  await writeFile(path("second-wave.yaml"), addressList("second-wave", "b08", secondWaveSize));
  const inSecondWave = () => waf.blocklist.filter((entry) => entry.startsWith("2001:db8:b08::")).length;
  await stage.until("the second wave", () => inSecondWave() >= urgentAfter);
  stage.act(`After ${urgentAfter} of them are blocked, urgent.yaml is added: block ${urgentAddress}, priority 100.`);
  const addedAtMs = Date.now();
  await writeFile(path("urgent.yaml"), urgentRule);
  await stage.until("the urgent address", () => waf.has("blocklist", urgentAddress));
  const waiting = secondWaveSize - inSecondWave();
  const later = waf.requests.filter(({ timeMs }) => timeMs >= addedAtMs);
  const place = later.findIndex(({ parameters }) => parameters["ip"] === urgentAddress);
  stage.check(
    place >= 0 && waiting > 0,
    `blocked after ${(later[place]?.timeMs ?? 0) - addedAtMs + slowLatencyMs} ms: ${place === 1 ? "1 other call" : `${place} other calls`} came first, and ${waiting} addresses were still waiting`,
  );
  await stage.until("the rest", () => waf.blocklist.length === expected);
  simulator.settings.latencyMs = latencyMs;
}

function autoBlock(mode: "Suggest" | "Enforce"): string {
  return `apiVersion: wafsync.dev/v1alpha1
kind: WafAutoBlock
metadata: { name: attackers, namespace: shop }
spec:
  instanceRef: { name: shop }
  mode: ${mode}
  match: { reasons: [sql] }
  threshold: 50
  window: 5m
`;
}

async function blockAttackers(run: BackgroundProcess): Promise<void> {
  stage.step(
    "Block attackers from the log",
    "The WAF logs the requests that it blocks. A WafAutoBlock reads this log and suggests which clients to block. In the mode Enforce it blocks them for a limited time, which grows with each repetition. Allowed and protected addresses are exempt.",
  );
  stage.act(
    `${attacker} and ${office} send ${attackRequests} attacks each. spec.guards.neverBlock protects ${office}.`,
  );
  const row = makeLogEntry({ seed: 1, day: 1, rowCount: 1, lateMsMax: 0 }, 0);
  for (let index = 0; index < attackRequests; index += 1) {
    const timestamp = new Date(Date.now() - index * 1_000).toISOString();
    for (const client_ip of [attacker, office])
      waf.logs.add({ ...row, timestamp, client_ip, block_reason: "SQL Injection 942100" }, 0);
  }
  await writeFile(path("attackers.yaml"), autoBlock("Suggest"));
  await run.line(/Suggests blocking 1 client: 203\.0\.113\.99\./);
  stage.check(!waf.has("blocklist", attacker), "the client is suggested, and not blocked");
  stage.act("The mode in attackers.yaml is changed to Enforce.");
  await writeFile(path("attackers.yaml"), autoBlock("Enforce"));
  await stage.until("the block", () => waf.has("blocklist", attacker));
  await run.line(/Added 1 entry for WafAutoBlock/);
  stage.check(!waf.has("blocklist", office), `${attacker} is blocked for an hour; ${office} is not`);
  await stage.run(["why", attacker, ...from], 0);
}

async function keep(): Promise<void> {
  stage.step(
    "Keep the declared state",
    "wafsync watches the folder and reads the lists periodically, here every second. It reports and corrects changes that contradict the declared state. Entries that other writers add stay on the list.",
  );
  const run = stage.start(["run", "--from", "waf", insecure]);
  await run.line(/blocklist \d+ \(/);
  await correctDrift();
  await run.line(/DriftDetected/);
  await run.line(/1 unmanaged/);

  stage.step(
    "An urgent address goes first",
    "An urgent address must not wait until a long list has been written. Before each call, wafsync checks which entry is the most urgent.",
  );
  await overtake();
  await run.line(new RegExp(`Added ${secondWaveSize} entries for WafIpRule shop/second-wave`));
  await run.line(/Added 1 entry for WafIpRule shop\/urgent/);
  await blockAttackers(run);

  stage.step(
    "Clear the cache",
    "A WafCacheClear works like a Job: it clears the cache once for each new value of its trigger, for example a release name. A pipeline can also run a command.",
  );
  stage.act("The trigger in cache-clear.yaml is changed to release-2.");
  const { cacheClears } = waf.counters;
  await edit("cache-clear.yaml", "release-1", "release-2");
  await run.line(/WafCacheClear shop\/after-release +CacheCleared/);
  stage.check(
    cacheClears === 1 && waf.counters.cacheClears === 2,
    "the cache was cleared once for release-1, and once for release-2",
  );
  stage.act("Ctrl-C stops `wafsync run`.");
  const stoppedAtMs = performance.now();
  const exitCode = await run.stop("SIGINT");
  const tookMs = performance.now() - stoppedAtMs;
  stage.check(exitCode === 0 && tookMs < 2_000, `it stopped within ${Math.ceil(tookMs)} ms`);
  if (run.lines.some((line) => line.includes(key))) throw new DemoFailure("the API key was printed");
  await stage.run(["clear-cache", "--base-url", simulator.baseUrl, insecure], 0);
  stage.check(waf.counters.cacheClears === 3, "the cache was cleared once more, with the key in WAFSYNC_API_KEY");
}

async function removeManaged(): Promise<void> {
  stage.step(
    "Remove only managed entries",
    "Guards protect against wrong removals: the inventory must record the entry as managed, every file must be readable, and a plan must not remove too many entries. Entries of other writers stay.",
  );
  stage.act("The attack has ended: urgent.yaml is deleted.");
  await rm(path("urgent.yaml"));
  await stage.run(["plan", ...from], 1);
  await stage.run(["apply", ...from], 0);
  stage.check(
    waf.requestCount("DELETE /api/blocklist_ip") === 1 &&
      !waf.has("blocklist", urgentAddress) &&
      waf.has("blocklist", foreignAddress),
    `${urgentAddress} was removed with one call; ${foreignAddress} is still on the list`,
  );
}

async function showBlocked(): Promise<void> {
  stage.step(
    "Blocked requests",
    "The WAF logs every request that it blocks. `wafsync logs` prints these requests or writes them to a file. `wafsync report` writes an HTML page about them, with a rule to copy that blocks the top clients.",
  );
  // A past day, so that no row can be late.
  await stage.run(["logs", ...from, "--since", "2d", "--until", "2d", "--out", "blocked.ndjson"], 0);
  const lines = (await readFile(join(folder, "blocked.ndjson"), "utf8")).trimEnd().split("\n");
  stage.check(lines.length === blockedRequests, `${lines.length} blocked requests on one day`);
}

async function sumUp(): Promise<void> {
  stage.step("The state of the WAF", "Finally, the state and the counters of the simulator show what happened.");
  await stage.run(["plan", ...from], 0);
  const { blocklist, counters, flights } = waf;
  stage.table([
    ["blocklist", `${blocklist.length} entries, 1 of them unmanaged`],
    ["calls", `${counters.requests}, ${counters.changes} of them changed something`],
    ["rejected", `${counters.refusals}`],
    ["overlapping", `${flights.overlaps}`],
  ]);
  stage.check(flights.overlaps === 0 && counters.refusals === 0, "no concurrent requests, and no rejected ones");
}

async function story(): Promise<void> {
  console.log(`\n${colour("bold", "wafsync")} keeps a hosted web application firewall in the state that you declare.`);
  console.log("This demo takes about 20 seconds, and runs only on this machine.");
  await prepare();
  await plan();
  await apply();
  await keep();
  await removeManaged();
  await sumUp();
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
  await simulator.close();
  await rm(folder, { recursive: true, force: true, maxRetries: 3 });
}
