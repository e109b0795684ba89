import { expect, test } from "@jest/globals";
import { join } from "node:path";
import { readFile } from "node:fs/promises";
import { runWafsync } from "../support/processes/wafsync-process.ts";
import { ruleDocument, testKey, wafFolder } from "../support/worlds/waf-folder.ts";

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
    "warning: There is no record of earlier runs, and 2 declared entries are on the lists already",
  );

  await folder.files.write("rule.yaml", adopting("office", addresses));
  const planned = await runWafsync(["plan", ...folder.from]);
  expect(planned.code).toBe(1);
  expect(planned.stdout).toContain(
    "= blocklist  192.0.2.1  on the list already, adopted for WafIpRule shop/office without a call",
  );
  expect(planned.stdout).toContain("2 to adopt without a call");
  const applied = await runWafsync(["apply", ...folder.from]);
  expect(applied.code).toBe(0);
  expect(applied.stdout).toContain("shop/main: 2 adopted;");
  expect((await runWafsync(["plan", ...folder.from])).code).toBe(0);
  const record = await readFile(join(folder.files.path, ".wafsync/inventory/shop/main.yaml"), "utf8");
  expect(record).toMatch(/^ {2}[0-9a-z]{10} Adopted \S+ WafIpRule:shop\/office$/m);
});

test("a missing ConfigMap holds only its own entries, also through the whole program", async () => {
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
  expect(waf.blocklist.toSorted()).toEqual(["192.0.2.1", "192.0.2.2", "192.0.2.3"]);

  await folder.files.write("feed.yaml", ruleDocument("feed", { addresses: ["192.0.2.1"], configMap: "feed" }));
  const planned = await runWafsync(["plan", ...folder.from]);
  expect(planned.stdout).not.toContain("192.0.2.1  on hold");
});

test("a new Allow rule does not lift a block that stands, whatever its name", async () => {
  await using folder = await wafFolder();
  await folder.files.write("rule.yaml", ruleDocument("scanners", { addresses: ["192.0.2.17"] }));
  expect((await runWafsync(["apply", ...folder.from])).code).toBe(0);
  await folder.files.write("zz.yaml", ruleDocument("a-partner", { action: "Allow", addresses: ["192.0.2.17"] }));
  const applied = await runWafsync(["apply", ...folder.from]);
  expect(applied.code).toBe(1);
  expect(applied.stdout).toContain(
    "WafIpRule shop/scanners with action Block already holds 192.0.2.17 on the blocklist",
  );
  expect(folder.simulator.waf(testKey).blocklist).toEqual(["192.0.2.17"]);
  expect(folder.simulator.waf(testKey).allowlist).toEqual([]);
});
