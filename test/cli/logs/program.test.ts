// Long: `npm run test:deploy` runs it.
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import type { LogEntry } from "../../../src/model/log-entry.ts";
import type { Simulator } from "../../../src/simulator/start-simulator.ts";
import { keySpellings } from "../../support/worlds/waf-folder.ts";
import { type RunningProcess, runWafsync, startWafsync } from "../../support/processes/wafsync-process.ts";
import { scratchDirectory } from "../../support/worlds/scratch-directory.ts";
import { row } from "../../support/fakes/scripted-logs.ts";
import { logKey, logWorld } from "../../support/worlds/log-world.ts";

const now = "2026-06-16T00:00:00Z";
const environment = { WAFSYNC_API_KEY: logKey };

function logs(simulator: Simulator, ...more: readonly string[]): string[] {
  return ["logs", "--base-url", simulator.baseUrl, "--allow-insecure-http", ...more];
}

const range = ["--since", "2026-05-07", "--until", "2026-06-15"];

test("a file that another download is writing is not touched, even while that download is suspended by Ctrl-Z", async () => {
  await using files = await scratchDirectory({});
  const file = join(files.path, "rows.ndjson");
  let running: RunningProcess | undefined;
  let requests = 0;
  const stopped = Promise.withResolvers<void>();
  await using world = await logWorld({
    now,
    logRowsPerDay: 500,
    onRequest: () => {
      requests += 1;
      if (requests !== 7) return;
      running?.child.kill("SIGSTOP");
      stopped.resolve();
    },
  });
  const parameters = logs(world.simulator, ...range, "--page-size", "200", "--out", file, "--resume");
  running = startWafsync(parameters, { environment });
  await stopped.promise;
  const second = await runWafsync(parameters, { environment });
  // First of all, so that a failure leaves no suspended process behind.
  running.child.kill("SIGCONT");
  expect([second.code, second.stderr]).toStrictEqual([
    2,
    `error: ${file} is being written by process ${running.child.pid} (wafsync logs)\n  Wait until that process has ended, or choose another file.\n`,
  ]);
  expect((await running.ended).code).toBe(0);
  const lines = (await readFile(file, "utf8")).trimEnd().split("\n");
  expect(lines.map((line) => (JSON.parse(line) as LogEntry).request_path)).toHaveLength(20_000);
  expect(await readdir(files.path)).toStrictEqual(["rows.ndjson"]);
});

test("a signal stops the download with a hint about --resume, and the download can be resumed", async () => {
  await using files = await scratchDirectory({});
  const file = join(files.path, "rows.csv");
  let calls = 0;
  let running: RunningProcess | undefined;
  await using world = await logWorld({
    now,
    logRowsPerDay: 100,
    onRequest: () => {
      calls += 1;
      if (calls === 10) running?.child.kill("SIGTERM");
    },
  });
  const parameters = logs(world.simulator, ...range, "-o", "csv", "--out", file);
  running = startWafsync(parameters, { environment });
  const stopped = await running.ended;
  expect([stopped.code, stopped.stderr]).toStrictEqual([
    130,
    expect.stringMatching(/Stopped after .* Add --resume to continue/),
  ]);
  const checkpoint = await readFile(`${file}.wafsync-resume`, "utf8");
  for (const spelling of keySpellings(logKey)) expect(checkpoint).not.toContain(spelling);
  const refused = await runWafsync(parameters, { environment });
  expect([refused.code, refused.stderr]).toStrictEqual([2, expect.stringContaining("Add --resume to continue it")]);
  const other = await runWafsync([...parameters, "--resume", "--country", "NL"], { environment });
  const [since, until] = ["--since 2026-05-07", "--until 2026-06-15"];
  expect([other.code, other.stderr]).toStrictEqual([
    2,
    `error: the unfinished download in ${file} was started with other options\n  It was started with --base-url ${world.simulator.baseUrl} ${since} ${until} --output csv.\n`,
  ]);
  expect((await runWafsync([...parameters, "--resume"], { environment })).code).toBe(0);
  expect((await readFile(file, "utf8")).trimEnd().split("\n")).toHaveLength(4001);
  const again = await runWafsync([...parameters, "--resume"], { environment });
  expect([again.code, again.stderr]).toStrictEqual([2, expect.stringContaining("is not an unfinished download")]);
});

test("the memory stays below 200 MiB for 250,000 rows", async () => {
  await using world = await logWorld({ now, logRowsPerDay: 6250 });
  const report = `process.on("exit",()=>process.stderr.write("\\npeak "+process.resourceUsage().maxRSS+" KiB\\n"))`;
  const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(report)}`;
  await using files = await scratchDirectory({});
  const parameters = logs(world.simulator, ...range, "--out", join(files.path, "rows"));
  const end = await runWafsync(parameters, { environment: { ...environment, NODE_OPTIONS } });
  expect([end.code, end.stderr]).toStrictEqual([0, expect.stringContaining("peak")]);
  expect(Number(/peak (\d+) KiB/.exec(end.stderr)?.[1]) / 1024).toBeLessThan(200);
});

describe("invalid options", () => {
  test.each([
    [["--since", "2026-06-15", "--until", "2026-06-10"], "--since 2026-06-15 is not before --until 2026-06-10"],
    [["--follow", "--until", "2026-06-16"], "--until cannot be combined with --follow"],
    [["--resume"], "--resume needs a file"],
    [["--resume", "--follow", "--out", "rows.csv"], "--resume cannot be combined with --follow"],
    [["--client", "10.0.0.300"], "--client: write an IP address or a network"],
  ])("%j fail before any call", async (more, message) => {
    await using world = await logWorld({ now });
    const end = await runWafsync(logs(world.simulator, ...more), { environment });
    expect([end.code, end.stderr]).toStrictEqual([2, expect.stringContaining(message)]);
    expect(world.simulator.requests()).toStrictEqual([]);
  });
});

describe("rejected requests", () => {
  test("a wrong key, or an account without a WAF, fails immediately and says what to do", async () => {
    const keys = [{ key: logKey, domain: "logs.example", hasWaf: false }];
    await using world = await logWorld({ now, keys });
    const noWaf = await runWafsync(logs(world.simulator, ...range), { environment });
    expect(noWaf.code).toBe(2);
    expect(noWaf.stderr).toContain("the WAF refuses to return logs (404): No WAF configured for this account");
    expect(noWaf.stderr).toContain("use the key of the account that has the WAF");
    const wrongKey = await runWafsync(logs(world.simulator, ...range), {
      environment: { WAFSYNC_API_KEY: "another-key-0123456789" },
    });
    expect([wrongKey.code, wrongKey.stderr]).toStrictEqual([2, expect.stringContaining("Bad API Key Value")]);
    expect(wrongKey.stderr).toContain("Check the key in WAFSYNC_API_KEY");
    expect(world.simulator.requests()).toHaveLength(2);
  });
});

test("a reader that closes the pipe ends the command without an error", async () => {
  await using world = await logWorld({ now, logRowsPerDay: 20_000 });
  const running = startWafsync(logs(world.simulator, ...range), { environment });
  await running.hasPrinted(/\n/);
  running.child.stdout?.destroy();
  const end = await running.ended;
  expect([end.code, end.stderr]).toStrictEqual([0, ""]);
  expect(world.simulator.requests().length).toBeLessThan(30);
});

test("--follow prints the existing rows and then new ones, until a signal stops it", async () => {
  await using world = await logWorld({ now, logRowsPerDay: 0 });
  const waf = world.simulator.waf(logKey);
  // The program uses the real date.
  const today = new Date();
  const entry = { ...row("/first"), timestamp: today.toISOString(), user_agent: "", country: "NL" };
  world.time.nowMs = today.getTime();
  waf.logs.add(entry, 0);
  const running = startWafsync(logs(world.simulator, "--follow", "--since", "1d", "--interval", "5"), { environment });
  await running.hasPrinted(/\/first/);
  waf.logs.add({ ...entry, request_path: "/second" }, 0);
  await running.hasPrinted(/\/second/);
  running.child.kill("SIGINT");
  const end = await running.ended;
  expect([end.code, end.stderr]).toStrictEqual([0, "Stopped after 2 rows.\n"]);
  const lines = end.stdout.trimEnd().split("\n");
  expect(lines.map((line) => (JSON.parse(line) as LogEntry).request_path)).toStrictEqual(["/first", "/second"]);
});
