// Compaction and capacity from a user's view: the output of `plan`, `apply`, `why` and `status`, and the lists of the WAF.
import { expect, test } from "@jest/globals";
import { runWafsync } from "../support/processes/wafsync-process.ts";
import { instanceDocument, ruleDocument, testKey, wafFolder } from "../support/worlds/waf-folder.ts";

const net = "203.0.113.0/24";
const inside = "203.0.113.7";

test("an entry inside another one needs no call, and plan, why and its rule's status name the entry that covers it", async () => {
  await using folder = await wafFolder();
  await folder.files.write("nets.yaml", ruleDocument("nets", { addresses: [net] }));
  await folder.files.write("hosts.yaml", ruleDocument("hosts", { addresses: [inside] }));
  const covered = `declared ${inside} is covered by ${net}`;
  const planned = await runWafsync(["plan", ...folder.from]);
  expect(planned.stdout).toContain(`${covered}, which is not on the list yet`);
  expect(planned.stdout).toContain("1 to add, 0 to remove");
  expect((await runWafsync(["run", "--once", ...folder.from])).code).toBe(0);
  const waf = folder.simulator.waf(testKey);
  expect(waf.blocklist).toStrictEqual([net]);
  expect((await runWafsync(["plan", ...folder.from])).stdout).toContain(`${covered}, which is on the list`);
  expect(await folder.statusOf("WafIpRule/shop/hosts")).toMatchObject({
    progress: "1/1",
    entries: { desired: 1, synced: 1, covered: 1 },
    conditions: expect.arrayContaining([
      expect.objectContaining({ type: "Synced", message: expect.stringContaining(`is covered by ${net}`) }),
    ]),
  });
  const why = await runWafsync(["why", inside, ...folder.from]);
  expect(why.code).toBe(0);
  expect(why.stdout).toContain(`blocklist  ${inside}  covered by ${net}`);
  expect(why.stdout).toContain(`Declared ${inside} is covered by ${net}, which is on the list.`);
  await folder.files.remove("nets.yaml");
  expect((await runWafsync(["run", "--once", ...folder.from])).code).toBe(0);
  expect(waf.blocklist).toStrictEqual([inside]);
});

test("with Exact, why names the merged entry and the rule; entries that do not fit are omitted and reported", async () => {
  const exact = "  blocklist: {compaction: Exact, maxEntries: 2}\n  guards: {maxRemovalPercent: 100}\n";
  await using folder = await wafFolder({}, exact);
  await folder.files.write("a.yaml", ruleDocument("a", { addresses: ["203.0.113.6", inside, "198.51.100.1"] }));
  await folder.files.write("b.yaml", ruleDocument("b", { addresses: ["198.51.100.9"] }));
  const planned = await runWafsync(["plan", ...folder.from]);
  expect(planned.stdout).toContain("203.0.113.6/31  for 2 entries declared by WafIpRule shop/a");
  expect(planned.stdout).toContain("? blocklist  198.51.100.9  the list has no room for it");
  expect((await runWafsync(["run", "--once", ...folder.from])).code).not.toBe(0);
  const waf = folder.simulator.waf(testKey);
  expect(waf.blocklist.toSorted()).toStrictEqual(["198.51.100.1", "203.0.113.6/31"]);
  const why = await runWafsync(["why", inside, ...folder.from]);
  expect(why.stdout).toContain(`blocklist  ${inside}  covered by 203.0.113.6/31`);
  expect(why.stdout).toContain("for 2 declared entries");
  const status = await runWafsync(["status", ...folder.from]);
  expect(status.stdout).toContain("CapacityExceeded");
  expect(status.stdout).toContain("1 entry (198.51.100.9) does not fit on the blocklist");
  await folder.files.write("main.yaml", instanceDocument(folder.simulator.baseUrl));
  expect((await runWafsync(["run", "--once", ...folder.from])).code).toBe(0);
  expect(waf.blocklist.toSorted()).toStrictEqual(["198.51.100.1", "198.51.100.9", "203.0.113.6", inside]);
});
