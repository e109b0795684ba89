// The options that have the same meaning in every command, and the options of earlier versions, with the whole program.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { LogEntry } from "../../src/model/log-entry.ts";
import { runWafsync } from "../support/processes/wafsync-process.ts";
import { instanceDocument, ruleDocument, secretDocument } from "../support/worlds/waf-folder.ts";
import { logKey, logWorld } from "../support/worlds/log-world.ts";
import type { LogWorld } from "../support/worlds/log-world.ts";
import { scratchDirectory } from "../support/worlds/scratch-directory.ts";
import type { ScratchDirectory } from "../support/worlds/scratch-directory.ts";

describe("The options of all commands", () => {
  let world: LogWorld;
  let files: ScratchDirectory;
  const run = async (...parameters: string[]) => await runWafsync(parameters, { workingDirectory: files.path });
  const rows = (text: string): LogEntry[] =>
    text
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as LogEntry);

  beforeAll(async () => {
    world = await logWorld({ now: "2026-06-16T00:00:00Z", logRowsPerDay: 100 });
    files = await scratchDirectory({
      "waf/secret.yaml": secretDocument(logKey),
      "waf/instance.yaml": instanceDocument(world.simulator.baseUrl),
      "waf/rule.yaml": ruleDocument("scanners", { addresses: ["203.0.113.9"] }),
    });
  });

  afterAll(async () => {
    await world[Symbol.asyncDispose]();
    await files[Symbol.asyncDispose]();
  });

  const folder = ["-f", "waf", "--allow-insecure-http"];
  const days = ["--since", "2026-06-10", "--until", "2026-06-11"];

  test("include one that is required: the error says so if neither a folder nor a cluster is given", async () => {
    const environment = { HOME: files.path };
    for (const command of ["status", "why 192.0.2.1", "block 192.0.2.1", "history", "approve"]) {
      const { code, stderr } = await runWafsync(command.split(" "), { environment });
      expect([code, stderr]).toStrictEqual([2, expect.stringMatching(/there is no kubeconfig[^]*-f DIRECTORY/)]);
    }
  });

  test("accept a folder as an argument, too", async () => {
    const named = await run("plan", ...folder);
    expect(named.code).toBe(1);
    expect(await run("plan", "waf", "--allow-insecure-http")).toStrictEqual(named);
    expect(await run("plan", "--allow-insecure-http", "waf", "-f", "waf")).toStrictEqual(named);
  });

  test("select exactly the rows between two times", async () => {
    const whole = rows((await run("logs", ...folder, ...days)).stdout);
    expect(whole).toHaveLength(200);
    const part = await run("logs", ...folder, "--since", "2026-06-10T06:30", "--until", "2026-06-11T18:00");
    expect(part).toMatchObject({ code: 0, stderr: "" });
    const expected = whole.filter(
      ({ timestamp }) => timestamp >= "2026-06-10T06:30" && timestamp < "2026-06-11T18:00:00.000Z",
    );
    expect(expected.length).toBeGreaterThan(100);
    expect(rows(part.stdout)).toStrictEqual(expected);
    const page = await run(
      "report",
      ...folder,
      "--since",
      "2026-06-10T06:30",
      "--until",
      "2026-06-11T18:00",
      "--out",
      "-",
    );
    expect(page.stderr).toContain(`A report of ${expected.length} blocked requests`);
    expect(page.stdout).toContain("2026-06-10 06:30 to 2026-06-11 18:00");
  });

  test("write a file in the format of its extension", async () => {
    expect(await run("logs", ...folder, ...days, "--out", "rows.csv")).toMatchObject({ code: 0 });
    expect(await readFile(join(files.path, "rows.csv"), "utf8")).toMatch(/^timestamp,/u);
    expect(await run("logs", ...folder, ...days, "--out", "named.csv", "-o", "ndjson")).toMatchObject({ code: 0 });
    expect(await readFile(join(files.path, "named.csv"), "utf8")).toMatch(/^\{/u);
  });

  test("resume a file with times only if they are the same", async () => {
    const moments = ["--since", "2026-06-10T06:30", "--until", "2026-06-11"];
    // Stops after the first day, so that there is something to resume.
    world.simulator.addFaults({
      match: { path: "/api/logs/query", nth: 3 },
      times: 100,
      effect: { kind: "Respond", status: 403, body: JSON.stringify({ success: false, message: "Bad API Key Value" }) },
    });
    const first = await run("logs", ...folder, ...moments, "--out", "resumed.ndjson");
    world.simulator.clearFaults();
    if (first.code === 0) throw new Error("it did not stop");
    const other = await run(
      "logs",
      ...folder,
      "--since",
      "2026-06-10T07:30",
      "--until",
      "2026-06-11",
      "--out",
      "resumed.ndjson",
      "--resume",
    );
    expect(other.code).toBe(2);
    expect(other.stderr).toContain("--since 2026-06-10T06:30:00Z --until 2026-06-11");
    expect(await run("logs", ...folder, ...moments, "--out", "resumed.ndjson", "--resume")).toMatchObject({ code: 0 });
    const whole = rows((await run("logs", ...folder, ...moments)).stdout);
    expect(rows(await readFile(join(files.path, "resumed.ndjson"), "utf8"))).toStrictEqual(whole);
  });

  test("are accepted under their former names, with a warning on stderr and the same result", async () => {
    const now = await run("logs", ...folder, ...days, "-o", "ndjson");
    const former = ["--directory", "waf", "--allow-insecure-http", "--from", "2026-06-10", "--to", "2026-06-11"];
    const then = await run("logs", ...former, "--format", "ndjson");
    expect([then.code, then.stdout]).toStrictEqual([0, now.stdout]);
    expect(then.stderr).toBe(
      ["--directory is now --from", "--from is now --since", "--to is now --until", "--format is now --output"]
        .map((text) => `warning: ${text}; the next version does not accept ${text.split(" ")[0] ?? ""} here\n`)
        .join(""),
    );
    expect(await run("report", ...former, "--output", "old.html")).toMatchObject({ code: 0 });
    expect(await readFile(join(files.path, "old.html"), "utf8")).toContain("<svg");
  });
});
