// Reports about a folder's WAF and about single clients, written by the whole program.
import { describe, expect, test } from "@jest/globals";
import { parse } from "yaml";
import type { LogEntry } from "../../../src/model/log-entry.ts";
import { ruleOf, tableOf, unescaped } from "../../support/builders/page-texts.ts";
import { row } from "../../support/fakes/scripted-logs.ts";
import { runWafsync } from "../../support/processes/wafsync-process.ts";
import { logKey, logWorld } from "../../support/worlds/log-world.ts";
import type { LogWorld } from "../../support/worlds/log-world.ts";
import { scratchDirectory } from "../../support/worlds/scratch-directory.ts";
import { instanceDocument, originDocument, ruleDocument, secretDocument } from "../../support/worlds/waf-folder.ts";

const hourMs = 3_600_000;
// The program uses the clock of this machine, and so do the simulator and the rows.
const nowMs = Date.now();
const now = new Date(nowMs).toISOString();

function addRows(world: LogWorld, count: number, hoursAgo: number, fields: Partial<LogEntry>): void {
  const timestamp = new Date(nowMs - hoursAgo * hourMs).toISOString();
  for (let place = 0; place < count; place += 1) {
    expect(world.simulator.waf(logKey).addLogEntry(row("/login?try=1", { timestamp, ...fields }) as never, 0)).toBe(
      true,
    );
  }
}

async function folderOf(world: LogWorld) {
  return await scratchDirectory({
    "main.yaml": instanceDocument(world.simulator.baseUrl, {
      spec: "  allowlist: {policy: Observe}\n  guards: {neverBlock: [192.0.2.64/28]}\n",
    }),
    "secret.yaml": secretDocument(logKey),
    "scanners.yaml": ruleDocument("scanners", { addresses: ["203.0.113.9", "203.0.113.10"] }),
    "partners.yaml": ruleDocument("partners", { action: "Allow", addresses: ["198.51.100.0/24"] }),
    "origin.yaml": originDocument("standby", "203.0.113.77"),
    "attackers.yaml": [
      "apiVersion: wafsync.dev/v1alpha1",
      "kind: WafAutoBlock",
      "metadata: {name: attackers, namespace: shop}",
      "spec: {instanceRef: {name: main}, threshold: 1000, window: 10m, exempt: [192.0.2.200]}",
    ].join("\n"),
  });
}

describe("a report about a folder's WAF", () => {
  test("suggests no exempt clients, marks changes to the lists, and compares with the previous period", async () => {
    await using world = await logWorld({ now });
    await using files = await folderOf(world);
    const from = ["-f", files.path, "--allow-insecure-http"];
    expect(await runWafsync(["apply", ...from])).toMatchObject({ code: 0 });
    addRows(world, 6, 2, { client_ip: "203.0.113.9" });
    addRows(world, 3, 30, { client_ip: "203.0.113.9" });
    addRows(world, 5, 2, { client_ip: "198.51.100.7" });
    addRows(world, 4, 2, { client_ip: "192.0.2.66" });
    addRows(world, 3, 2, { client_ip: "203.0.113.77", http_method: "POST", http_status: 429, user_agent: null });
    addRows(world, 2, 2, { client_ip: "192.0.2.99" });
    addRows(world, 1, 2, { client_ip: "192.0.2.200" });
    const { code, stdout } = await runWafsync(["report", ...from, "--since", "24h", "--out", "-"]);
    expect(code).toBe(0);
    expect(tableOf(stdout, "clients").map((cells) => [cells[0], cells[1], cells[3], cells.at(-1)])).toStrictEqual([
      ["203.0.113.9", "6", "3", "blocked"],
      ["198.51.100.7", "5", "new", "exempt (an Allow rule)"],
      ["192.0.2.66", "4", "new", "exempt (neverBlock)"],
      ["203.0.113.77", "3", "new", "exempt (a declared origin)"],
      ["192.0.2.99", "2", "new", "not on a list"],
      ["192.0.2.200", "1", "new", "exempt (a WafAutoBlock)"],
    ]);
    expect(parse(ruleOf(stdout))).toMatchObject({ spec: { addresses: ["192.0.2.99"] } });
    expect(tableOf(stdout, "networks").map((cells) => [cells[0], cells[1], cells[4]])).toStrictEqual([
      ["203.0.113.0/24", "9", "2"],
      ["192.0.2.0/24", "7", "3"],
      ["198.51.100.0/24", "5", "1"],
    ]);
    expect(tableOf(stdout, "methods").map((cells) => cells.slice(0, 2))).toStrictEqual([
      ["GET", "18"],
      ["POST", "3"],
    ]);
    expect(tableOf(stdout, "statuses").map(([status]) => status)).toStrictEqual(["403", "429"]);
    expect(tableOf(stdout, "agents")[1]?.slice(0, 2)).toStrictEqual(["No user agent", "3"]);
    const changes = tableOf(stdout, "changes");
    expect(changes).toContainEqual([
      expect.stringMatching(/^[12]$/),
      expect.any(String),
      "Added",
      "blocklist",
      "2",
      expect.stringContaining("203.0.113.10"),
      "WafIpRule shop/scanners",
    ]);
    expect(stdout).toContain("+600 %: 3 in the previous period");
  });

  test("about one client and one network shows their requests, and the output of `why`", async () => {
    await using world = await logWorld({ now });
    await using files = await folderOf(world);
    const from = ["-f", files.path, "--allow-insecure-http"];
    expect((await runWafsync(["apply", ...from])).code).toBe(0);
    addRows(world, 2, 3, { client_ip: "203.0.113.9", user_agent: "sqlmap/1.8", request_path: "/a?id=1" });
    addRows(world, 1, 2, { client_ip: "::ffff:203.0.113.9", request_path: "/b?id=2" });
    addRows(world, 1, 2, { client_ip: "2001:db8::77" });
    addRows(world, 7, 2, { client_ip: "198.51.100.7" });
    const focus = ["--client", "203.0.113.9", "--network", "2001:db8::1"];
    const { code, stdout } = await runWafsync(["report", ...from, "--since", "12h", ...focus, "--out", "-"]);
    expect(code).toBe(0);
    expect(tableOf(stdout, "clients").map((cells) => cells.slice(0, 2))).toStrictEqual([
      ["203.0.113.9", "3"],
      ["2001:db8::77", "1"],
    ]);
    expect(tableOf(stdout, "newest").map((cells) => cells[4])).toStrictEqual([
      "/b?id=2",
      "/login?try=1",
      "/a?id=1",
      "/a?id=1",
    ]);
    const why = await runWafsync(["why", "203.0.113.9", ...from]);
    const lines = why.stdout.split("\n").filter((line) => line.trim() !== "" && !line.startsWith("To unblock it"));
    expect(lines.length).toBeGreaterThan(2);
    for (const line of lines) expect(unescaped(stdout)).toContain(line);
    expect(stdout).toContain("2001:db8::/64 on the lists");
    expect(stdout).not.toContain("198.51.100.7");
  });

  test.each([
    [["--client", "203.0.113.300"], '"203.0.113.300" is not an address or network'],
    [["--network", "rubbish"], '"rubbish" is not an address or network'],
    [
      ["--client", Array.from({ length: 21 }, (_, place) => `192.0.2.${place}`).join(",")],
      "a report can be about at most 20 clients and networks, not 21",
    ],
  ])("rejects %j", async (more, complaint) => {
    await using world = await logWorld({ now });
    await using files = await folderOf(world);
    const { code, stderr } = await runWafsync(["report", "-f", files.path, "--allow-insecure-http", ...more]);
    expect([code, stderr]).toStrictEqual([2, expect.stringContaining(complaint)]);
    expect(world.simulator.requests()).toStrictEqual([]);
  });
});

describe("logs of a network", () => {
  test("include the /24 or /64 of an address, and the given clients", async () => {
    await using world = await logWorld({ now });
    for (const client_ip of ["203.0.113.9", "203.0.113.200", "2001:db8::1", "2001:db8:0:1::1", "192.0.2.1"]) {
      addRows(world, 1, 1, { client_ip });
    }
    const source = ["--base-url", world.simulator.baseUrl, "--allow-insecure-http"];
    const filters = ["--network", "203.0.113.7,2001:db8::ffff", "--client", "192.0.2.1"];
    const { code, stdout } = await runWafsync(["logs", ...source, ...filters, "--since", "yesterday", "-o", "ndjson"], {
      environment: { WAFSYNC_API_KEY: logKey },
    });
    expect(code).toBe(0);
    const clients = stdout
      .trim()
      .split("\n")
      .map((line) => (JSON.parse(line) as LogEntry).client_ip);
    expect(clients.toSorted()).toStrictEqual(["192.0.2.1", "2001:db8::1", "203.0.113.200", "203.0.113.9"]);
  });
});
