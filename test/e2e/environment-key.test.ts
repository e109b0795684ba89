// The API key in the environment is sent only to the base URL that was set with it, whatever the author of a folder writes.
import { expect, test } from "@jest/globals";
import { startSimulator } from "../../src/simulator/start-simulator.ts";
import { instanceDocument, ruleDocument, testDomain, testKey } from "../support/worlds/waf-folder.ts";
import { scratchDirectory } from "../support/worlds/scratch-directory.ts";
import { runWafsync } from "../support/processes/wafsync-process.ts";

test("The API key in the environment is sent by no command to a server in a pull request", async () => {
  const keys = [{ key: testKey, domain: testDomain }];
  const [hostile, mine] = [await startSimulator({ keys }), await startSimulator({ keys })];
  await using files = await scratchDirectory({
    "main.yaml": instanceDocument(hostile.baseUrl, { spec: `  expectedDomain: ${testDomain}\n` }),
    "rule.yaml": ruleDocument("office", { addresses: ["192.0.2.1"] }),
  });
  for (const command of ["plan", "apply", "logs", "report --out -"]) {
    const from = [...command.split(" "), "-f", files.path, "--allow-insecure-http"];
    const key = { WAFSYNC_API_KEY: testKey };
    const ends = [
      await runWafsync(from, { environment: key }),
      await runWafsync(from, { environment: { ...key, WAFSYNC_BASE_URL: mine.baseUrl } }),
      await runWafsync([...from, "--allowed-base-urls", mine.baseUrl], { environment: key }),
    ];
    for (const { code, stdout, stderr } of ends) {
      expect([command, code]).toStrictEqual([command, 2]);
      expect(stdout + stderr).toMatch(/WAFSYNC_BASE_URL|--allowed-base-urls/);
    }
  }
  expect(hostile.requests()).toStrictEqual([]);
  await Promise.all([hostile.close(), mine.close()]);
});
