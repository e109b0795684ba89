// The guards on entries, `except` and `aggregate` from a user's view: what `plan` and `why` print, and what `apply` writes.
import { describe, expect, test } from "@jest/globals";
import { originDocument, ruleDocument, testKey, wafFolder } from "../support/worlds/waf-folder.ts";
import { runFaster, runWafsync } from "../support/processes/wafsync-process.ts";

runFaster();

const neverBlock = `  guards: {neverBlock: [192.0.2.5]}\n`;

interface PrintedRule {
  readonly name: string;
  readonly ready: string;
  readonly progress: string;
  readonly rejectedCount: number;
}

function ruleIn(stdout: string, name: string): PrintedRule | undefined {
  const { instances } = JSON.parse(stdout) as { instances: { objects: PrintedRule[] }[] };
  return instances[0]?.objects.find((object) => object.name === name);
}

describe("A Block entry around a protected address", () => {
  const addresses = ["192.0.2.0/29", "198.51.100.0/30"];
  const except = "  except: [192.0.2.5, 198.51.100.1]\n";

  test("is rejected until spec.except leaves the address out, as the message says; then there is nothing to do", async () => {
    await using folder = await wafFolder({}, neverBlock);
    await folder.files.write("wide.yaml", ruleDocument("wide", { addresses }));
    await folder.files.write("origin.yaml", originDocument("origin", "198.51.100.1"));
    const rejected = await runWafsync(["plan", ...folder.from]);
    expect(rejected.code).toBe(2);
    expect(rejected.stdout).toContain("add 192.0.2.5 to spec.except of the rule.");
    expect(rejected.stdout).toContain("add 198.51.100.1 to spec.except of the rule.");

    await folder.files.write("wide.yaml", ruleDocument("wide", { addresses, spec: except }));
    const applied = await runWafsync(["apply", ...folder.from, "-o", "json"]);
    expect(applied.code).toBe(0);
    expect(ruleIn(applied.stdout, "wide")).toMatchObject({ ready: "True", progress: "5/5", rejectedCount: 0 });
    expect(folder.simulator.waf(testKey).blocklist.toSorted()).toStrictEqual([
      "192.0.2.0/30",
      "192.0.2.4",
      "192.0.2.6/31",
      "198.51.100.0",
      "198.51.100.2/31",
    ]);
    const again = await runWafsync(["plan", ...folder.from]);
    expect(again.code).toBe(0);
    expect(again.stdout).toContain("Nothing to do: the WAF matches the declared state.");
  });
});

test("addresses become one network without those that the rule leaves out; why and status say so", async () => {
  await using folder = await wafFolder({}, "  blocklist: {maxEntries: 3}\n  guards: {neverBlock: [198.51.100.9]}\n");
  const addresses = ["203.0.113.6", "203.0.113.7", "198.51.100.8/31"];
  const except = "  except: [198.51.100.9]\n";
  await folder.files.write("a.yaml", ruleDocument("a", { addresses, spec: `${except}  aggregate: true\n` }));
  await folder.files.write("b.yaml", ruleDocument("b", { addresses: ["192.0.2.1", "192.0.2.3"] }));
  const planned = await runWafsync(["plan", ...folder.from]);
  expect(planned.stdout).toContain("203.0.113.6/31  declared by WafIpRule shop/a");
  expect(planned.stdout).toContain("? blocklist  192.0.2.3  the list has no room for it");
  expect((await runWafsync(["apply", ...folder.from])).code).not.toBe(0);
  const waf = folder.simulator.waf(testKey);
  expect(waf.blocklist.toSorted()).toStrictEqual(["192.0.2.1", "198.51.100.8", "203.0.113.6/31"]);
  const why = await runWafsync(["why", "203.0.113.7", ...folder.from]);
  expect(why.stdout).toContain("blocklist  203.0.113.6/31  managed since");
  expect(why.stdout).toContain("merged from 2 declared entries");
  expect(why.stdout).toContain("WafIpRule shop/a at a.yaml:");
  const left = await runWafsync(["why", "198.51.100.9", ...folder.from]);
  expect(left.stdout).toContain("spec.except of the rule leaves out 198.51.100.9.");
  const status = await runWafsync(["status", ...folder.from]);
  expect(status.stdout).toContain("CapacityExceeded");
  expect(status.stdout).toContain("1 entry (192.0.2.3) does not fit on the blocklist");
  expect(await folder.statusOf("WafIpRule/shop/a")).toMatchObject({
    progress: "2/2",
    entries: { desired: 2, synced: 2, declared: 3 },
  });
  await folder.files.remove("b.yaml");
  await folder.files.write("a.yaml", ruleDocument("a", { addresses, spec: except }));
  expect((await runWafsync(["apply", ...folder.from])).code).toBe(0);
  expect(waf.blocklist.toSorted()).toStrictEqual(["198.51.100.8", "203.0.113.6", "203.0.113.7"]);
});
