// The bans of CrowdSec from their beginning to their end, with the program as users run it and the default guards.
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { someAddresses } from "../support/builders/declare-feed.ts";
import { FakeCrowdsec } from "../support/fakes/fake-crowdsec.ts";
import { runWafsync } from "../support/processes/wafsync-process.ts";
import { instanceDocument, ruleDocument, testKey, type WafFolder, wafFolder } from "../support/worlds/waf-folder.ts";

const later = join(import.meta.dirname, "../support/processes/wafsync-later.ts");
const hourMs = 3_600_000;

async function declare(folder: WafFolder, crowdsec: FakeCrowdsec, spec = ""): Promise<void> {
  await folder.files.write(
    "feed.yaml",
    `apiVersion: v1
kind: Secret
metadata: {name: bouncer, namespace: shop}
stringData: {apiKey: ${crowdsec.key}}
---
apiVersion: wafsync.dev/v1alpha1
kind: WafFeed
metadata: {name: bans, namespace: shop}
spec:
  crowdsec: {url: "${crowdsec.url}", apiKeySecretRef: {name: bouncer}}
${spec}`,
  );
  await folder.files.write("rule.yaml", ruleDocument("bans", { spec: "  addressesFrom: [{feedRef: {name: bans}}]\n" }));
}

/** Applies after this time, and returns what is on the WAF then. */
async function applied(folder: WafFolder, laterMs: number) {
  const flags = ["--allow-private-feeds", "--allow-insecure-http"];
  const environment = { WAFSYNC_TEST_LATER_MS: String(laterMs) };
  const { code, stdout, stderr } = await runWafsync(["apply", ...folder.from, ...flags], {
    program: later,
    environment,
  });
  return { code, output: stdout + stderr, blocked: folder.simulator.waf(testKey).blocklist.toSorted() };
}

function ban(value: string, seconds: number) {
  return { value, seconds };
}

test("after an absence, the bans that ended are removed and the new ones applied, without a person", async () => {
  await using folder = await wafFolder();
  const crowdsec = await FakeCrowdsec.start();
  await declare(folder, crowdsec);
  const [before, after] = [someAddresses(40), someAddresses(50).slice(40)];
  crowdsec.add(...before.map((value) => ban(value, 4 * 3600)));
  expect(await applied(folder, 0)).toMatchObject({ code: 0, blocked: before.toSorted() });
  crowdsec.decisions = after.map((value) => ban(value, 4 * 3600));
  const result = await applied(folder, 9 * hourMs);
  expect(result.output).not.toContain("on hold");
  expect(result).toMatchObject({ code: 0, blocked: after.toSorted() });
  await crowdsec.stop();
});

test("bans that end together are removed without an approval, even if the instance was suspended at their end", async () => {
  await using folder = await wafFolder();
  const crowdsec = await FakeCrowdsec.start();
  await declare(folder, crowdsec);
  const [short, long] = [someAddresses(40), someAddresses(60).slice(40)];
  crowdsec.add(...short.map((value) => ban(value, 3600)), ...long.map((value) => ban(value, 90_000)));
  expect(await applied(folder, 0)).toMatchObject({ code: 0 });
  crowdsec.decisions = crowdsec.decisions.slice(40);
  const instance = (spec: string) => instanceDocument(folder.simulator.baseUrl, { spec });
  await folder.files.write("main.yaml", instance("  suspend: true\n"));
  await applied(folder, 2 * hourMs);
  await folder.files.write("main.yaml", instance(""));
  expect(await applied(folder, 3 * hourMs)).toMatchObject({ code: 0, blocked: long.toSorted() });
  await crowdsec.stop();
});

test("bans that are deleted before their end count for the guards", async () => {
  await using folder = await wafFolder();
  const crowdsec = await FakeCrowdsec.start();
  await declare(folder, crowdsec, "  guards: {maxShrinkPercent: 100}\n");
  crowdsec.add(...someAddresses(60).map((value) => ban(value, 90_000)));
  expect(await applied(folder, 0)).toMatchObject({ code: 0 });
  crowdsec.decisions = crowdsec.decisions.slice(40);
  const result = await applied(folder, 2 * hourMs);
  expect(result).toMatchObject({ code: 1, blocked: someAddresses(60).toSorted() });
  expect(result.output).toContain("40 removals from the blocklist");
  await crowdsec.stop();
});
