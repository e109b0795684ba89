// The shipped bundle, for suites that run it instead of the sources.
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll } from "@jest/globals";
import { buildCommand, type Bundle, bundleIn, bundleVariable } from "./bundle.ts";

const root = join(import.meta.dirname, "../../..");

/**
 * The shared bundle of this test run, or a separate one if jest was started manually. Call it in the
 * block whose tests need it; the result is valid while they run.
 */
export function builtBundle(): () => Bundle {
  const given = process.env[bundleVariable];
  if (given !== undefined && given !== "") return () => bundleIn(given);
  let folder = "";
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "wafsync-built-"));
    const [node = "", ...parameters] = buildCommand(bundleIn(folder));
    await promisify(execFile)(node, parameters, { cwd: root });
  });
  afterAll(async () => {
    await rm(folder, { recursive: true, force: true });
  });
  return () => bundleIn(folder);
}

/** The same, for suites that need only the path of the program. */
export function builtProgram(): () => string {
  const bundle = builtBundle();
  return () => bundle().program;
}
