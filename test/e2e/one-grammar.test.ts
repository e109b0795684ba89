// The options that have the same meaning in every command; with the whole program.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { LogEntry } from "../../src/model/log-entry.ts";
import { runWafsync } from "../support/processes/wafsync-process.ts";
import { instanceDocument, ruleDocument, secretDocument } from "../support/worlds/waf-folder.ts";
import { logKey, logWorld, type LogWorld } from "../support/worlds/log-world.ts";
import { scratchDirectory, type ScratchDirectory } from "../support/worlds/scratch-directory.ts";

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

  test("have defaults in the environment, which give way to any other target", async () => {
    const environment = { HOME: files.path, WAFSYNC_FILE: "waf", WAFSYNC_INSTANCE: "shop/main" };
    const from = async (...parameters: string[]) =>
      await runWafsync(parameters, { workingDirectory: files.path, environment });
    expect((await from("plan", "--allow-insecure-http")).code).toBe(1);
    expect(await from("validate", "-f", ".")).toMatchObject({ code: 0, stdout: "2 objects are valid.\n" });
    expect((await from("status")).stdout).toContain("shop/main");
    expect((await from("status", "--instance", "shop/other")).stderr).toContain("there is no WafInstance shop/other");
    expect((await from("status", "-n", "shop")).stderr).toContain("there is no kubeconfig");
    const direct = ["--base-url", world.simulator.baseUrl, "--allow-insecure-http"];
    expect((await from("logs", ...direct)).stderr).toContain("no API key given");
  });

  test("name several instances for a block and its end", async () => {
    const several = await scratchDirectory({
      "secret.yaml": secretDocument(logKey),
      "one.yaml": instanceDocument(world.simulator.baseUrl, { name: "one" }),
      "two.yaml": instanceDocument(world.simulator.baseUrl, { name: "two" }),
    });
    const on = async (command: string, ...parameters: string[]) =>
      await runWafsync([
        command,
        "198.51.100.7",
        ...parameters,
        "-f",
        several.path,
        "--allow-insecure-http",
        "--no-wait",
      ]);
    expect((await on("block")).stderr).toContain("there are 2 WafInstances");
    expect((await on("block", "--instance", "one,missing")).code).toBe(2);
    const blocked = await on("block", "--instance", "one,shop/two");
    expect([blocked.code, blocked.stdout.match(/is declared as blocked on shop\/\w+/g)]).toStrictEqual([
      0,
      ["is declared as blocked on shop/one", "is declared as blocked on shop/two"],
    ]);
    expect((await on("unblock", "--all-instances")).stdout.match(/on shop\/\w+/g)).toStrictEqual([
      "on shop/one",
      "on shop/two",
    ]);
    await several[Symbol.asyncDispose]();
  });

  test("select exactly the rows between two times", async () => {
    const whole = rows((await run("logs", ...folder, ...days)).stdout);
    expect(whole).toHaveLength(200);
    const part = await run("logs", ...folder, "--since", "2026-06-10T06:30", "--until", "2026-06-11T18:00");
    expect(part).toMatchObject({ code: 0, stderr: "" });
    const expected = whole.filter(
      ({ timestamp }) => timestamp >= "2026-06-10T06:30" && timestamp < "2026-06-11T18:00:00.000Z",
    );
    expect(expected.length).toBeGreaterThan(50);
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

  test("name a folder that does not exist, or that is its own state directory, in every command", async () => {
    for (const command of ["plan", "block 192.0.2.1", "history", "report --out -"]) {
      const words = command.split(" ");
      const missing = await run(...words, "-f", "nope");
      const same = await run(...words, ...folder, "--state", "waf");
      expect([command, missing.code, missing.stderr, same.code, same.stderr]).toStrictEqual([
        command,
        2,
        expect.stringContaining("folder nope does not exist"),
        2,
        expect.stringContaining("waf is the folder with the YAML files"),
      ]);
    }
  });
});
