// `npm run mutate [-- --only TEXT]`: switches off one guard after the other in a copy of the source, and shows that the
// simulation or a test notices. Fails if one is not noticed. Takes a few minutes.
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { mutations } from "../test/support/simulation/mutations.ts";
import type { Mutation } from "../test/support/simulation/mutations.ts";

/** Enough for every mutation of which the simulation is said to notice it. */
const seeds = 400;
/** A test that hangs has noticed. */
const checkMsMax = 180_000;
const root = join(import.meta.dirname, "..");
const { values } = parseArgs({ options: { only: { type: "string", default: "" } } });

function copyOfTree(): string {
  const folder = mkdtempSync(join(tmpdir(), "wafsync-mutate-"));
  for (const name of ["src", "test", "scripts", "package.json", "jest.config.js"]) {
    cpSync(join(root, name), join(folder, name), { recursive: true });
  }
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  return folder;
}

/** What noticed the mutation, or undefined. A program that does not load has noticed nothing. */
function check(folder: string, foundBy: string): string | undefined {
  const jest = ["--experimental-vm-modules", "--no-warnings", "node_modules/jest/bin/jest.js", "--bail", foundBy];
  const parameters =
    foundBy === "simulation" ? ["scripts/simulate.ts", "--seeds", String(seeds), "--failures", "1"] : jest;
  const run = spawnSync(process.execPath, parameters, {
    cwd: folder,
    env: { ...process.env, WAFSYNC_TEST_CASES: "all" },
    encoding: "utf8",
    maxBuffer: 1e9,
    timeout: checkMsMax,
  });
  if (run.status === 0) return undefined;
  if (run.signal !== null) return `${foundBy}: it does not end`;
  if (foundBy !== "simulation") {
    const title = /● (?!Test suite failed to run)(.*)/.exec(run.stderr)?.[1];
    return title === undefined ? undefined : `${foundBy}: ${title}`;
  }
  return /^(seed \d+: .*)/m.exec(run.stdout)?.[1];
}

function notice(folder: string, { file, from, to, foundBy }: Mutation): string | undefined {
  const path = join(folder, file);
  const source = readFileSync(path, "utf8");
  if (source.split(from).length !== 2) return undefined;
  writeFileSync(
    path,
    source.replace(from, () => to),
  );
  const found = check(folder, foundBy);
  writeFileSync(path, source);
  return found;
}

const folder = copyOfTree();
let missed = 0;
for (const mutation of mutations.filter(({ guard }) => guard.includes(values.only))) {
  const found = notice(folder, mutation);
  if (found === undefined) missed += 1;
  console.log(`${found === undefined ? "MISSED" : "noticed"}  ${mutation.guard}: ${found ?? "nothing fails"}`);
}
rmSync(folder, { recursive: true, force: true });
console.log(missed === 0 ? "Every mutation is noticed." : `${missed} mutations are not noticed.`);
process.exitCode = missed === 0 ? 0 : 1;
