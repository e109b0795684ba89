// `why` on a WAF with `spec.logs` enabled: the last blocked request of an address.
import { expect, test } from "@jest/globals";
import { anEntry } from "../support/builders/log-entry.ts";
import { testKey, wafFolder, type WafFolder } from "../support/worlds/waf-folder.ts";

const hourMs = 3_600_000;

function block({ simulator }: WafFolder, request_path: string, hoursAgo: number, client_ip = "192.0.2.1"): string {
  const timeMs = Date.now() - hoursAgo * hourMs;
  const timestamp = new Date(timeMs).toISOString();
  const entry = { ...anEntry({ timestamp, request_path, client_ip }), user_agent: "curl/8.5.0", country: "NL" };
  simulator.waf(testKey).addLogEntry(entry, timeMs);
  return timestamp;
}

async function why(folder: WafFolder, address: string): Promise<string> {
  return (await folder.run(`why ${address}`)).stdout;
}

test("why shows the last blocked request of an address or network from today or yesterday", async () => {
  await using folder = await wafFolder({}, "  logs: {enabled: true}\n");
  const longAgo = block(folder, "/login", 23);
  expect(await why(folder, "192.0.2.1")).toContain(
    `Last blocked request: ${longAgo}  GET /login  403  SQL Injection 942100`,
  );
  block(folder, "/old", 0.002);
  const last = block(folder, `/${"a".repeat(500)}`, 0.001);
  block(folder, "/other", 0.0005, "198.51.100.7");
  const found = await why(folder, "192.0.2.0/24");
  expect(found).toMatch(new RegExp(`^Last blocked request from 192\\.0\\.2\\.1: ${last}  GET /a{100,130}…  403 `, "m"));
  expect(await why(folder, "192.0.2.9")).toMatch(/^No request has been blocked since \d{4}-\d\d-\d\d\.$/m);
});

test("why says if the logs cannot be read, and does not read them unless they are enabled", async () => {
  await using folder = await wafFolder({}, "  logs: {enabled: true}\n");
  const effect = { kind: "SuccessFalse", status: 404, message: "No WAF configured for this account" } as const;
  folder.simulator.addFaults({ match: { path: "/api/logs/query" }, effect, times: 2 });
  const { code, stderr } = await folder.run("why 192.0.2.1");
  expect([code, stderr]).toStrictEqual([1, expect.stringMatching(/The logs of \d{4}-\d\d-\d\d could not be read/)]);

  await using without = await wafFolder();
  block(without, "/login", 0.01);
  expect(await why(without, "192.0.2.1")).not.toContain("Last blocked");
  expect(without.simulator.waf(testKey).requestCount("GET /api/logs/query")).toBe(0);
});
