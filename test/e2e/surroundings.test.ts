// Failures of the environment: full disks, folders that can't be written, a state directory that is deleted or taken over. Each
// is reported in one clear sentence, without a stack trace, and never loses a record.
import { open, rm } from "node:fs/promises";
import { join } from "node:path";
import { addresses } from "../support/builders/declare.ts";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { everythingPrinted, runWafsync, startWafsync } from "../support/processes/wafsync-process.ts";
import { ruleDocument, testKey, wafFolder, type WafFolder } from "../support/worlds/waf-folder.ts";

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
  test("that is deleted during a long load leaves no two processes at work: the second one goes on alone", async () => {
    await using folder = await wafFolder({ overlap: "Record", latencyMs: 20 });
    const waf = folder.simulator.waf(testKey);
    await folder.files.write("rule.yaml", ruleDocument("many", { addresses: addresses(200) }));
    const first = startWafsync(["apply", ...folder.from]);
    while (waf.blocklist.length < 20) await new Promise((resolve) => setTimeout(resolve, 20));
    // The first one may write at this moment.
    await rm(join(folder.path, ".wafsync"), { recursive: true, maxRetries: 5 });
    const second = await folder.run("apply");
    expect([second.code, (await first.ended).code]).toStrictEqual([0, 2]);
    expect(waf.blocklist).toHaveLength(200);
    // The first one sent at most the call that it had begun.
    const writes = folder.simulator.requests().filter(({ method }) => method === "POST");
    expect(writes.length).toBeLessThanOrEqual(201);
    expect(waf.flights.overlaps).toBe(0);
  });
});

test("No command has printed a stack", () => {
  expect(everythingPrinted()).not.toMatch(/^\s+at .*:\d+/m);
});
