// `wafsync clear-cache` as a pipeline calls it.
import { once } from "node:events";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import type { FaultRule } from "../../src/simulator/fault-rule.ts";
import { testDomain, testKey, wafFolder, type WafFolder } from "../support/worlds/waf-folder.ts";
import { within } from "../support/processes/slowness.ts";
import { runWafsync, startWafsync } from "../support/processes/wafsync-process.ts";

const endsWithinMs = 2_000;
const environment = { WAFSYNC_API_KEY: testKey };
const onClear = { path: "/clear" };

let folder: WafFolder;
let seen = Promise.withResolvers<void>();

beforeAll(async () => {
  folder = await wafFolder({ onRequest: () => seen.resolve() });
  await folder.files.write("key", `${testKey}\n`);
});

afterEach(() => {
  folder.simulator.reset();
  seen = Promise.withResolvers<void>();
});

afterAll(async () => {
  await folder[Symbol.asyncDispose]();
});

function parameters(...more: readonly string[]): string[] {
  return ["clear-cache", "--base-url", folder.simulator.baseUrl, "--allow-insecure-http", ...more];
}

describe("clear-cache exits with 0", () => {
  test("if the clear was started, with a key from the environment or from a file", async () => {
    expect(await runWafsync(parameters(), { environment })).toMatchObject({
      code: 0,
      stdout: `The WAF has started to clear the cache of ${testDomain}.\n`,
      stderr: "",
    });
    expect((await runWafsync(parameters("--key-file", `${folder.path}/key`))).code).toBe(0);
    expect(folder.simulator.waf(testKey).counters.cacheClears).toBe(2);
  });

  test("after a transient failure", async () => {
    folder.simulator.addFaults({ match: onClear, effect: { kind: "ServerError" } });
    const { code, stdout, stderr } = await runWafsync(parameters(), { environment });
    expect(code).toBe(0);
    expect(stdout).toContain("(attempt 2).");
    expect(stderr).toMatch(/Retrying in \d s\.\n$/);
  });
});

describe("clear-cache exits with 2", () => {
  const failures: [string, string[], FaultRule[], string][] = [
    ["if the API fails", ["--retries", "0"], [{ match: onClear, effect: { kind: "ServerError" } }], "1 attempt"],
    ["if the API's error contains the key", [], [{ match: onClear, effect: { kind: "EchoKey" } }], "[api key]"],
    ["if the key belongs to another domain", ["--expected-domain", "staging.example"], [], "nothing was cleared"],
  ];
  test.each(failures)("%s", async (_, more, faults, text) => {
    folder.simulator.addFaults(...faults);
    const { code, stdout, stderr } = await runWafsync(parameters(...more), { environment });
    expect([code, stdout]).toStrictEqual([2, ""]);
    expect(stderr).toContain(text);
    expect(stderr).toMatch(/^error: .*\n$/);
    expect(folder.simulator.waf(testKey).counters.cacheClears).toBe(0);
  });

  test("after one call if the key is invalid, and says so", async () => {
    const wrong = { WAFSYNC_API_KEY: "a-wrong-key-0123456789" };
    const { code, stderr } = await runWafsync(parameters(), { environment: wrong });
    expect(code).toBe(2);
    expect(stderr).toMatch(/^error: the cache was not cleared \(1 attempt\): .*key/);
    expect(folder.simulator.requests()).toHaveLength(1);
    expect(stderr).not.toContain("a-wrong-key");
  });
});

describe("A signal stops clear-cache soon with 130", () => {
  test.each([
    ["SIGINT, while the call hangs", "SIGINT", { kind: "Timeout" }],
    ["SIGTERM, while it waits for the next attempt", "SIGTERM", { kind: "RateLimited", retryAfter: "60" }],
  ] as const)("%s", async (_, signal, effect) => {
    folder.simulator.addFaults({ match: onClear, effect });
    const running = startWafsync(parameters(), { environment });
    await (effect.kind === "Timeout" ? seen.promise : running.hasPrinted(/Retrying in 60 s/));
    await within(endsWithinMs, async () => {
      running.child.kill(signal);
      await once(running.child, "exit");
    });
    const { code, stderr } = await running.ended;
    expect(stderr).toContain("error: stopped before the cache was cleared");
    expect(code).toBe(130);
  });
});
