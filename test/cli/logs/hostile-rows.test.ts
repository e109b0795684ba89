// Strings of attackers cannot control a terminal: tests whole programs that print such rows.
// Long: `npm run test:deploy` runs it.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { LogEntry } from "../../../src/model/log-entry.ts";
import { hostileRows } from "../../support/builders/hostile-rows.ts";
import { runWafsync } from "../../support/processes/wafsync-process.ts";
import { logKey, logWorld, type LogWorld } from "../../support/worlds/log-world.ts";

const nowMs = Date.now();
const client = "203.0.113.9";
/** All invisible characters except line breaks. */
const harmful = /(?!\n)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;
const rows = hostileRows(new Date(nowMs - 60_000).toISOString());

describe("Rows that attackers wrote", () => {
  let world: LogWorld;

  beforeAll(async () => {
    world = await logWorld({ now: new Date(nowMs).toISOString() });
    const last = { ...rows[0], client_ip: client, request_path: rows.map(({ request_path }) => request_path).join("") };
    for (const row of [...rows, last]) world.simulator.waf(logKey).logs.add(row as never, 0);
  });
  afterAll(async () => await world[Symbol.asyncDispose]());

  const source = () => ["--base-url", world.simulator.baseUrl, "--allow-insecure-http", "--since", "yesterday"];
  const environment = { WAFSYNC_API_KEY: logKey };

  test.each(["table", "ndjson", "json"])("are printed by `logs -o %s` without invisible characters", async (format) => {
    const { code, stdout, stderr } = await runWafsync(["logs", ...source(), "-o", format], { environment });
    expect(code).toBe(0);
    expect(`${stdout}${stderr}`).not.toMatch(harmful);
    if (format === "table") {
      const lines = stdout.trimEnd().split("\n");
      expect(lines).toHaveLength(rows.length + 2);
      expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(1_000);
    } else {
      const parsed =
        format === "json"
          ? JSON.parse(stdout)
          : stdout
              .trimEnd()
              .split("\n")
              .map((line) => JSON.parse(line));
      const paths = (parsed as LogEntry[]).map(({ request_path }) => request_path.toWellFormed());
      expect(paths).toStrictEqual(expect.arrayContaining(rows.map(({ request_path }) => request_path.toWellFormed())));
    }
  });
});
