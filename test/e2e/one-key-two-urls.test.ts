// One key is one WAF, however its URL is written: two instances with the same key never make concurrent calls.
import { expect, test } from "@jest/globals";
import { instanceDocument, ruleDocument, wafFolder } from "../support/worlds/waf-folder.ts";
import { runWafsync } from "../support/processes/wafsync-process.ts";

test("of two instances with one key and two spellings of its URL, the first is active, and the other reports why it is not", async () => {
  await using folder = await wafFolder({ overlap: "Record", latencyMs: 5 });
  const addresses = Array.from({ length: 12 }, (_, index) => `192.0.2.${index}`);
  await folder.files.write("rule.yaml", ruleDocument("many", { addresses }));
  const localhost = folder.simulator.baseUrl.replace("127.0.0.1", "localhost");
  await folder.files.write("second.yaml", instanceDocument(localhost, { name: "second" }));
  const theirs = ruleDocument("theirs", { addresses: ["198.51.100.1"] }).replace("{name: main}", "{name: second}");
  await folder.files.write("theirs.yaml", theirs);
  const end = await runWafsync(["apply", ...folder.from]);
  expect(end.code).toBe(2);
  expect(end.stdout + end.stderr).toContain("WafInstance shop/main is older and has the same API key");
  const [waf] = folder.simulator.wafs();
  expect(waf?.blocklist).toHaveLength(12);
  expect(waf?.overlaps).toBe(0);
});
