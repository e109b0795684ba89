// One unreadable line puts only the removals of its own rule on hold. Tested with the program as users run it.
import { expect, test } from "@jest/globals";
import { realClock } from "../../src/async/clock.ts";
import { runWafsync } from "../support/processes/wafsync-process.ts";
import { configMapDocument, ruleDocument, testKey, wafFolder } from "../support/worlds/waf-folder.ts";

test("an invalid line of one rule puts its own removals on hold, and lets another rule remove entries and expire", async () => {
  await using folder = await wafFolder();
  const waf = folder.simulator.waf(testKey);
  const expiresAtMs = Math.ceil(Date.now() / 1000) * 1000 + 6_000;
  const until = `  expiresAt: "${new Date(expiresAtMs).toISOString()}"\n`;
  await folder.files.write("feed.yaml", ruleDocument("feed", { configMap: "feed" }));
  await folder.files.write("list.yaml", configMapDocument("feed", ["192.0.2.1", "192.0.2.2", "192.0.2.3"]));
  await folder.files.write("other.yaml", ruleDocument("other", { addresses: ["203.0.113.1", "203.0.113.2"] }));
  await folder.files.write("brief.yaml", ruleDocument("brief", { addresses: ["203.0.113.9"], spec: until }));
  expect((await runWafsync(["apply", ...folder.from])).code).toBe(0);
  expect(waf.blocklist).toHaveLength(6);

  await folder.files.write("list.yaml", configMapDocument("feed", ["192.0.2.1", "192.0.2.O2"]));
  await folder.files.write("other.yaml", ruleDocument("other", { addresses: ["203.0.113.1"] }));
  await realClock.sleep(Math.max(0, expiresAtMs - Date.now()));
  const applied = await runWafsync(["apply", ...folder.from]);
  expect(applied.code).toBe(1);
  expect(applied.stdout).toContain("0 added, 2 removed");
  expect(waf.blocklist.toSorted()).toStrictEqual(["192.0.2.1", "192.0.2.2", "192.0.2.3", "203.0.113.1"]);

  const planned = await runWafsync(["plan", ...folder.from]);
  for (const held of ["192.0.2.2", "192.0.2.3"]) expect(planned.stdout).toMatch(new RegExp(`${held} +on hold`));
  expect(planned.stdout).not.toMatch(/203\.0\.113\.\d+ +on hold/);
  const approved = await runWafsync(["approve", ...folder.from, "--yes"]);
  expect(approved).toMatchObject({ code: 0, stderr: "" });
  await runWafsync(["apply", ...folder.from]);
  expect(waf.blocklist.toSorted()).toStrictEqual(["192.0.2.1", "203.0.113.1"]);
});
