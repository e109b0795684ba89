// The main use case: a list of 1,413 addresses, as in public feeds, and the program as a separate process; also after its instance
// was renamed and moved.
// Long: `npm run test:deploy` runs it.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { knownPaths } from "../../src/simulator/endpoints.ts";
import { spellingModes } from "../../src/simulator/network.ts";
import type { SimulatedWaf } from "../../src/simulator/simulated-waf.ts";
import { publicBlocklist } from "../support/builders/public-blocklist.ts";
import { configMapDocument, originDocument, ruleDocument, testKey, wafFolder } from "../support/worlds/waf-folder.ts";
import type { WafFolder } from "../support/worlds/waf-folder.ts";
import { runFaster, runWafsync } from "../support/processes/wafsync-process.ts";

runFaster();

const addresses = publicBlocklist();

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

/** The folder, in which all references to the instance `shop/main` are changed to `edge/front`. */
async function moveTo(folder: WafFolder, continues: boolean): Promise<void> {
  for (const file of await readdir(folder.files.path)) {
    if (!file.endsWith(".yaml")) continue;
    const text = await readFile(join(folder.files.path, file), "utf8");
    const moved = text
      .replaceAll("namespace: shop", "namespace: edge")
      .replaceAll("instanceRef: {name: main}", "instanceRef: {name: front}")
      .replace("metadata: {name: main,", "metadata: {name: front,");
    const annotated = continues
      ? moved.replace("annotations: {}", 'annotations: {"wafsync.dev/continues": "shop/main"}')
      : moved;
    await folder.files.write(file, annotated);
  }
}

test("an instance renamed and moved to another namespace keeps 1,413 entries and an origin without a write", async () => {
  await using folder = await wafFolder();
  const waf = folder.simulator.waf(testKey);
  const list = publicBlocklist();
  await folder.files.write("feed.yaml", ruleDocument("feed", { addresses: list }));
  await folder.files.write("standby.yaml", originDocument("standby", "standby.example.com", "Backup"));
  expect((await runWafsync(["apply", ...folder.from])).code).toBe(0);
  expect(waf.blocklist).toHaveLength(1_413);
  const writes = writesTo(waf);

  await moveTo(folder, false);
  const warned = await runWafsync(["plan", ...folder.from]);
  expect(warned.stderr).toContain("add the annotation wafsync.dev/continues: shop/main to the new instance");
  await moveTo(folder, true);
  const planned = await runWafsync(["plan", ...folder.from]);
  expect(planned).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("Nothing to do: the WAF matches the declared state."),
    stderr: expect.not.stringContaining("no longer declared"),
  });
  const applied = await runWafsync(["apply", ...folder.from]);
  expect(applied).toMatchObject({ code: 0, stderr: expect.not.stringContaining("no longer declared") });
  expect(applied.stdout).toMatch(/WafInstance +edge +front +\S+ +True +Synced/);
  expect(writesTo(waf)).toBe(writes);
  const { stdout: history } = await runWafsync(["history", ...folder.from, "--instance", "edge/front", "-o", "json"]);
  const { events } = JSON.parse(history) as { events: { event: string; values: string[]; owners: string[] }[] };
  expect(new Set(events.flatMap(({ event, owners }) => owners.map((owner) => `${event} for ${owner}`)))).toStrictEqual(
    new Set(["Added for WafIpRule shop/feed", "Added for WafOrigin shop/standby"]),
  );
  expect(events.flatMap(({ values }) => values)).toHaveLength(1_414);

  const feed = await readFile(join(folder.path, "feed.yaml"), "utf8");
  await folder.files.write("feed.yaml", feed.replace(JSON.stringify(list), JSON.stringify(list.slice(1))));
  expect((await runWafsync(["apply", ...folder.from])).stdout).toContain("0 added, 1 removed");
  expect(waf.blocklist).toHaveLength(1_412);
});

/** How many writes the WAF has received. */
function writesTo(waf: SimulatedWaf): number {
  const endpoints = knownPaths.flatMap((path) => [`POST ${path}`, `DELETE ${path}`]);
  return endpoints.reduce((sum, endpoint) => sum + waf.requestCount(endpoint), 0);
}
