// The bans of CrowdSec from their beginning to their end, with the program as users run it and the default guards.
import { expect, test } from "@jest/globals";
import { someAddresses } from "../support/builders/declare-feed.ts";
import { FakeCrowdsec } from "../support/fakes/fake-crowdsec.ts";
import { runFaster, runWafsync } from "../support/processes/wafsync-process.ts";
import { instanceDocument, ruleDocument, testKey, type WafFolder, wafFolder } from "../support/worlds/waf-folder.ts";

runFaster();

const hourMs = 3_600_000;

async function declare(folder: WafFolder, crowdsec: FakeCrowdsec): Promise<void> {
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
`,
  );
  await folder.files.write("rule.yaml", ruleDocument("bans", { spec: "  addressesFrom: [{feedRef: {name: bans}}]\n" }));
}

/** Applies after this time, and returns what is on the WAF then. */
async function applied(folder: WafFolder, laterMs: number) {
  const flags = ["--allow-private-feeds", "--allow-insecure-http"];
  const { code } = await runWafsync(["apply", ...folder.from, ...flags], { laterMs });
  return { code, blocked: folder.simulator.waf(testKey).blocklist.toSorted() };
}

test("bans that end together are removed without an approval, even if the instance was suspended at their end", async () => {
  await using folder = await wafFolder();
  const crowdsec = await FakeCrowdsec.start();
  await declare(folder, crowdsec);
  const [short, long] = [someAddresses(40), someAddresses(60).slice(40)];
  crowdsec.add(
    ...short.map((value) => ({ value, seconds: 3600 })),
    ...long.map((value) => ({ value, seconds: 90_000 })),
  );
  expect(await applied(folder, 0)).toMatchObject({ code: 0 });
  crowdsec.decisions = crowdsec.decisions.slice(40);
  const instance = (spec: string) => instanceDocument(folder.simulator.baseUrl, { spec });
  await folder.files.write("main.yaml", instance("  suspend: true\n"));
  await applied(folder, 2 * hourMs);
  await folder.files.write("main.yaml", instance(""));
  expect(await applied(folder, 3 * hourMs)).toMatchObject({ code: 0, blocked: long.toSorted() });
  await crowdsec.stop();
});
