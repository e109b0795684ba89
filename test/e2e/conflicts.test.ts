// An Allow rule never lifts a block that another rule declares and that the list shows, however the record of the block got lost.
import { rm } from "node:fs/promises";
import { type Condition, detailOf } from "../../src/kinds/conditions.ts";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { runFaster } from "../support/processes/wafsync-process.ts";
import { ruleDocument, testKey, type WafFolder, wafFolder } from "../support/worlds/waf-folder.ts";

runFaster();

const one = "198.51.100.9";

/** Reads the lists twice at any time: records of missing entries are dropped at once. */
const impatient = "  consistencyWindow: 0s\n";

async function declare({ files }: WafFolder, name: string, action: "Block" | "Allow", spec = "", addresses = [one]) {
  await files.write(`${name}.yaml`, ruleDocument(name, { action, addresses, spec }));
}

async function apply(folder: WafFolder) {
  const { stdout } = await folder.run("apply");
  const { blocklist, allowlist } = folder.simulator.waf(testKey);
  return { stdout, lists: [...blocklist, "/", ...allowlist].join(" ") };
}

async function remedyOf(folder: WafFolder, rule: string): Promise<unknown> {
  const { conditions } = (await folder.statusOf(`WafIpRule/shop/${rule}`)) as {
    conditions: readonly Condition[];
  };
  return detailOf(conditions, "Accepted");
}

describe("An Allow rule for an entry that another rule blocks", () => {
  test("does not win because an urgent rule evicts the block from a full list", async () => {
    await using folder = await wafFolder({}, `${impatient}  blocklist: {maxEntries: 1}\n`);
    await declare(folder, "scanners", "Block");
    await apply(folder);
    // The name sorts before the other one's, which decides a conflict that no list has decided yet.
    await declare(folder, "office", "Allow");
    await declare(folder, "urgent", "Block", "  priority: 100\n", ["198.51.100.1"]);
    for (let time = 0; time < 4; time += 1) expect((await apply(folder)).lists).toBe("198.51.100.1 /");
    expect(await remedyOf(folder, "office")).toContain("is also in WafIpRule shop/scanners with action Block");
    await rm(join(folder.path, "urgent.yaml"));
    await apply(folder);
    expect((await apply(folder)).lists).toBe(`${one} /`);
  });

  test("does not win because a rule that retains the block is deleted", async () => {
    await using folder = await wafFolder({}, impatient);
    await declare(folder, "a-keep", "Block", "  deletionPolicy: Retain\n");
    await declare(folder, "scanners", "Block");
    await declare(folder, "office", "Allow");
    await apply(folder);
    await rm(join(folder.path, "a-keep.yaml"));
    for (let time = 0; time < 3; time += 1) expect((await apply(folder)).lists).toBe(`${one} /`);
    expect(await remedyOf(folder, "office")).toContain("is also in WafIpRule shop/scanners with action Block");
  });
});
