// To an instance, a typo in a reference or in the namespace of an attached object looks like a deletion: the entries stay all the same.
// Long: `npm run test:deploy` runs it.
import { expect, test } from "@jest/globals";
import { runFaster } from "../support/processes/wafsync-process.ts";
import { ruleDocument, testKey, wafFolder } from "../support/worlds/waf-folder.ts";

runFaster();

const scanners = ["192.0.2.17", "192.0.2.64/29", "2001:db8:bad::/48"];
const rule = ruleDocument("scanners", { addresses: scanners });

test.each([
  ["spec.instanceRef.name", "{name: main}", "{name: mian}", "shop/scanners", "did you mean main?"],
  [
    "spec.instanceRef.namespace",
    "{name: main}",
    "{name: main, namespace: shpo}",
    "shop/scanners",
    "name it in spec.instanceRef.namespace",
  ],
  ["metadata.namespace", "namespace: shop}", "namespace: shpo}", "shpo/scanners", "It may be WafIpRule shop/scanners"],
])("a typo in %s keeps the rule's entries, and says what to correct", async (_, from, to, name, hint) => {
  await using folder = await wafFolder();
  await folder.files.write("scanners.yaml", rule);
  expect((await folder.run("apply")).code).toBe(0);
  await folder.files.write("scanners.yaml", rule.replace(from, to));
  const planned = await folder.run("plan");
  expect([planned.code, planned.stdout]).toStrictEqual([
    2,
    expect.stringContaining("keeps 3 entries on the blocklist"),
  ]);
  const applied = await folder.run("apply");
  expect(applied.code).toBe(2);
  expect(
    applied.stdout.match(/keeps 3 entries on the blocklist \(.*\), last declared by WafIpRule shop\/scanners: /g),
  ).toHaveLength(1);
  expect(applied.stdout).toContain(`WafIpRule ${name} (scanners.yaml:`);
  expect(applied.stdout).toContain(hint);
  expect(folder.simulator.waf(testKey).blocklist.toSorted()).toStrictEqual(scanners);

  await folder.files.write("scanners.yaml", rule);
  expect((await folder.run("apply")).code).toBe(0);
  expect(folder.simulator.waf(testKey).blocklist.toSorted()).toStrictEqual(scanners);
});
