// The main use case: a list of 1,413 addresses, as in public feeds, and the program as a separate process; also after its instance
// was renamed and moved.
// Long: `npm run test:deploy` runs it.
import { describe, expect, test } from "@jest/globals";
import { manyAddresses } from "../support/builders/feed-texts.ts";
import { configMapDocument, ruleDocument, testKey, wafFolder } from "../support/worlds/waf-folder.ts";
import { runFaster } from "../support/processes/wafsync-process.ts";

runFaster();

const addresses = manyAddresses(1_413);

describe("a public blocklist", () => {
  test("is applied with one call per address, unchanged by a second run, and shrinks by exactly the removed addresses", async () => {
    await using folder = await wafFolder();
    await folder.files.write("feed.yaml", configMapDocument("feed", addresses));
    await folder.files.write("rule.yaml", ruleDocument("feed", { configMap: "feed" }));
    const waf = folder.simulator.waf(testKey);
    const runOnce = async () => await folder.run("apply");

    // On a busy machine, it takes long enough to show its progress.
    expect(await runOnce()).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/^(?:shop\/main [\d,]+\/1,413 .*\n)*$/),
    });
    expect(new Set(addresses).size).toBe(1413);
    expect(waf.blocklist.toSorted()).toStrictEqual(addresses.toSorted());
    expect(waf.requestCount("POST /api/blocklist_ip")).toBe(1413);
    expect(waf.requestCount("GET /api/blocklist_ips")).toBe(2);
    expect(waf.requestCount("GET /api/allowlist_ips")).toBe(1);
    expect(waf.flights.max).toBe(1);

    const before = waf.counters.requests;
    expect(await runOnce()).toMatchObject({ code: 0 });
    expect(waf.counters.requests - before).toBe(3);

    await folder.files.write("feed.yaml", configMapDocument("feed", addresses.slice(10)));
    expect(await runOnce()).toMatchObject({ code: 0 });
    expect(waf.requestCount("DELETE /api/blocklist_ip")).toBe(10);
    expect(waf.requestCount("POST /api/blocklist_ip")).toBe(1413);
    expect(waf.blocklist.toSorted()).toStrictEqual(addresses.slice(10).toSorted());
    expect(waf.flights.overlaps).toBe(0);
  });
});
