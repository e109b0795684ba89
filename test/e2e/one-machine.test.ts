// The wafsync processes of one machine take turns with a key: calls never overlap, and no process starves.
import { expect, test } from "@jest/globals";
import { waitFor } from "../support/builders/cluster-objects.ts";
import { ruleDocument, testKey, wafFolder } from "../support/worlds/waf-folder.ts";
import { runWafsync, startWafsync } from "../support/processes/wafsync-process.ts";

test("plan, clear-cache, logs and report make calls between the calls of a run, and no calls overlap", async () => {
  await using folder = await wafFolder({ overlap: "Record", latencyMs: 20 });
  const addresses = Array.from({ length: 250 }, (_, index) => `192.0.2.${index}`);
  await folder.files.write("rule.yaml", ruleDocument("many", { addresses }));
  const [waf] = folder.simulator.wafs();
  const running = startWafsync(["run", ...folder.from]);
  await waitFor("the first entries", 30_000, async () => ((waf?.blocklist.length ?? 0) > 10 ? true : undefined));
  const source = ["--base-url", folder.simulator.baseUrl, "--allow-insecure-http"];
  const environment = { WAFSYNC_API_KEY: testKey };
  const ends = await Promise.all([
    runWafsync(["plan", ...folder.from]),
    runWafsync(["clear-cache", ...source], { environment }),
    runWafsync(["logs", ...source], { environment }),
    runWafsync(["report", ...source, "--out", "-"], { environment }),
  ]);
  expect(ends.map(({ code }) => code)).toStrictEqual([1, 0, 0, 0]);
  // The commands did not wait for the end of the run.
  expect(waf?.blocklist.length).toBeLessThan(250);
  running.child.kill("SIGTERM");
  await running.ended;
  expect(waf?.overlaps).toBe(0);
});
