// What a folder reports about entries, in its events, in the table and in the statuses.
import { join } from "node:path";
import { readFile } from "node:fs/promises";
import { expect, test } from "@jest/globals";
import { ruleDocument, wafFolder } from "../support/worlds/waf-folder.ts";

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
  expect((await folder.run("apply")).code).toBe(0);
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
  expect((await folder.run("apply")).code).toBe(0);
  expect((await events()).at(-1)).toMatchObject({
    kind: "WafIpRule",
    message: "Removed 1 entry of WafIpRule shop/feed: 192.0.2.1.",
    entries: ["192.0.2.1"],
  });
  const status = await readFile(join(folder.files.path, ".wafsync/status/WafIpRule/shop/feed.yaml"), "utf8");
  expect(status).toContain("sources:\n    - configMap: feed\n      key: list\n      entries: 1\n");
});
