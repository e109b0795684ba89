// Removals on hold from a user's view: which are held and which go on, what every command says of them, and how they are approved.
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { runFaster } from "../support/processes/wafsync-process.ts";
import { ruleDocument, testKey, wafFolder } from "../support/worlds/waf-folder.ts";

runFaster();

test("A restored inventory puts removals on hold until `wafsync approve` accepts it", async () => {
  await using folder = await wafFolder();
  const { files, from, path, simulator } = folder;
  const declare = async (...addresses: string[]) =>
    await files.write("rule.yaml", ruleDocument("hosts", { addresses }));
  await declare("192.0.2.1", "192.0.2.2");
  expect((await folder.run("apply")).code).toBe(0);
  const inventory = join(path, ".wafsync/inventory/shop/main.txt");
  await cp(inventory, join(path, "backup.txt"));
  await declare("192.0.2.1", "192.0.2.2", "192.0.2.3");
  expect((await folder.run("apply")).code).toBe(0);
  await cp(join(path, "backup.txt"), inventory);

  await declare("192.0.2.1", "192.0.2.3", "192.0.2.4");
  const reason = "it was probably restored from a backup";
  const planned = await folder.run("plan");
  expect([planned.code, planned.stdout]).toStrictEqual([1, expect.stringContaining(reason)]);
  const applied = await folder.run("apply");
  expect([applied.code, applied.stdout]).toStrictEqual([1, expect.stringContaining(reason)]);
  const { blocklist } = simulator.waf(testKey);
  expect(blocklist).toStrictEqual(["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"]);
  const status = await folder.run("status");
  expect(status.stdout).toContain(`To see and approve them: wafsync approve ${from.join(" ")} --instance shop/main`);

  expect((await folder.run("approve --yes")).code).toBe(0);
  expect((await folder.run("apply")).code).toBe(0);
  expect(simulator.waf(testKey).blocklist).toStrictEqual(["192.0.2.1", "192.0.2.3", "192.0.2.4"]);
  expect((await folder.run("plan")).stdout).not.toContain("on hold");
});
