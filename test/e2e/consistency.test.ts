// WAFs whose lists show writes late, and writes that take effect after they timed out: wafsync leaves none of its entries on the
// WAF as unmanaged ones.
import { expect, test } from "@jest/globals";
import { waitFor } from "../support/builders/cluster-objects.ts";
import { runFaster, runWafsync, startWafsync } from "../support/processes/wafsync-process.ts";
import { ruleDocument, testKey, wafFolder } from "../support/worlds/waf-folder.ts";

runFaster();

const address = "192.0.2.17";
const list = "/api/blocklist_ips";

async function eventually(what: string, isSo: () => boolean): Promise<void> {
  await waitFor(what, 40_000, async () => isSo() || undefined);
}

test("an entry that a stale list does not show is removed as soon as it appears", async () => {
  await using folder = await wafFolder();
  const waf = folder.simulator.waf(testKey);
  await folder.files.write("rule.yaml", ruleDocument("scanners", { addresses: [address] }));
  expect((await runWafsync(["apply", ...folder.from])).code).toBe(0);

  await folder.files.remove("rule.yaml");
  folder.simulator.addFaults({ match: { path: list }, effect: { kind: "StaleList" } });
  expect((await runWafsync(["apply", ...folder.from])).code).toBe(0);
  expect(waf.blocklist).toStrictEqual([address]);
  expect((await runWafsync(["apply", ...folder.from])).code).toBe(0);
  expect(waf.blocklist).toStrictEqual([]);
  expect((await runWafsync(["plan", ...folder.from])).code).toBe(0);
});

test("an addition that takes effect after it timed out is removed without another run if its rule was deleted in the meantime", async () => {
  await using folder = await wafFolder({}, "  requestTimeout: 500ms\n  consistencyWindow: 4s\n");
  const waf = folder.simulator.waf(testKey);
  const running = startWafsync(["run", ...folder.from]);
  await running.hasPrinted(/shop +main/);
  folder.simulator.addFaults({ match: { method: "POST" }, effect: { kind: "Late", delayMs: 3_000 } });
  // The second attempt is rejected, so that only the late write adds the entry.
  folder.simulator.addFaults({ match: { method: "POST", nth: 2 }, times: 100, effect: { kind: "ServerError" } });
  await folder.files.write("rule.yaml", ruleDocument("scanners", { addresses: [address] }));
  await eventually("the first attempt", () => waf.requestCount("POST /api/blocklist_ip") >= 1);
  await folder.files.remove("rule.yaml");
  await eventually("the late effect", () => waf.has("blocklist", address));
  await eventually("the removal", () => !waf.has("blocklist", address));
  running.child.kill("SIGTERM");
  expect((await running.ended).code).toBe(0);
});
