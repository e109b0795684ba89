// Long: `npm run test:deploy` runs it.
import { expect, test } from "@jest/globals";
import { join } from "node:path";
import { readdir, readFile } from "node:fs/promises";
import { runWafsync } from "../support/processes/wafsync-process.ts";
import { knownPaths } from "../../src/simulator/endpoints.ts";
import type { SimulatedWaf } from "../../src/simulator/simulated-waf.ts";
import { publicBlocklist } from "../support/builders/public-blocklist.ts";
import type { WafFolder } from "../support/worlds/waf-folder.ts";
import { originDocument, ruleDocument, testKey, wafFolder } from "../support/worlds/waf-folder.ts";

const adopting = (name: string, addresses: readonly string[]): string =>
  ruleDocument(name, { addresses }).replace(
    "namespace: shop}",
    'namespace: shop, annotations: {"wafsync.dev/adopt": "true"}}',
  );

test("adoption is planned, counted and recorded, without a write to the WAF", async () => {
  await using folder = await wafFolder();
  const waf = folder.simulator.waf(testKey);
  const addresses = ["192.0.2.1", "192.0.2.2"];
  waf.add("blocklist", addresses);
  await folder.files.write("rule.yaml", ruleDocument("office", { addresses }));
  const without = await runWafsync(["plan", ...folder.from]);
  expect(without.code).toBe(1);
  expect(without.stdout).toContain(
    "warning: There is no record of earlier runs, and 2 declared entries are already on the lists",
  );

  await folder.files.write("rule.yaml", adopting("office", addresses));
  const planned = await runWafsync(["plan", ...folder.from]);
  expect(planned.code).toBe(1);
  expect(planned.stdout).toContain(
    "= blocklist  192.0.2.1  already on the list, adopted for WafIpRule shop/office without a call",
  );
  expect(planned.stdout).toContain("2 to adopt without a call");
  const applied = await runWafsync(["apply", ...folder.from]);
  expect(applied.code).toBe(0);
  expect(applied.stdout).toContain("shop/main: 2 adopted;");
  expect((await runWafsync(["plan", ...folder.from])).code).toBe(0);
  expect(writesTo(waf)).toBe(0);
  const record = await readFile(join(folder.files.path, ".wafsync/inventory/shop/main.txt"), "utf8");
  expect(record).toMatch(/^[0-9a-f]{10} \{"manner":"Adopted","sinceMs":"\S+","owners":"WafIpRule:shop\/office",/m);
});

test("a missing ConfigMap puts only the removals of its own entries on hold", async () => {
  await using folder = await wafFolder();
  const waf = folder.simulator.waf(testKey);
  const list = (text: string): string =>
    `---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: feed, namespace: shop}\ndata:\n  list: ${JSON.stringify(text)}\n`;
  await folder.files.write("feed.yaml", ruleDocument("feed", { configMap: "feed" }));
  await folder.files.write("list.yaml", list("192.0.2.1\n192.0.2.2\n"));
  await folder.files.write("other.yaml", ruleDocument("other", { addresses: ["192.0.2.3", "192.0.2.4"] }));
  expect((await runWafsync(["apply", ...folder.from])).code).toBe(0);

  await folder.files.write("list.yaml", "");
  await folder.files.write("other.yaml", ruleDocument("other", { addresses: ["192.0.2.3"] }));
  const applied = await runWafsync(["apply", ...folder.from]);
  expect(applied.stdout).toMatch(/WafIpRule +shop +feed +0\/2 +False +SourceMissing/);
  expect(applied.stdout).toContain("0 added, 1 removed");
  expect(waf.blocklist.toSorted()).toStrictEqual(["192.0.2.1", "192.0.2.2", "192.0.2.3"]);

  await folder.files.write("feed.yaml", ruleDocument("feed", { addresses: ["192.0.2.1"], configMap: "feed" }));
  const planned = await runWafsync(["plan", ...folder.from]);
  expect(planned.stdout).not.toContain("192.0.2.1  on hold");
});

test("a new Allow rule does not override an existing block, whatever its name", async () => {
  await using folder = await wafFolder();
  await folder.files.write("rule.yaml", ruleDocument("scanners", { addresses: ["192.0.2.17"] }));
  expect((await runWafsync(["apply", ...folder.from])).code).toBe(0);
  await folder.files.write("zz.yaml", ruleDocument("a-partner", { action: "Allow", addresses: ["192.0.2.17"] }));
  const applied = await runWafsync(["apply", ...folder.from]);
  expect(applied.code).toBe(1);
  expect(applied.stdout).toContain("WafIpRule shop/scanners with action Block already has 192.0.2.17 on the blocklist");
  expect(folder.simulator.waf(testKey).blocklist).toStrictEqual(["192.0.2.17"]);
  expect(folder.simulator.waf(testKey).allowlist).toStrictEqual([]);
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
  expect(applied.stdout).toMatch(/WafInstance +edge +front +\S+ +True +Ready/);
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
