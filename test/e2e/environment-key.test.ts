// The API key in the environment is sent only to the base URL that was set with it, whatever the author of a folder writes.
import { describe, expect, test } from "@jest/globals";
import { startSimulator } from "../../src/simulator/start-simulator.ts";
import { instanceDocument, ruleDocument, testDomain, testKey } from "../support/worlds/waf-folder.ts";
import { scratchDirectory } from "../support/worlds/scratch-directory.ts";
import { runWafsync } from "../support/processes/wafsync-process.ts";

/** A folder without a Secret, whose instance is at `url`. */
async function folderWith(url: string, more: Readonly<Record<string, string>> = {}) {
  return await scratchDirectory({
    "main.yaml": instanceDocument(url, { spec: `  expectedDomain: ${testDomain}\n` }),
    "rule.yaml": ruleDocument("office", { addresses: ["192.0.2.1"] }),
    ...more,
  });
}

describe("The API key in the environment", () => {
  test.each([
    ["plan", ["plan"]],
    ["apply", ["apply"]],
    ["logs", ["logs"]],
    ["report", ["report", "--out", "-"]],
  ])("is not sent by %s to a server in a pull request", async (_, command) => {
    await using hostile = await startSimulatorFor();
    await using mine = await startSimulatorFor();
    await using files = await folderWith(hostile.baseUrl);
    const from = [...command, "-f", files.path, "--allow-insecure-http"];
    const beside = { WAFSYNC_API_KEY: testKey };
    const ends = [
      await runWafsync(from, { environment: beside }),
      await runWafsync(from, { environment: { ...beside, WAFSYNC_BASE_URL: mine.baseUrl } }),
      await runWafsync([...from, "--allowed-base-urls", mine.baseUrl], { environment: beside }),
    ];
    for (const { code, stdout, stderr } of ends) {
      expect(code).toBe(2);
      expect(stdout + stderr).toMatch(/WAFSYNC_BASE_URL|--allowed-base-urls/);
    }
    expect(hostile.wafs()[0]?.counters.requests).toBe(0);
  });
});

async function startSimulatorFor() {
  const simulator = await startSimulator({ keys: [{ key: testKey, domain: testDomain }] });
  return Object.assign(simulator, { [Symbol.asyncDispose]: async () => await simulator.close() });
}
