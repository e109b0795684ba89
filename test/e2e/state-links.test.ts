// A folder from a repository whose state directory is, or contains, a symbolic link: commands report this, and never touch the
// target of the link.
import { mkdir, readdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { runWafsync } from "../support/processes/wafsync-process.ts";
import { scratchDirectory } from "../support/worlds/scratch-directory.ts";
import type { ScratchDirectory } from "../support/worlds/scratch-directory.ts";
import { ruleDocument, testKey, wafFolder } from "../support/worlds/waf-folder.ts";
import type { WafFolder } from "../support/worlds/waf-folder.ts";

let world: WafFolder;
let elsewhere: ScratchDirectory;
beforeAll(async () => {
  world = await wafFolder();
  await world.files.write("rule.yaml", ruleDocument("rule", { addresses: ["192.0.2.1"] }));
  elsewhere = await scratchDirectory({ "mine.txt": "mine" });
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await elsewhere[Symbol.asyncDispose]();
});

test("apply refuses a state directory that is a link, and names it", async () => {
  const state = join(world.path, ".wafsync");
  await symlink(elsewhere.path, state);
  const { code, stderr } = await runWafsync(["apply", ...world.from]);
  expect([code, stderr]).toStrictEqual([2, expect.stringContaining(`${state} is a symbolic link`)]);
  expect(await readdir(elsewhere.path)).toStrictEqual(["mine.txt"]);
  expect(world.simulator.waf(testKey).blocklist).toStrictEqual([]);
  await world.files.remove(".wafsync");
});

test("apply writes neither to the WAF nor through a link in its state directory", async () => {
  // A former state directory, which a repository may contain.
  const inventories = join(world.path, ".wafsync/inventory");
  await mkdir(inventories, { recursive: true });
  await symlink(elsewhere.path, join(inventories, "shop"));
  const { code, stdout, stderr } = await runWafsync(["apply", ...world.from]);
  expect(code).toBeGreaterThan(0);
  expect(stdout + stderr).toContain("is a symbolic link");
  expect(await readdir(elsewhere.path)).toStrictEqual(["mine.txt"]);
  expect(world.simulator.waf(testKey).blocklist).toStrictEqual([]);
});
