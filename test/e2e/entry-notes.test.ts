// The comment behind an entry, as people see it.
import { expect, test } from "@jest/globals";
import { configMapDocument, ruleDocument, wafFolder } from "../support/worlds/waf-folder.ts";

test("The comment behind an entry is shown by plan, why and status, without characters that control a terminal", async () => {
  await using folder = await wafFolder();
  const { files } = folder;
  const rule = (...lines: readonly string[]): string =>
    ruleDocument("team", {}).replace("addresses: []", ["addresses:", ...lines].join("\n    - "));
  await files.write("team.yaml", rule("192.0.2.17 # Office VPN, ask Ann", '"10.1.2.3" # printer', "192.0.2.19"));
  await files.write("list.yaml", configMapDocument("list", [`192.0.2.18 # scanner \u202e${"x".repeat(200)}`]));
  await files.write("listed.yaml", ruleDocument("listed", { configMap: "list" }));
  const plan = await folder.run("plan");
  expect(plan.stdout).toMatch(/192\.0\.2\.17 .*declared by WafIpRule shop\/team .* {2}# Office VPN, ask Ann$/m);
  expect(plan.stdout).toMatch(/192\.0\.2\.18 .*# scanner …$/m);
  expect(plan.stdout).toMatch(/10\.1\.2\.3.*Its comment: printer/);
  expect((await folder.run("plan", "-o", "markdown")).stdout).toContain("+ 192.0.2.17  &#35; Office VPN, ask Ann");
  await folder.run("apply");
  expect((await folder.run("why", "192.0.2.17")).stdout).toContain("    Office VPN, ask Ann");
  expect((await folder.run("status")).stdout).toContain("Its comment: printer");
  // Another comment is no change.
  await files.write("team.yaml", rule("192.0.2.17 # Office VPN, ask Ben", "192.0.2.19"));
  expect((await folder.run("plan", "-o", "json")).stdout).not.toContain("AddEntry");
  expect((await folder.run("why", "192.0.2.17")).stdout).toContain("    Office VPN, ask Ben");
});
