// The folder may come from a pull request, and the configuration of its repository must not start any program.
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { lastCommitOf } from "../../src/cli/targets/folder-target.ts";
import { scratchDirectory } from "../support/worlds/scratch-directory.ts";

const author = "Ada";
const signed = `author ${author} <ada@example.com> 1793577600 +0000
committer ${author} <ada@example.com> 1793577600 +0000
gpgsig -----BEGIN PGP SIGNATURE-----
 
 none
 -----END PGP SIGNATURE-----

Add a rule
`;

interface Repository extends AsyncDisposable {
  readonly path: string;
  readonly git: (parameters: readonly string[], input?: string) => string;
  /** Whether a program of the repository has run. */
  readonly hasRun: () => boolean;
}

/** A repository with a signed commit of `rule.yaml`, whose configuration starts a program for the signature. */
async function repository(): Promise<Repository> {
  const scratch = await scratchDirectory({ "rule.yaml": "kind: WafIpRule\n" });
  const { path } = scratch;
  const git = (parameters: readonly string[], input = ""): string =>
    execFileSync("git", ["-C", path, ...parameters], {
      input,
      encoding: "utf8",
      stdio: ["pipe", "pipe", "ignore"],
    }).trim();
  git(["init", "--quiet"]);
  const program = join(path, "program.sh");
  const proof = join(path, "has-run");
  await writeFile(program, `#!/bin/sh\ntouch ${proof}\nexit 1\n`, { mode: 0o755 });
  const blob = git(["hash-object", "-w", "rule.yaml"]);
  const tree = git(["mktree"], `100644 blob ${blob}\trule.yaml\n`);
  const commit = git(["hash-object", "-t", "commit", "-w", "--stdin"], `tree ${tree}\n${signed}`);
  git(["update-ref", "HEAD", commit]);
  git(["config", "log.showSignature", "true"]);
  git(["config", "gpg.program", program]);
  return {
    path,
    git,
    hasRun: () => existsSync(proof),
    [Symbol.asyncDispose]: async () => await scratch[Symbol.asyncDispose](),
  };
}

/** No program has run; a plain `git log` then runs one, which proves that the configuration is effective. */
function expectNoProgramUntilLog({ git, hasRun }: Repository): void {
  expect(hasRun()).toBe(false);
  try {
    git(["log", "-1", "--", "rule.yaml"]);
  } catch {
    // A program that Git starts may fail.
  }
  expect(hasRun()).toBe(true);
}

test("the last author of a file is found, and the program for its signature does not run", async () => {
  await using one = await repository();
  expect(await lastCommitOf(one.path, "rule.yaml")).toStrictEqual({
    author: author,
    time: expect.stringMatching(/^2026-11-/),
  });
  expect(await lastCommitOf(one.path, "other.yaml")).toBeUndefined();
  expectNoProgramUntilLog(one);
});

test("a folder that looks like a bare repository is not used as one: a pull request can contain such a folder", async () => {
  await using one = await repository();
  for (const name of ["HEAD", "config", "objects", "refs"])
    await rename(join(one.path, ".git", name), join(one.path, name));
  await rm(join(one.path, ".git"), { recursive: true });
  one.git(["config", "core.bare", "true"]);
  expect(await lastCommitOf(one.path, "rule.yaml")).toBeUndefined();
  expectNoProgramUntilLog(one);
});

test("missing objects are not fetched, because the repository configures the program that fetches them", async () => {
  await using one = await repository();
  const tree = one.git(["rev-parse", "HEAD^{tree}"]);
  const settings = {
    "core.repositoryFormatVersion": "1",
    "extensions.partialClone": "origin",
    "remote.origin.url": ".",
    "remote.origin.promisor": "true",
    "remote.origin.uploadpack": join(one.path, "program.sh"),
    "log.showSignature": "false",
  };
  for (const [name, value] of Object.entries(settings)) one.git(["config", name, value]);
  await rm(join(one.path, ".git/objects", tree.slice(0, 2), tree.slice(2)));
  expect(await lastCommitOf(one.path, "rule.yaml")).toBeUndefined();
  expectNoProgramUntilLog(one);
});
