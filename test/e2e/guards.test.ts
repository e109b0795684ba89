// The guards on entries from a user's view: what `plan` prints, what `apply` writes, and what happens to entries that a guard
// starts to reject.
import { describe, expect, test } from "@jest/globals";
import { instanceDocument, originDocument, ruleDocument, testKey, wafFolder } from "../support/worlds/waf-folder.ts";
import type { WafFolder } from "../support/worlds/waf-folder.ts";
import { runWafsync } from "../support/processes/wafsync-process.ts";

const neverBlock = `  guards: {neverBlock: [192.0.2.5]}\n`;
const special = `  guards: {specialPurpose: Allow}\n`;

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

async function writeInstance({ files, simulator }: WafFolder, spec: string): Promise<void> {
  await files.write("main.yaml", instanceDocument(simulator.baseUrl, { spec }));
}

describe("Special-purpose networks", () => {
  test("are rejected in Block and Allow rules with what to write, and the rest is applied", async () => {
    await using folder = await wafFolder();
    await folder.files.write("block.yaml", ruleDocument("block", { addresses: ["192.0.2.1", "10.0.0.0/8"] }));
    await folder.files.write("allow.yaml", ruleDocument("allow", { action: "Allow", addresses: ["fd00:1::/48"] }));
    const planned = await runWafsync(["plan", ...folder.from]);
    expect(planned.code).toBe(2);
    expect(planned.stdout).toContain(
      "  block.yaml:2: WafIpRule shop/block: GuardRejected, 1 entry is not applied\n    block.yaml:8: spec.addresses[1]: 10.0.0.0/8 overlaps 10.0.0.0/8 (private use, RFC 1918), which never sends requests over the public Internet: write public addresses, or set spec.guards.specialPurpose of the instance to Allow.\n",
    );
    expect(planned.stdout).toContain("fd00:1::/48 overlaps fc00::/7 (unique local, RFC 4193)");
    const applied = await runWafsync(["apply", ...folder.from]);
    expect(applied.code).toBe(1);
    const waf = folder.simulator.waf(testKey);
    expect([waf.blocklist, waf.allowlist]).toStrictEqual([["192.0.2.1"], []]);
  });

  test("are written if the instance allows it, and removed when it no longer does, unless a guard puts the removal on hold", async () => {
    await using folder = await wafFolder({}, special);
    await folder.files.write("block.yaml", ruleDocument("block", { addresses: ["192.0.2.1", "10.0.0.0/8"] }));
    expect((await runWafsync(["apply", ...folder.from])).code).toBe(0);
    const waf = folder.simulator.waf(testKey);
    expect(waf.blocklist.toSorted()).toStrictEqual(["10.0.0.0/8", "192.0.2.1"]);

    await writeInstance(folder, "  guards: {maxRemovals: 0}\n");
    const held = await runWafsync(["plan", ...folder.from]);
    expect(held.stdout).toContain("  ! blocklist  10.0.0.0/8  on hold");
    await runWafsync(["apply", ...folder.from]);
    expect(waf.blocklist).toContain("10.0.0.0/8");

    await writeInstance(folder, "");
    const planned = await runWafsync(["plan", ...folder.from]);
    expect(planned.stdout).toContain(
      "  - blocklist  10.0.0.0/8  added by wafsync, and no rule declares it any longer; last declared by WafIpRule shop/block",
    );
    expect(planned.stdout).toContain("GuardRejected, 1 entry is not applied");
    await runWafsync(["apply", ...folder.from]);
    expect(waf.blocklist).toStrictEqual(["192.0.2.1"]);
  });
});

test("An Allow entry has its own width limit, and the message names its field", async () => {
  await using folder = await wafFolder();
  await folder.files.write("allow.yaml", ruleDocument("allow", { action: "Allow", addresses: ["198.18.0.0/15"] }));
  await folder.files.write("block.yaml", ruleDocument("block", { addresses: ["203.0.0.0/15"] }));
  const { stdout } = await runWafsync(["plan", ...folder.from]);
  expect(stdout).toContain(
    "allow.yaml:8: spec.addresses[0]: 198.18.0.0/15 is wider than /16, the limit in spec.guards.allowMinPrefixLength.ipv4 of the instance: write narrower networks.",
  );
  expect(stdout).toContain("  + blocklist  203.0.0.0/15");
});

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

  test("is replaced by the remaining networks when the rule leaves the address out: additions are first", async () => {
    await using folder = await wafFolder();
    await folder.files.write("wide.yaml", ruleDocument("wide", { addresses }));
    expect((await runWafsync(["apply", ...folder.from])).code).toBe(0);
    await folder.files.write("wide.yaml", ruleDocument("wide", { addresses, spec: "  except: [192.0.2.5]\n" }));
    const { stdout } = await runWafsync(["plan", ...folder.from]);
    const lines = stdout.split("\n").filter((line) => /^ {2}[+-] /.test(line));
    expect(lines.map((line) => line.split(/ {2,}/).slice(1, 3).join(" "))).toStrictEqual([
      "+ blocklist 192.0.2.0/30",
      "+ blocklist 192.0.2.4",
      "+ blocklist 192.0.2.6/31",
      "- blocklist 192.0.2.0/29",
    ]);
  });
});

describe("Many small removals", () => {
  test("by several commands are put on hold like one large removal", async () => {
    const addresses = Array.from({ length: 12 }, (_, index) => `192.0.2.${index + 1}`);
    await using folder = await wafFolder();
    const declare = async (from: number): Promise<void> =>
      await folder.files.write("block.yaml", ruleDocument("block", { addresses: addresses.slice(from) }));
    const waf = folder.simulator.waf(testKey);
    await declare(0);
    expect((await runWafsync(["apply", ...folder.from])).code).toBe(0);
    await declare(3);
    expect((await runWafsync(["apply", ...folder.from])).code).toBe(0);
    expect(waf.blocklist).toHaveLength(9);
    await declare(4);
    const held = await runWafsync(["apply", ...folder.from]);
    expect(held.stdout + held.stderr).toContain(
      "per plan and within 1h, and 3 entries were already removed in this time",
    );
    expect(waf.blocklist).toHaveLength(9);
  });
});

test("An address that waits for removals on hold is named by plan, apply, status and why", async () => {
  const full = "  blocklist: {maxEntries: 2}\n  guards: {maxRemovals: 0}\n";
  await using folder = await wafFolder({}, full);
  const declare = async (...addresses: string[]) =>
    await folder.files.write("rule.yaml", ruleDocument("hosts", { addresses }));
  await declare("192.0.2.1", "192.0.2.2");
  expect((await runWafsync(["apply", ...folder.from])).code).toBe(0);
  await declare("192.0.2.3", "192.0.2.4");
  const planned = await runWafsync(["plan", ...folder.from]);
  expect([planned.code, planned.stdout]).toStrictEqual([
    1,
    expect.stringMatching(
      /\? blocklist {2}192\.0\.2\.3 +the list has no room for it .*: removals on hold would make room/,
    ),
  ]);
  const reason = "2 entries (192.0.2.3, 192.0.2.4) do not fit on the blocklist";
  const applied = await runWafsync(["apply", ...folder.from]);
  expect([applied.code, applied.stdout]).toStrictEqual([1, expect.stringContaining(reason)]);
  expect((await runWafsync(["status", ...folder.from])).stdout).toContain(reason);
  expect((await runWafsync(["why", "192.0.2.3", ...folder.from])).stdout).toContain(reason);
  expect(folder.simulator.waf(testKey).blocklist).toStrictEqual(["192.0.2.1", "192.0.2.2"]);
});
