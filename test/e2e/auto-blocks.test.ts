// The whole life cycle of an automatic block, with the program as users run it: suggested, enforced, explained, expired.
import { expect, test } from "@jest/globals";
import { runWafsync, startWafsync } from "../support/processes/wafsync-process.ts";
import { anEntry } from "../support/builders/log-entry.ts";
import { ruleDocument, testKey, type WafFolder, wafFolder } from "../support/worlds/waf-folder.ts";

const attacker = "203.0.113.66";
const neighbour = "203.0.113.67";
const partner = "198.51.100.7";

function autoBlock(mode: "Suggest" | "Enforce"): string {
  return `---
apiVersion: wafsync.dev/v1alpha1
kind: WafAutoBlock
metadata: {name: attackers, namespace: shop}
spec:
  instanceRef: {name: main}
  mode: ${mode}
  match: {reasons: [sql]}
  threshold: 20
  groupBy: Network
  ttl: 30m
`;
}

function attack({ simulator }: WafFolder, client: string, count: number): void {
  for (let index = 0; index < count; index += 1) {
    const timeMs = Date.now() - index * 1_000;
    const entry = anEntry({ timestamp: new Date(timeMs).toISOString(), client_ip: client, request_path: `/${index}` });
    simulator.waf(testKey).logs.add({ ...entry, user_agent: partner, country: "NL" }, timeMs);
  }
}

test("an attacker is suggested, then blocked, explained by why, and unblocked on time", async () => {
  await using folder = await wafFolder({}, "  logs: {interval: 10s}\n");
  const waf = folder.simulator.waf(testKey);
  await folder.files.write("partners.yaml", ruleDocument("partners", { action: "Allow", addresses: [partner] }));
  await folder.files.write("attackers.yaml", autoBlock("Suggest"));
  attack(folder, attacker, 30);
  attack(folder, neighbour, 3);
  attack(folder, partner, 60);

  const running = startWafsync(["run", ...folder.from]);
  await running.hasPrinted(/BlockSuggested.*Suggests blocking 1 client: 203\.0\.113\.66\./);
  expect(waf.blocklist).toStrictEqual([]);
  await folder.files.write("attackers.yaml", autoBlock("Enforce"));
  await running.hasPrinted(/EntriesAdded.*Added 1 entry for WafAutoBlock shop\/attackers: 203\.0\.113\.66\./);
  expect(waf.blocklist).toStrictEqual([attacker]);
  running.child.kill("SIGINT");
  expect((await running.ended).code).toBe(0);

  const status = await folder.statusOf("WafAutoBlock/shop/attackers");
  expect(status).toMatchObject({
    listed: 1,
    synced: "1/1",
    rows: { matched: 93, late: 0, unreadable: 0 },
    clients: [{ entry: attacker, times: 1, requests: 30, reasons: ["SQL Injection: 30"] }],
  });
  const why = await folder.run(`why ${attacker}`);
  expect(why.code).toBe(0);
  expect(why.stdout).toContain("WafAutoBlock shop/attackers");
  expect(why.stdout).toMatch(/30 requests from \S+ to \S+: 30 SQL Injection/);
  expect((await folder.run(`why ${neighbour}`)).code).toBe(1);
  expect((await folder.run(`why ${partner}`)).code).toBe(3);
  const plan = await folder.run("plan");
  expect([plan.code, plan.stdout]).toStrictEqual([0, expect.stringContaining("Nothing to do")]);

  // Another command and another process keep the entry until it expires.
  expect((await folder.run("apply")).code).toBe(0);
  expect(waf.blocklist).toStrictEqual([attacker]);
  const ended = { laterMs: 31 * 60_000 };
  const apply = await runWafsync(["apply", ...folder.from], ended);
  expect([apply.code, apply.stderr]).toStrictEqual([0, expect.not.stringContaining("error")]);
  expect(waf.blocklist).toStrictEqual([]);
  // The removal may be of tomorrow.
  const history = await runWafsync(["history", attacker, ...folder.from], ended);
  expect(history.stdout).toMatch(/added[^\n]*WafAutoBlock shop\/attackers/i);
  expect(history.stdout).toMatch(/removed[^\n]*WafAutoBlock shop\/attackers/i);
});
