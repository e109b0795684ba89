// The guards on entries, `except` and `aggregate` from a user's view: what `plan` and `why` print, and what `apply` writes.
import { expect, test } from "@jest/globals";
import { ruleDocument, testKey, wafFolder } from "../support/worlds/waf-folder.ts";
import { runFaster } from "../support/processes/wafsync-process.ts";

runFaster();

test("addresses become one network without those that the rule leaves out; why and status say so", async () => {
  await using folder = await wafFolder({}, "  blocklist: {maxEntries: 3}\n  guards: {neverBlock: [198.51.100.9]}\n");
  const addresses = ["203.0.113.6", "203.0.113.7", "198.51.100.8/31"];
  const except = "  except: [198.51.100.9]\n";
  await folder.files.write("a.yaml", ruleDocument("a", { addresses, spec: `${except}  aggregate: true\n` }));
  await folder.files.write("b.yaml", ruleDocument("b", { addresses: ["192.0.2.1", "192.0.2.3"] }));
  const planned = await folder.run("plan");
  expect(planned.stdout).toContain("203.0.113.6/31  declared by WafIpRule shop/a");
  expect(planned.stdout).toContain("? blocklist  192.0.2.3  the list has no room for it");
  expect((await folder.run("apply")).code).not.toBe(0);
  const waf = folder.simulator.waf(testKey);
  expect(waf.blocklist.toSorted()).toStrictEqual(["192.0.2.1", "198.51.100.8", "203.0.113.6/31"]);
  const why = await folder.run("why 203.0.113.7");
  expect(why.stdout).toContain("blocklist  203.0.113.6/31  managed since");
  expect(why.stdout).toContain("merged from 2 declared entries");
  expect(why.stdout).toContain("WafIpRule shop/a at a.yaml:");
  const left = await folder.run("why 198.51.100.9");
  expect(left.stdout).toContain("spec.except of the rule leaves out 198.51.100.9.");
  const status = await folder.run("status");
  expect(status.stdout).toContain("CapacityExceeded");
  expect(status.stdout).toContain("1 entry (192.0.2.3) does not fit on the blocklist");
  expect(await folder.statusOf("WafIpRule/shop/a")).toMatchObject({
    progress: "2/2",
    entries: { desired: 2, synced: 2, declared: 3 },
  });
  await folder.files.remove("b.yaml");
  await folder.files.write("a.yaml", ruleDocument("a", { addresses, spec: except }));
  expect((await folder.run("apply")).code).toBe(0);
  expect(waf.blocklist.toSorted()).toStrictEqual(["198.51.100.8", "203.0.113.6", "203.0.113.7"]);
});
