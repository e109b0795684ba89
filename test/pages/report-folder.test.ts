// Reports about a folder's WAF, written by the whole program.
// Long: `npm run test:deploy` runs it.
import { expect, test } from "@jest/globals";
import { parse } from "yaml";
import type { LogEntry } from "../../src/model/log-entry.ts";
import { ruleOf, tableOf } from "../support/builders/page-texts.ts";
import { row } from "../support/fakes/scripted-logs.ts";
import { runWafsync } from "../support/processes/wafsync-process.ts";
import { logKey, logWorld } from "../support/worlds/log-world.ts";
import type { LogWorld } from "../support/worlds/log-world.ts";
import { scratchDirectory } from "../support/worlds/scratch-directory.ts";
import { instanceDocument, originDocument, ruleDocument, secretDocument } from "../support/worlds/waf-folder.ts";

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

test("A report about a folder's WAF suggests no exempt clients, and counts by network, method, status and user agent", async () => {
  await using world = await logWorld({ now });
  await using files = await folderOf(world);
  const from = ["-f", files.path, "--allow-insecure-http"];
  expect(await runWafsync(["apply", ...from])).toMatchObject({ code: 0 });
  addRows(world, 6, 2, { client_ip: "203.0.113.9" });
  addRows(world, 5, 2, { client_ip: "198.51.100.7" });
  addRows(world, 4, 2, { client_ip: "192.0.2.66" });
  addRows(world, 3, 2, { client_ip: "203.0.113.77", http_method: "POST", http_status: 429, user_agent: null });
  addRows(world, 2, 2, { client_ip: "192.0.2.99" });
  addRows(world, 1, 2, { client_ip: "192.0.2.200" });
  const { code, stdout } = await runWafsync(["report", ...from, "--since", "24h", "--out", "-"]);
  expect(code).toBe(0);
  expect(tableOf(stdout, "clients").map((cells) => [cells[0], cells[1], cells.at(-1)])).toStrictEqual([
    ["203.0.113.9", "6", "blocked"],
    ["198.51.100.7", "5", "exempt (an Allow rule)"],
    ["192.0.2.66", "4", "exempt (neverBlock)"],
    ["203.0.113.77", "3", "exempt (a declared origin)"],
    ["192.0.2.99", "2", "not on a list"],
    ["192.0.2.200", "1", "exempt (a WafAutoBlock)"],
  ]);
  expect(parse(ruleOf(stdout))).toMatchObject({ spec: { addresses: ["192.0.2.99"] } });
  expect(tableOf(stdout, "networks").map((cells) => [cells[0], cells[1], cells[3]])).toStrictEqual([
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
});
