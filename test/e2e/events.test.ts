// What a folder reports about entries, in its events, in the table and in the statuses.
import { join } from "node:path";
import { readFile } from "node:fs/promises";
import { expect, test } from "@jest/globals";
import { runWafsync } from "../support/processes/wafsync-process.ts";
import { ruleDocument, testKey, wafFolder } from "../support/worlds/waf-folder.ts";

/** The output of `kubectl create configmap … --dry-run=client -o yaml` of kubectl 1.32. */
function dryRunConfigMap(text: string): string {
  const lines = text.split("\n").map((line) => `    ${line}`);
  return `apiVersion: v1\ndata:\n  list: |\n${lines.join("\n")}\nkind: ConfigMap\nmetadata:\n  creationTimestamp: null\n  name: feed\n  namespace: shop\n`;
}

test("events.ndjson names the entries, their number and the rule, for additions and removals", async () => {
  await using folder = await wafFolder();
  const events = async (): Promise<Record<string, unknown>[]> => {
    const text = await readFile(join(folder.files.path, ".wafsync/events.ndjson"), "utf8");
    return text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  };
  await folder.files.write("feed.yaml", ruleDocument("feed", { configMap: "feed" }));
  await folder.files.write("list.yaml", dryRunConfigMap("192.0.2.1\n192.0.2.2"));
  expect((await runWafsync(["apply", ...folder.from])).code).toBe(0);
  const added = {
    reason: "EntriesAdded",
    message: "Added 2 entries for WafIpRule shop/feed: 192.0.2.1, 192.0.2.2.",
    rule: "shop/feed",
    entries: ["192.0.2.1", "192.0.2.2"],
    count: 2,
  };
  expect(await events()).toStrictEqual([
    expect.objectContaining({ kind: "WafInstance", name: "main", ...added }),
    expect.objectContaining({ kind: "WafIpRule", name: "feed", ...added }),
  ]);

  await folder.files.write("list.yaml", dryRunConfigMap("192.0.2.2"));
  expect((await runWafsync(["apply", ...folder.from])).code).toBe(0);
  expect((await events()).at(-1)).toMatchObject({
    kind: "WafIpRule",
    message: "Removed 1 entry of WafIpRule shop/feed: 192.0.2.1.",
    entries: ["192.0.2.1"],
  });
  const status = await readFile(join(folder.files.path, ".wafsync/status/WafIpRule/shop/feed.yaml"), "utf8");
  expect(status).toContain("sources:\n    - configMap: feed\n      key: list\n      entries: 1\n");
});

test("the table shows that a rule is empty or expired, and counts rejected entries", async () => {
  await using folder = await wafFolder();
  folder.simulator.waf(testKey).add("blocklist", ["192.0.2.9"]);
  await folder.files.write("empty.yaml", ruleDocument("empty", { addresses: [] }));
  await folder.files.write("mixed.yaml", ruleDocument("mixed", { addresses: ["192.0.2.1", "nonsense", "10.0.0.0/8"] }));
  const over = ruleDocument("over", { addresses: ["192.0.2.9"] }).replace(
    "spec:",
    'spec:\n  expiresAt: "2020-01-01T00:00:00Z"',
  );
  await folder.files.write("over.yaml", over);
  const applied = await runWafsync(["apply", ...folder.from]);
  expect(applied.code).toBe(1);
  expect(applied.stdout).toMatch(/WafIpRule +shop +empty +0\/0 +False +InvalidEntries/);
  expect(applied.stdout).toMatch(/WafIpRule +shop +mixed +1\/3 +False +InvalidEntries/);
  expect(applied.stdout).toMatch(/WafIpRule +shop +over +expired +True +Expired/);
  expect(applied.stdout).toContain("InvalidEntries, 2 entries are not applied");
  expect(await folder.everyFile()).toContain("2 entries are not applied. spec.addresses[1]");
  expect(applied.stdout).toContain("The rule declares no entries: write addresses or networks into spec.addresses");
});
