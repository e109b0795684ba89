// The bundle that ships, built for a suite that runs it in place of the sources.
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll } from "@jest/globals";

const root = join(import.meta.dirname, "../../..");

/** Builds it before the tests of the block where this is called, and removes it after them. Gives its path while they run. */
export function builtProgram(): () => string {
  let folder = "";
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "wafsync-built-"));
    await promisify(execFile)(process.execPath, ["scripts/build.ts", join(folder, "wafsync.mjs")], { cwd: root });
  });
  afterAll(async () => {
    await rm(folder, { recursive: true, force: true });
  });
  return () => join(folder, "wafsync.mjs");
}
