// The main use case: a list of 1,413 addresses, as in public feeds, and the program as a separate process.
// Long: `npm run test:deploy` runs it.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { spellingModes } from "../../src/simulator/network.ts";
import { publicBlocklist } from "../support/builders/public-blocklist.ts";
import { configMapDocument, ruleDocument, testKey, wafFolder } from "../support/worlds/waf-folder.ts";
import { slow } from "../support/processes/slowness.ts";
import { runWafsync } from "../support/processes/wafsync-process.ts";

const addresses = publicBlocklist();
const urgent = "192.0.2.99";

describe("a public blocklist", () => {
  test("is applied with one call per address, unchanged by a second run, and shrinks by exactly the removed addresses", async () => {
    await using folder = await wafFolder();
    await folder.files.write("feed.yaml", configMapDocument("feed", addresses));
    await folder.files.write("rule.yaml", ruleDocument("feed", { configMap: "feed" }));
    const waf = folder.simulator.waf(testKey);
    const runOnce = async () => await runWafsync(["apply", ...folder.from]);

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
    expect(waf.maxInFlight).toBe(1);

    const before = waf.counters.requests;
    expect(await runOnce()).toMatchObject({ code: 0 });
    expect(waf.counters.requests - before).toBe(3);

    await folder.files.write("feed.yaml", configMapDocument("feed", addresses.slice(10)));
    expect(await runOnce()).toMatchObject({ code: 0 });
    expect(waf.requestCount("DELETE /api/blocklist_ip")).toBe(10);
    expect(waf.requestCount("POST /api/blocklist_ip")).toBe(1413);
    expect(waf.blocklist.toSorted()).toStrictEqual(addresses.slice(10).toSorted());
    expect(waf.overlaps).toBe(0);
  });

  test("lets an urgent address that is added to the folder go first within three calls", async () => {
    const blocked: string[] = [];
    const latencyMs = slow(20);
    let folderPath = "";
    await using folder = await wafFolder({
      // The simulator awaits this, so the file exists before the response to the current call.
      onRequest: async ({ method, path, parameters }) => {
        const { ip } = parameters;
        if (method !== "POST" || path !== "/api/blocklist_ip") return;
        blocked.push(ip ?? "");
        if (ip === urgent) folder.simulator.settings.latencyMs = 0;
        if (blocked.length !== 200) return;
        folder.simulator.settings.latencyMs = latencyMs;
        await writeFile(join(folderPath, "urgent.yaml"), ruleDocument("urgent", { addresses: [urgent] }));
      },
    });
    folderPath = folder.path;
    await folder.files.write("feed.yaml", configMapDocument("feed", addresses));
    await folder.files.write("rule.yaml", ruleDocument("feed", { configMap: "feed" }));
    expect(await runWafsync(["apply", ...folder.from])).toMatchObject({ code: 0 });
    const waf = folder.simulator.waf(testKey);
    // Only the call in progress when the file appeared, and at most two more, came first.
    expect(blocked.indexOf(urgent) - 199).toBeLessThanOrEqual(3);
    expect(waf.blocklist).toHaveLength(1414);
    expect(waf.overlaps).toBe(0);
  });
});

describe("other spellings of the same addresses", () => {
  test.each(spellingModes.map((spelling) => [spelling]))("%s: a second run writes nothing", async (spelling) => {
    await using folder = await wafFolder({ spelling });
    const addresses = ["192.0.2.1", "198.51.100.0/24", "2001:db8::1", "2001:db8:abcd::/48"];
    await folder.files.write("rule.yaml", ruleDocument("mixed", { addresses }));
    const waf = folder.simulator.waf(testKey);

    expect(await runWafsync(["apply", ...folder.from])).toMatchObject({ code: 0 });
    const before = waf.counters.requests;
    expect(await runWafsync(["apply", ...folder.from])).toMatchObject({ code: 0 });
    expect(waf.counters.requests - before).toBe(3);

    await folder.files.write("rule.yaml", ruleDocument("mixed", { addresses: addresses.slice(1) }));
    expect(await runWafsync(["apply", ...folder.from])).toMatchObject({ code: 0 });
    expect(waf.blocklist).toHaveLength(3);
    expect(waf.counters.deletionsInOtherSpelling).toBe(0);
  });
});
