// What `block` and `unblock` promise in a folder: an end that comes, a block that is one, and the true cause of one that stays.
import { readdir, readFile, rename, symlink } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as realDelay } from "node:timers/promises";
import { describe, expect, test } from "@jest/globals";
import { runFaster, startWafsync } from "../support/processes/wafsync-process.ts";
import { instanceDocument, ruleDocument, testKey, wafFolder, type WafFolder } from "../support/worlds/waf-folder.ts";

runFaster();

const address = "203.0.113.9";
const file = "main-block-203-0-113-9.yaml";

/** All that `block --for` says about the end. */
const staying = `note: other rules or writers also block ${address}, so it stays blocked without this rule.\n`;

/** A folder whose rule `team`, at `team.yaml:8`, blocks these entries. */
async function folderOfTeam(blocked: readonly string[]): Promise<WafFolder> {
  const folder = await wafFolder();
  await folder.files.write("team.yaml", ruleDocument("team", { addresses: blocked }));
  expect((await folder.run("apply")).code).toBe(0);
  return folder;
}

describe("block", () => {
  test("promises no end for an address that a permanent rule blocks as well", async () => {
    await using folder = await folderOfTeam(["203.0.113.0/24", address]);
    const blocked = await folder.run(`block ${address} --for 1h`);
    expect([blocked.code, blocked.stderr]).toStrictEqual([0, staying]);
    expect(blocked.stdout).toMatch(
      /203-0-113-9\.yaml:\d+, until .*\n {2}WafIpRule shop\/team at team\.yaml:8\n[^]*0\/24 .*\n {2}WafIpRule shop\/team at team\.yaml:8\n/,
    );
    const json = JSON.parse((await folder.run(`block ${address} --for 1h -o json`)).stdout) as object;
    expect(json).toMatchObject({
      addresses: [{ address, verdict: "Blocked", coverings: [{ entry: address }, { entry: "203.0.113.0/24" }] }],
    });
  });

  test("promises no end, and no way back, for an entry that another writer added", async () => {
    await using folder = await wafFolder();
    folder.simulator.waf(testKey).add("blocklist", [address]);
    const blocked = await folder.run(`block ${address} --for 1h`);
    expect([blocked.code, blocked.stdout]).toStrictEqual([0, expect.stringContaining("another writer added it")]);
    expect(blocked.stderr).toBe(staying);
    const unblocked = await folder.run(`unblock ${address}`);
    expect([unblocked.code, unblocked.stderr]).toStrictEqual([1, ""]);
    expect(unblocked.stdout).toMatch(/is removed, [^]*is blocked[^]*another writer added it[^]*the WAF's own console/);
    expect(unblocked.stdout).not.toContain(file);
    expect(await readdir(folder.path)).not.toContain(file);
  });

  test("says what to run after an error of the API, because nothing retries", async () => {
    await using folder = await wafFolder();
    folder.simulator.addFaults({ times: 1_000, effect: { kind: "ServerError" } });
    // Ends during a backoff.
    const failed = await folder.run(`block ${address} --for 1h --timeout 6`);
    expect(failed.code).toBe(1);
    expect(failed.stdout).toContain("is written, but the WAF does not show the change yet.");
    expect(failed.stderr).toMatch(/or run `wafsync apply -f [^`]*` once this is fixed and after /);
    expect(failed.stderr).not.toContain("wafsync retries");
  });

  test("says that a suspended instance keeps it from the WAF", async () => {
    await using folder = await wafFolder({}, "  suspend: true\n");
    const blocked = await folder.run(`block ${address}`);
    expect([blocked.code, blocked.stderr]).toStrictEqual([1, expect.stringContaining("the instance is suspended")]);
    expect(blocked.stderr).not.toContain("now");
  });

  test("warns of the allowlist, declared or not, and does not call the address blocked", async () => {
    await using folder = await wafFolder();
    folder.simulator.waf(testKey).add("allowlist", ["203.0.113.0/24"]);
    const blocked = await folder.run(`block ${address}`);
    expect(blocked.code).toBe(1);
    expect(blocked.stdout).toMatch(
      /is allowed on .*; the blocklist also covers it, [^]*allowlist {2}203\.0\.113\.0\/24 {2}unmanaged: another writer added it/,
    );
    await folder.files.write(
      "office.yaml",
      ruleDocument("office", { action: "Allow", addresses: ["198.51.100.0/24"] }),
    );
    const declared = await folder.run("block 198.51.100.7 --no-wait");
    expect(declared.code).toBe(1);
    expect(declared.stdout).toMatch(/allowlist {2}198\.51\.100\.0\/24[^]*WafIpRule shop\/office at office\.yaml:8/);
  });

  test("writes nothing if one of several instances refuses the address", async () => {
    await using folder = await wafFolder();
    const spec = `  guards: {neverBlock: [${address}]}\n`;
    await folder.files.write("other.yaml", instanceDocument(folder.simulator.baseUrl, { name: "other", spec }));
    const refused = await folder.run(`block ${address} --instance main,other --no-wait`);
    expect([refused.code, refused.stdout]).toStrictEqual([2, ""]);
    expect(refused.stderr).toMatch(/cannot be blocked on shop\/other: [^]*Nothing was written/);
    expect(await readdir(folder.path)).not.toContain(file);
  });

  test("names the rules that it wrote before one that can't be written", async () => {
    await using folder = await wafFolder();
    await symlink("nowhere", join(folder.path, "main-block-203-0-113-10.yaml"));
    const failed = await folder.run(`block ${address} 203.0.113.10 --no-wait`);
    expect([failed.code, failed.stdout]).toStrictEqual([2, ""]);
    expect(failed.stderr).toMatch(
      /not a regular file\n {2}These rules were .*, and stay: shop\/main-block-203-0-113-9\.$/m,
    );
    expect(await readdir(folder.path)).toContain(file);
  });

  test("deletes expired rules of earlier blocks, says so, and judges only its own address", async () => {
    await using folder = await folderOfTeam(["192.0.2.1"]);
    const expired = ruleDocument("main-block-192-0-2-1", {
      addresses: ["192.0.2.1"],
      spec: `  expiresAt: "2026-01-01T00:00:00Z"\n`,
    }).replace("{name:", `{annotations: {wafsync.dev/created-by: wafsync-block}, name:`);
    await folder.files.write("main-block-192-0-2-1.yaml", expired);
    // Not only this rule is in its file, so it can't be deleted.
    const kept = `${expired.replaceAll("192-0-2-1", "192-0-2-2")}${ruleDocument("other", { addresses: ["192.0.2.3"] })}`;
    await folder.files.write("kept.yaml", kept);
    // Its run ends before it reports that the entries of the other rules are removed.
    expect((await folder.run(`block ${address}`)).stderr).toBe("");
    await folder.run("apply");
    const blocked = await folder.run(`block ${address}`);
    expect([blocked.code, blocked.stderr]).toStrictEqual([
      0,
      expect.stringContaining("deleted WafIpRule shop/main-block-192-0-2-1, which had expired"),
    ]);
    expect(await readdir(folder.path)).not.toContain("main-block-192-0-2-1.yaml");
    expect(await readdir(folder.path)).toContain("kept.yaml");
    expect(folder.simulator.waf(testKey).blocklist.toSorted()).toStrictEqual(["192.0.2.1", "192.0.2.3", address]);
  });

  test("takes back the exception of `allow`, which `unblock` names", async () => {
    await using folder = await folderOfTeam(["203.0.113.0/24"]);
    const waf = folder.simulator.waf(testKey);
    const still = await folder.run(`unblock ${address}`);
    expect([still.code, still.stdout]).toStrictEqual([1, expect.stringMatching(/allow 203\.0\.113\.9 -f .* --for 1h/)]);
    const allowed = await folder.run(`allow ${address} --for 1h`);
    expect(allowed.stdout).toMatch(/is allowed on [^]*Remove 203\.0\.113\.0\/24 from its rule[^]*--end$/m);
    const again = await folder.run(`unblock ${address}`);
    expect([again.code, again.stdout]).toStrictEqual([0, expect.not.stringContaining("--for")]);
    // The rule of a command that somebody has edited.
    const edited = ruleDocument("edited", { action: "Allow", configMap: "offices" });
    const annotations = "annotations: {wafsync.dev/created-by: wafsync-block}";
    await folder.files.write("edited.yaml", edited.replace("namespace: shop}", `namespace: shop, ${annotations}}`));
    const blocked = await folder.run(`block ${address}`);
    expect([blocked.code, blocked.stdout]).toStrictEqual([
      0,
      expect.stringContaining("WafIpRule shop/main-allow-203-0-113-9 is removed"),
    ]);
    expect([waf.allowlist, waf.blocklist.toSorted()]).toStrictEqual([[], ["203.0.113.0/24", address]]);
    expect(await readdir(folder.path)).toContain("edited.yaml");
  });

  test.each(["removed", "changed"])("ends at once when its rule is %s by another command", async (how) => {
    await using folder = await wafFolder();
    const watching = startWafsync(["run", ...folder.from]);
    await watching.hasPrinted(/Watching/);
    folder.simulator.settings.latencyMs = 1_000;
    const blocking = startWafsync(["block", address, ...folder.from]);
    while (!(await readdir(folder.path)).includes(file)) await realDelay(10);
    if (how === "removed") await folder.files.remove(file);
    else {
      const text = await readFile(join(folder.path, file), "utf8");
      await folder.files.write("draft.txt", text.replace(`- ${address}`, `- ${address}\n    - 192.0.2.9`));
      await rename(join(folder.path, "draft.txt"), join(folder.path, file));
    }
    const { code, stderr } = await blocking.ended;
    watching.child.kill("SIGTERM");
    await watching.ended;
    expect([code, stderr]).toStrictEqual([
      1,
      expect.stringContaining(`WafIpRule shop/main-block-203-0-113-9 was ${how} by another command`),
    ]);
  });

  test("names its reason in the answer of why and in the history, also when the block is gone", async () => {
    await using folder = await wafFolder();
    const reason = "scans the shop, INC-4711";
    await folder.run(`block ${address}`, "--reason", reason);
    for (const output of ["table", "json"]) {
      expect((await folder.run(`why ${address} -o ${output}`)).stdout).toContain(reason);
    }
    await folder.run(`unblock ${address}`);
    expect((await folder.run("history")).stdout).toContain(reason);
    await folder.run(`block ${address} --no-wait`, "--reason", reason);
    expect((await folder.run("plan -o json")).stdout).toContain(reason);
    for (const output of ["table", "json"]) {
      expect((await folder.run(`status -o ${output}`, "--state", join(folder.path, "new"))).stdout).toContain(reason);
    }
  });
});

describe("unblock", () => {
  test("of a network names what still blocks parts of it", async () => {
    await using folder = await folderOfTeam(["198.51.100.77"]);
    folder.simulator.waf(testKey).add("blocklist", ["198.51.100.78"]);
    const left = await folder.run("unblock 198.51.100.0/24");
    expect(left.code).toBe(1);
    expect(left.stdout).toMatch(
      /198\.51\.100\.0\/24 is not blocked[^]*198\.51\.100\.77 is blocked[^]*shop\/team at team\.yaml:8[^]*Remove 198\.51\.100\.77[^]*198\.51\.100\.78 is blocked[^]*another writer/,
    );
  });

  test("of two networks says that their removal is on hold, and how to approve it", async () => {
    await using folder = await wafFolder({}, "  guards: {maxRemovals: 1}\n");
    expect((await folder.run("block 198.18.7.0/30 198.18.8.0/30")).code).toBe(0);
    const held = await folder.run("unblock 198.18.7.0/30 198.18.8.0/30");
    expect([held.code, held.stdout]).toStrictEqual([1, expect.stringContaining("does not show the change yet")]);
    expect(held.stderr).toMatch(
      /is still on the blocklist[^]*note: removals are on hold\. To see and approve them: wafsync approve/,
    );
    // Before the approval, it would change nothing.
    expect(held.stderr).not.toContain("wafsync apply");
  });

  test("of an address in a blocked network says how to take only this address out of it", async () => {
    await using folder = await wafFolder();
    await folder.run("block 198.18.7.0/24");
    const left = await folder.run("unblock 198.18.7.1");
    expect(left.code).toBe(1);
    expect(left.stdout).toMatch(/198-18-7-0-24 at [^]*Remove 198\.18\.7\.0\/24 .*except: \[198\.18\.7\.1\]/);
    expect(folder.simulator.waf(testKey).blocklist).toStrictEqual(["198.18.7.0/24"]);
  });
});

describe("allow", () => {
  test("is refused by the guards, and without an end, before anything is written", async () => {
    await using folder = await folderOfTeam([address]);
    for (const [command, message] of [
      [`allow ${address} --for 1h`, "cannot be allowed on shop/main: "],
      ["allow 0.0.0.0/0 --for 1h", "cannot be allowed on shop/main: "],
      ["allow 198.51.100.7", "needs either --for or --end"],
      ["allow 198.51.100.7 --for 1h --end", "needs either --for or --end"],
    ] as const) {
      const refused = await folder.run(command);
      expect([refused.code, refused.stderr]).toStrictEqual([2, expect.stringContaining(message)]);
    }
    expect(folder.simulator.waf(testKey).allowlist).toStrictEqual([]);
  });

  test("takes back the block of exactly this address", async () => {
    await using folder = await wafFolder();
    await folder.run(`block ${address}`);
    const allowed = await folder.run(`allow ${address} --for 1h --reason INC-4711`);
    expect([allowed.code, allowed.stdout]).toStrictEqual([
      0,
      expect.stringContaining("WafIpRule shop/main-block-203-0-113-9 is removed"),
    ]);
    const { allowlist, blocklist } = folder.simulator.waf(testKey);
    expect([allowlist, blocklist]).toStrictEqual([[address], []]);
    expect((await folder.run(`why ${address}`)).stdout).toContain("INC-4711");
  });

  test("ends an exception early", async () => {
    await using folder = await folderOfTeam(["203.0.113.0/24"]);
    expect((await folder.run(`allow ${address} --for 1h`)).code).toBe(0);
    const ended = await folder.run(`allow ${address} --end`);
    expect([ended.code, ended.stdout]).toStrictEqual([
      0,
      expect.stringContaining("WafIpRule shop/main-allow-203-0-113-9 is removed"),
    ]);
    expect(folder.simulator.waf(testKey).allowlist).toStrictEqual([]);
    const none = await folder.run(`allow ${address} --end`);
    expect([none.code, none.stdout]).toStrictEqual([0, expect.stringContaining("is blocked on")]);
  });
});
