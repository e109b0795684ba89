// `npm test` on a machine without Go, whose cache is empty: the suites that need a control plane are left out, and it ends.
// Long: `npm run test:deploy` runs it.
import { spawn } from "node:child_process";
import { mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { checks } from "../../scripts/checks.ts";
import { bundleVariable } from "../support/processes/bundle.ts";
import { slow } from "../support/processes/slowness.ts";

/** All checks, and the bundle. */
const checkCount = checks.length + 1;
const root = join(import.meta.dirname, "../..");

describe("without Go", () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "wafsync-without-go-"));
    // The only program on PATH: scripts/test.ts adds those of node_modules.
    await symlink(process.execPath, join(folder, "node"));
  });
  afterEach(async () => {
    await rm(folder, { recursive: true });
  });

  const jest = ["--experimental-vm-modules", "--no-warnings", "node_modules/jest/bin/jest.js"];
  test.each([
    { ci: "", script: ["scripts/test.ts"], code: 0, last: `${checkCount} passed, 0 failed, 1 skipped` },
    { ci: "true", script: jest, code: 1, last: expect.stringContaining("Ran all test suites") as unknown },
  ])("with CI=$ci, $script.0 exits with $code", async ({ ci, script, code, last }) => {
    const child = spawn(process.execPath, [...script, "test/kinds/admission"], {
      cwd: root,
      env: { HOME: folder, PATH: folder, WAFSYNC_CACHE: join(folder, "cache"), CI: ci, [bundleVariable]: "" },
    });
    const exited = new Promise<number | NodeJS.Signals | null>((resolve) =>
      child.once("close", (exitCode, signal) => resolve(signal ?? exitCode)),
    );
    let text = "";
    const summed = Promise.withResolvers<void>();
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (part: string) => {
        text += part;
        if (/^\d+ passed, \d+ failed.*\n/m.test(text)) summed.resolve();
      });
    }
    await Promise.race([summed.promise, exited]);
    const hanging = setTimeout(() => child.kill("SIGKILL"), slow(10_000));
    expect(await exited).toBe(code);
    clearTimeout(hanging);
    expect(text).toContain("and is not installed: install Go, and run it again");
    expect(text.trimEnd().split("\n").at(-1)).toStrictEqual(last);
  });
});
