// What `plan` and `apply` report about differences from the declared state, with the bundle that ships.
// Long: `npm run test:deploy` runs it.
import { describe, expect, test } from "@jest/globals";
import { startWafsync } from "../support/processes/wafsync-process.ts";
import {
  cacheClearDocument,
  instanceDocument,
  ruleDocument,
  testKey,
  wafFolder,
  type WafFolder,
} from "../support/worlds/waf-folder.ts";
import { addresses as testAddresses } from "../support/builders/declare.ts";
import type { InstanceView } from "../../src/cli/instance-view.ts";

const nothing = "Nothing to do: the WAF matches the declared state.";

async function planned(folder: WafFolder): Promise<InstanceView> {
  const { stdout } = await folder.run("plan", "-o", "json");
  const [plan] = (JSON.parse(stdout) as { instances: InstanceView[] }).instances;
  return plan as InstanceView;
}

describe("Drift", () => {
  const all = testAddresses(15);

  test("is shown by plan and reported by apply", async () => {
    await using folder = await wafFolder();
    await folder.files.write("rule.yaml", ruleDocument("feed", { addresses: all }));
    expect((await folder.run("apply")).code).toBe(0);
    expect((await folder.run("plan")).stdout).toContain(nothing);

    folder.simulator.waf(testKey).remove("blocklist", all.slice(1));
    const plan = await folder.run("plan");
    expect(plan.code).toBe(1);
    expect(plan.stdout).toContain("was removed by another writer and will be added again for WafIpRule shop/feed");
    expect(plan.stdout).toContain("Plan: 14 to add (14 removed by another writer), 0 to remove, one call each.");
    // A plan does not change what the next command knows.
    expect((await planned(folder)).driftCount).toBe(14);

    const applied = await folder.run("apply");
    expect(applied.code).toBe(0);
    expect(applied.stdout).toContain("shop/main: 14 added, 0 removed");
    expect(applied.stdout).toMatch(
      /warning: DriftDetected: Another writer removed 14 declared entries, and wafsync adds them again: 198\./,
    );
    expect((await folder.run("apply")).stdout).not.toContain("DriftDetected");
    expect((await folder.run("plan")).code).toBe(0);
  });
});

describe("Every other difference from the declared state", () => {
  test("is in a plan that exits with 1 or 2: adoption, conflict, hold, cache clear, suspension", async () => {
    await using folder = await wafFolder({}, "  guards: {maxRemovals: 0}\n");
    const addresses = testAddresses(4);
    await folder.files.write("rule.yaml", ruleDocument("feed", { addresses }));
    expect((await folder.run("apply")).code).toBe(0);
    await folder.files.write("rule.yaml", ruleDocument("feed", { addresses: addresses.slice(1) }));
    await folder.files.write("clear.yaml", cacheClearDocument("after-release", "release-1"));
    const plan = await folder.run("plan");
    expect(plan.code).toBe(1);
    expect(plan.stdout).toMatch(
      /! blocklist {2}198\.18\.0\.0 {2}on hold, last declared by WafIpRule shop\/feed: the guards/,
    );
    expect(plan.stdout).toContain(
      "Plan: 0 to add, 0 to remove, 1 on hold, one call each, and one that clears the cache.",
    );

    await folder.files.remove("clear.yaml");
    await folder.files.write(
      "allow.yaml",
      ruleDocument("allow", { action: "Allow", addresses: addresses.slice(1, 2) }),
    );
    const conflict = await folder.run("plan");
    expect(conflict.code).toBe(2);
    expect(conflict.stdout).toContain("WafIpRule shop/allow: Conflict, 1 entry is not applied");
    expect(conflict.stdout).toContain("1 on hold, 1 rejected.");

    await folder.files.remove("allow.yaml");
    await folder.files.write("more.yaml", ruleDocument("more", { addresses: ["192.0.2.99"] }));
    await folder.files.write("main.yaml", instanceDocument(folder.simulator.baseUrl, { spec: "  suspend: true\n" }));
    expect((await folder.run("plan")).stdout).toContain("(1 to add); not written, because the instance is suspended");
  });

  test("when an apply is stopped halfway, the table agrees with the summary", async () => {
    const reached = Promise.withResolvers<void>();
    let posts = 0;
    await using folder = await wafFolder({
      latencyMs: 1,
      onRequest: ({ method }) => {
        posts += method === "POST" ? 1 : 0;
        if (posts === 1_050) reached.resolve();
      },
    });
    await folder.files.write("rule.yaml", ruleDocument("feed", { addresses: testAddresses(3_000) }));
    const running = startWafsync(["apply", ...folder.from]);
    await reached.promise;
    running.child.kill("SIGINT");
    const { code, stdout, stderr } = await running.ended;
    expect(code).toBe(130);
    expect(stderr).toContain("Stopped.");
    const added = /shop\/main: (?<added>1,\d{3}) added, 0 removed/.exec(stdout)?.groups?.["added"] ?? "";
    expect(stdout).toMatch(new RegExp(`WafIpRule +shop +feed +${added}/3,000 `));
    expect(stdout).toContain(`blocklist ${added} (${added} managed)`);
    expect(folder.simulator.waf(testKey).blocklist).toHaveLength(Number(added.replace(",", "")));
  });
});
