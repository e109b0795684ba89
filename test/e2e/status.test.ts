// What is not Ready is seen: objects that refer to no instance, feeds, cache clears and files with errors, in `status`, `why`, the page
// and the exit codes of `plan` and `apply`.
import { expect, test } from "@jest/globals";
import { ScriptedServer } from "../support/fakes/scripted-server.ts";
import { runFaster } from "../support/processes/wafsync-process.ts";
import { servePage, textOf } from "../support/worlds/open-page.ts";
import {
  cacheClearDocument,
  instanceDocument,
  originDocument,
  ruleDocument,
  testKey,
  wafFolder,
} from "../support/worlds/waf-folder.ts";

runFaster();

function mistyped(document: string): string {
  return document.replaceAll("instanceRef: {name: main}", "instanceRef: {name: mian}");
}

const autoBlock = `---
apiVersion: wafsync.dev/v1alpha1
kind: WafAutoBlock
metadata: {name: attackers, namespace: shop}
spec: {instanceRef: {name: main}, threshold: 10}
`;

function feedAndRule(url: string, request: string): string {
  return `---
apiVersion: wafsync.dev/v1alpha1
kind: WafFeed
metadata: {name: threats, namespace: shop, annotations: {wafsync.dev/requested-at: "${request}"}}
spec: {http: {url: ${JSON.stringify(url)}}}
${ruleDocument("feeds", { spec: "  addressesFrom: [{feedRef: {name: threats}}]\n" })}`;
}

test("objects whose instance is mistyped are listed by status, named by why, and counted by the page", async () => {
  await using folder = await wafFolder();
  await folder.files.write("right.yaml", ruleDocument("right", { addresses: ["192.0.2.1"] }));
  await folder.run("apply");
  expect((await folder.run("status")).code).toBe(0);

  const rule = ruleDocument("typo", { addresses: ["192.0.2.98", "192.0.2.99"] });
  const others = [originDocument("lost", "a.example"), cacheClearDocument("clear", "v1"), autoBlock];
  await folder.files.write("typo.yaml", mistyped([rule, ...others].join("")));
  const problem = "There is no WafInstance shop/mian in the directory; did you mean main?";
  const status = await folder.run("status");
  expect(status.code).toBe(1);
  expect(status.stdout).toMatch(/shop\/main\s+\S+\s+True/);
  for (const object of ["WafIpRule typo", "WafOrigin lost", "WafCacheClear clear", "WafAutoBlock attackers"]) {
    const [kind, name] = object.split(" ");
    expect(status.stdout).toContain(`${kind} shop/${name}: InstanceNotFound\n  ${problem}\n`);
  }

  const why = await folder.run("why 192.0.2.99");
  expect(why.stdout).toMatch(/WafIpRule shop\/typo at typo\.yaml:\d+ declares it without effect:\n {2}There is no/);
  expect((await folder.run("why 192.0.2.97")).stdout).not.toContain("shop/typo");

  await using page = await servePage(folder.from);
  const summary = await page.json("/summary");
  expect(summary).toMatchObject({
    totals: { instances: 1, ready: 1, notReady: 4 },
    unattached: expect.arrayContaining([
      expect.objectContaining({ kind: "WafIpRule", name: "shop/typo", reason: "InstanceNotFound", message: problem }),
    ]),
  });
  const text = textOf((await page.get("/")).text);
  expect(text).toContain("The WAF is ready, but 4 objects are not");
  expect(text).toMatch(/WafIpRule\s+shop\/typo\s+Not ready: InstanceNotFound\s+There is no WafInstance/);

  // Nobody knows what a source declares that does not exist.
  const spec = "  addressesFrom: [{feedRef: {name: nowhere}}]\n";
  await folder.files.write("unread.yaml", ruleDocument("unread", { spec }));
  const unread = (await folder.run("why 192.0.2.97")).stdout;
  expect(unread).toMatch(/WafIpRule shop\/unread at unread\.yaml:\d+ may declare it:\n {2}WafFeed shop\/nowhere/);

  await folder.files.write("broken.yaml", "kind: WafIpRule\nspec: {}\n");
  const broken = await folder.run("status");
  expect([broken.code, broken.stdout]).toStrictEqual([1, expect.stringMatching(/^error: broken\.yaml:1: /mu)]);
  await folder.files.write("broken.yaml", "");

  // What a whole WAF waits for is printed once.
  folder.simulator.replaceKey(testKey, "another-key-0123456789");
  await folder.run("apply");
  const refused = (await folder.run("status")).stdout;
  expect(refused.match(/The WAF refuses the API key/g)).toHaveLength(1);
  expect(refused).toMatch(/\nright\.yaml:\d+: WafIpRule shop\/right: BadApiKey\n/);
});

test("a feed whose content is on hold or missing makes status, plan and apply exit with 1, and status names it", async () => {
  await using server = await ScriptedServer.start();
  await using folder = await wafFolder();
  const good = Array.from({ length: 20 }, (_, index) => `203.0.113.${index}`);
  server.serves(good.join("\n"));
  const apply = async (request: string): Promise<number | undefined> => {
    await folder.files.write("feed.yaml", feedAndRule(server.url(), request));
    return (await folder.run("apply", "--allow-private-feeds")).code;
  };
  expect(await apply("1")).toBe(0);
  expect((await folder.run("status")).code).toBe(0);

  server.serves(good[0] ?? "");
  expect(await apply("2")).toBe(1);
  expect((await folder.run("plan", "--allow-private-feeds")).code).toBe(1);
  const held = await folder.run("status");
  expect([held.code, held.stdout]).toStrictEqual([1, expect.stringContaining("WafFeed shop/threats: ContentOnHold")]);
  expect(folder.simulator.waf(testKey).blocklist).toHaveLength(20);

  server.fails(404);
  expect(await apply("3")).toBe(1);
  const missing = await folder.run("status");
  expect([missing.code, missing.stdout]).toStrictEqual([1, expect.stringContaining("shop/threats: Unavailable")]);
});

test("a plan fetches feeds and stores nothing; without the flag, internal addresses are rejected", async () => {
  await using folder = await wafFolder();
  await using server = await ScriptedServer.start();
  server.serves("192.0.2.1\n");
  await folder.files.write("feed.yaml", feedAndRule(server.url(), "1"));
  const refused = await folder.run("plan");
  expect(refused.stderr).toContain("not on the public Internet, which requires --allow-private-feeds");
  expect(server.requests).toStrictEqual([]);
  const planned = await folder.run("plan", "--allow-private-feeds");
  expect([planned.code, planned.stdout]).toStrictEqual([1, expect.stringContaining("192.0.2.1")]);
  expect(await folder.everyFile()).not.toContain("confirmedAtMs");
});

test("a base URL with a wrong path is named with advice, and without the key", async () => {
  await using folder = await wafFolder();
  const wrong = instanceDocument(`${folder.simulator.baseUrl}/wrong`);
  await folder.files.write("main.yaml", wrong);
  const planned = await folder.run("plan");
  expect([planned.code, planned.stderr]).toStrictEqual([2, expect.stringContaining("check the path of the base URL")]);
});

test("why says that there is no record instead of calling the entries of wafsync unmanaged", async () => {
  await using folder = await wafFolder();
  await folder.files.write("rule.yaml", ruleDocument("feed", { addresses: ["192.0.2.1"] }));
  await folder.run("apply");
  expect((await folder.run("why 192.0.2.1")).stdout).toContain("managed since");
  const elsewhere = await folder.run("why 192.0.2.1", "--state", `${folder.path}/.other`);
  expect(elsewhere.stdout).toContain("192.0.2.1  unknown whether wafsync manages it");
  expect(elsewhere.stdout).not.toContain("another writer");
  expect(elsewhere.stderr).toContain("There is no record of shop/main in ");
});
