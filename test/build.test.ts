import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { copyFile, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";

const root = join(import.meta.dirname, "..");
const execute = promisify(execFile);
/** The program that the bundle is made of. */
const hasProgram = existsSync(join(root, "src", "cli", "main.ts"));
const describeBundle = hasProgram ? describe : describe.skip;

describeBundle("the bundle, alone in a folder without node_modules", () => {
  let folder = "";

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "wafsync-build-"));
    const built = join(folder, "built", "wafsync.mjs");
    await execute(process.execPath, ["scripts/build.ts", built], { cwd: root });
    await copyFile(built, join(folder, "wafsync.mjs"));
  });

  afterAll(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  /** Without the environment, so that nothing of this project can be found through it. */
  function runBundle(...parameters: string[]) {
    return execute(process.execPath, [join(folder, "wafsync.mjs"), ...parameters], { cwd: folder, env: {} });
  }

  test("tells the version of the package", async () => {
    const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as { version: string };
    const { stdout } = await runBundle("--version");
    expect(stdout.trim()).toBe(version);
  });

  test("explains itself", async () => {
    const { stdout, stderr } = await runBundle("--help");
    for (const command of ["run", "plan", "apply", "clear-cache", "simulator"]) expect(stdout).toContain(command);
    expect(stderr).toBe("");
  });

  test("explains each of its commands, which loads all that the command needs", async () => {
    const commands = ["run", "plan", "apply", "clear-cache", "simulator"];
    const helps = await Promise.all(commands.map((command) => runBundle(command, "--help")));
    expect(helps.every(({ stdout }) => stdout.includes("Usage: wafsync"))).toBe(true);
  });

  test("has the licences of all packages in it at its side", async () => {
    const text = await readFile(join(folder, "built", "THIRD-PARTY-LICENSES.txt"), "utf8");
    for (const name of ["undici", "zod", "yaml", "ipaddr.js"]) expect(text).toContain(`${name} `);
  });

  test("is a program of its own where the system runs scripts", async () => {
    const text = await readFile(join(folder, "wafsync.mjs"), "utf8");
    expect(text.startsWith("#!/usr/bin/env node\n")).toBe(true);
    expect(text).not.toContain(root);
  });
});
