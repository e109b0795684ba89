// One key is one WAF: the wafsync processes of one machine take turns with it, and two instances with the same key, however its URL is
// written, never make concurrent calls.
import { expect, test } from "@jest/globals";
import { waitFor } from "../support/builders/cluster-objects.ts";
import { instanceDocument, ruleDocument, testKey, wafFolder } from "../support/worlds/waf-folder.ts";
import { runWafsync, startWafsync } from "../support/processes/wafsync-process.ts";

test("plan, why, clear-cache, logs and report make calls between the calls of a run, and no calls overlap", async () => {
  await using folder = await wafFolder({ overlap: "Record", latencyMs: 20 });
  const addresses = Array.from({ length: 250 }, (_, index) => `192.0.2.${index}`);
  await folder.files.write("rule.yaml", ruleDocument("many", { addresses }));
  const [waf] = folder.simulator.wafs();
  const running = startWafsync(["run", ...folder.from]);
  await waitFor("the first entries", 30_000, async () => ((waf?.blocklist.length ?? 0) > 10 ? true : undefined));
  const source = ["--base-url", folder.simulator.baseUrl, "--allow-insecure-http"];
  const environment = { WAFSYNC_API_KEY: testKey };
  const ends = await Promise.all([
    folder.run("plan"),
    folder.run("why", "192.0.2.0", "-o", "json"),
    runWafsync(["clear-cache", ...source], { environment }),
    runWafsync(["logs", ...source], { environment }),
    runWafsync(["report", ...source, "--out", "-"], { environment }),
  ]);
  expect(ends.map(({ code }) => code)).toStrictEqual([1, 0, 0, 0, 0]);
  expect(JSON.parse(ends[1].stdout)).toMatchObject({ instances: [{ verdict: "Blocked", liveListsRead: true }] });
  // The commands did not wait for the end of the run.
  expect(waf?.blocklist.length).toBeLessThan(250);
  running.child.kill("SIGTERM");
  await running.ended;
  expect(waf?.flights.overlaps).toBe(0);
});

test("of two instances with one key and two spellings of its URL, the first is active, and the other reports why it is not", async () => {
  await using folder = await wafFolder({ overlap: "Record", latencyMs: 5 });
  const addresses = Array.from({ length: 12 }, (_, index) => `192.0.2.${index}`);
  await folder.files.write("rule.yaml", ruleDocument("many", { addresses }));
  const localhost = folder.simulator.baseUrl.replace("127.0.0.1", "localhost");
  await folder.files.write("second.yaml", instanceDocument(localhost, { name: "second" }));
  const theirs = ruleDocument("theirs", { addresses: ["198.51.100.1"] }).replace("{name: main}", "{name: second}");
  await folder.files.write("theirs.yaml", theirs);
  const end = await folder.run("apply");
  expect(end.code).toBe(2);
  expect(end.stdout + end.stderr).toContain("WafInstance shop/main is older and has the same API key");
  const [waf] = folder.simulator.wafs();
  expect(waf?.blocklist).toHaveLength(12);
  expect(waf?.flights.overlaps).toBe(0);
});
