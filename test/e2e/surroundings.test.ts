// Failures of the environment: full disks, folders that can't be written, a state directory that is deleted or taken over. Each
// is reported in one clear sentence, without a stack trace, and never loses a record.
import { mkdir, open, readFile, readdir, rm, stat, symlink, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { addresses } from "../support/builders/declare.ts";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { everythingPrinted, runWafsync, startWafsync } from "../support/processes/wafsync-process.ts";
import { scratchDirectory } from "../support/worlds/scratch-directory.ts";
import { ruleDocument, testKey, wafFolder } from "../support/worlds/waf-folder.ts";
import type { WafFolder } from "../support/worlds/waf-folder.ts";

let world: WafFolder;
const blocked = (): readonly string[] => world.simulator.waf(testKey).blocklist.toSorted();
const rule = (...addresses: string[]): string => ruleDocument("rule", { addresses });

beforeAll(async () => {
  world = await wafFolder();
  await world.files.write("rule.yaml", rule("192.0.2.1"));
});
afterAll(async () => await world[Symbol.asyncDispose]());

describe("A full disk", () => {
  test("behind stdout stops no command early, and the exit code says that results are missing", async () => {
    await using full = await open("/dev/full", "w");
    const { code, stderr } = await runWafsync(["apply", ...world.from], { files: { stdout: full.fd } });
    expect(blocked()).toStrictEqual(["192.0.2.1"]);
    expect(code).toBe(2);
    expect(stderr.split("\n").filter((line) => line.startsWith("error"))).toStrictEqual([
      "error: cannot write to stdout (ENOSPC): results are lost",
    ]);
    expect(stderr).not.toMatch(/^\s+at /m);
  });

  test.each([["--version"], ["logs", "-f", "."], ["plan", "--help"]])(
    "behind stdout of `%s` is an error",
    async (...line) => {
      await using full = await open("/dev/full", "w");
      const options = { files: { stdout: full.fd }, workingDirectory: world.path };
      const { code, stderr } = await runWafsync(
        [...line, ...(line[0] === "logs" ? ["--allow-insecure-http"] : [])],
        options,
      );
      expect([code, stderr]).toStrictEqual([2, expect.stringContaining("error: cannot write to stdout (ENOSPC)")]);
    },
  );

  test("behind stdout and stderr does not stop run, which continues to reconcile", async () => {
    await using full = await open("/dev/full", "w");
    const running = startWafsync(["run", ...world.from], { files: { stdout: full.fd, stderr: full.fd } });
    await world.files.write("rule.yaml", rule("192.0.2.1", "192.0.2.2"));
    while (blocked().length < 2) await new Promise((resolve) => setTimeout(resolve, 20));
    running.child.kill("SIGTERM");
    expect(await running.ended).toMatchObject({ signal: undefined, code: 2 });
  });
});

describe("The state directory", () => {
  test("on a read-only mount is reported in one sentence, which names --state", async () => {
    const { code, stderr } = await runWafsync(["apply", ...world.from, "--state", "/sys/wafsync"]);
    expect(code).toBe(2);
    expect(stderr).toBe(
      "error: The state directory /sys/wafsync cannot be used: permission denied: set --state to a directory that wafsync can write to.\n",
    );
  });

  test("may not be the folder itself, whatever its path", async () => {
    const { code, stderr } = await runWafsync([
      "apply",
      ...world.from,
      "--state",
      `${world.path}/../${basename(world.path)}`,
    ]);
    expect([code, stderr]).toStrictEqual([
      2,
      expect.stringContaining("is the folder with the YAML files\n  Set --state to a"),
    ]);
  });

  test("that is a link, or contains one, is named, and nothing is written through it", async () => {
    await using folder = await wafFolder();
    await using elsewhere = await scratchDirectory({ "mine.txt": "mine" });
    await folder.files.write("rule.yaml", rule("192.0.2.1"));
    const state = join(folder.path, ".wafsync");
    await symlink(elsewhere.path, state);
    const { code, stderr } = await runWafsync(["apply", ...folder.from]);
    expect([code, stderr]).toStrictEqual([2, expect.stringContaining(`${state} is a symbolic link`)]);
    await folder.files.remove(".wafsync");

    // A former state directory, which a repository may contain.
    await mkdir(join(state, "inventory"), { recursive: true });
    await symlink(elsewhere.path, join(state, "inventory/shop"));
    const within = await runWafsync(["apply", ...folder.from]);
    expect(within.code).toBeGreaterThan(0);
    expect(within.stdout + within.stderr).toContain("is a symbolic link");
    expect(await readdir(elsewhere.path)).toStrictEqual(["mine.txt"]);
    expect(folder.simulator.waf(testKey).blocklist).toStrictEqual([]);
  });

  test("that is deleted while run uses it ends run with an error, and the WAF is no longer called", async () => {
    const state = join(world.path, ".wafsync");
    await world.files.write("rule.yaml", rule("192.0.2.1", "192.0.2.2"));
    const running = startWafsync(["run", ...world.from]);
    await running.hasPrinted(/2 managed|Watching[^]*managed/);
    await rm(state, { recursive: true });
    const { code, stderr } = await running.ended;
    expect(code).toBe(2);
    expect(stderr).toContain(`error: The state directory ${state} was deleted while wafsync used it`);
    expect(stderr).not.toContain("Completed changes are recorded");
    await expect(stat(state)).rejects.toMatchObject({ code: "ENOENT" });
  });

  test("that is deleted during a long load leaves no two processes at work: the second one goes on alone", async () => {
    await using folder = await wafFolder({ overlap: "Record", latencyMs: 20 });
    const waf = folder.simulator.waf(testKey);
    await folder.files.write("rule.yaml", ruleDocument("many", { addresses: addresses(200) }));
    const first = startWafsync(["apply", ...folder.from]);
    while (waf.blocklist.length < 20) await new Promise((resolve) => setTimeout(resolve, 20));
    await rm(join(folder.path, ".wafsync"), { recursive: true });
    const second = await runWafsync(["apply", ...folder.from]);
    expect([second.code, (await first.ended).code]).toStrictEqual([0, 2]);
    expect(waf.blocklist).toHaveLength(200);
    // The first one sent at most the call that it had begun.
    const writes = folder.simulator.requests().filter(({ method }) => method === "POST");
    expect(writes.length).toBeLessThanOrEqual(201);
    expect(waf.overlaps).toBe(0);
  });

  test("that several commands need at once serves one after the other: each address is blocked", async () => {
    await using folder = await wafFolder({ overlap: "Record", latencyMs: 50 });
    const all = [1, 2, 3, 4].map((last) => `203.0.113.${last}`);
    const ends = await Promise.all(
      all.map(async (address) => await runWafsync(["block", address, "--for", "1h", ...folder.from])),
    );
    expect(ends.map(({ code }) => code)).toStrictEqual([0, 0, 0, 0]);
    expect(folder.simulator.waf(testKey).blocklist.toSorted()).toStrictEqual(all);
    expect(folder.simulator.waf(testKey).overlaps).toBe(0);
    for (const { stderr } of ends) expect(stderr).toContain("note: no process is watching this folder");
  });

  test("that another container takes over while run uses it is no longer written, and neither is the WAF", async () => {
    const state = join(world.path, ".wafsync");
    await world.files.write("rule.yaml", rule("192.0.2.1", "192.0.2.3"));
    const running = startWafsync(["run", ...world.from]);
    await running.hasPrinted(/managed/);
    const before = blocked();
    const lock = await readFile(join(state, "lock"), "utf8");
    await rm(join(state, "lock"));
    await writeFile(join(state, "lock"), lock.replace(/"id":"[^"]*"/, '"id":"another"'));
    await world.files.write("rule.yaml", rule("192.0.2.1", "192.0.2.3", "192.0.2.4"));
    expect(await running.ended).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/error: .* in use by another process, perhaps in another container/),
    });
    expect(blocked()).toStrictEqual(before);
    await rm(join(state, "lock"));
  });
});

test("No command has printed a key or a stack", () => {
  expect(everythingPrinted()).not.toContain(testKey);
  expect(everythingPrinted()).not.toMatch(/^\s+at .*:\d+/m);
});
