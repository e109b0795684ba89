// The state of a folder in a branch: what a fresh machine knows, what commands of people share with jobs, and errors.
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { type FinishedProcess, runFaster, runWafsync } from "../support/processes/wafsync-process.ts";
import { gitRemote, stateBranch } from "../support/worlds/git-remote.ts";
import { ruleDocument, testKey, wafFolder } from "../support/worlds/waf-folder.ts";

runFaster();

test("a fresh machine knows what earlier jobs have added, and commands of people use the same branch", async () => {
  await using remote = await gitRemote();
  await using folder = await wafFolder({}, "  guards: {maxRemovalPercent: 100}\n");
  await folder.files.write("rule.yaml", ruleDocument("office", { addresses: ["192.0.2.1", "192.0.2.2"] }));
  execFileSync("git", ["-C", folder.path, "init", "--quiet"]);
  execFileSync("git", ["-C", folder.path, "remote", "add", "origin", remote.url]);
  /** On a machine of its own. */
  const run = async (name: string, ...words: string[]): Promise<FinishedProcess> => {
    const path = join(remote.folder, name);
    mkdirSync(path, { recursive: true });
    const environment = { XDG_RUNTIME_DIR: path, TMPDIR: path };
    return await runWafsync([...words, ...folder.from, "--state", `git:${stateBranch}`], { environment });
  };
  const first = await run("first", "plan");
  expect(first.stdout).toMatch(/^No record of earlier runs: if there were any, set --state\./);
  expect(first.stdout).toContain("2 to add, 0 to remove");
  expect((await run("first", "plan", "-o", "markdown")).stdout).toContain(
    "### wafsync plan\n\n<p>No record of earlier runs",
  );
  // A plan leaves nothing.
  expect(remote.git("for-each-ref")).toBe("");
  expect((await run("merged", "apply")).code).toBe(0);
  // The folder before the change, as an archive: it is in no repository.
  const base = join(remote.folder, "base");
  await cp(folder.path, base, { recursive: true, filter: (path) => !path.includes(".git") });
  await folder.files.write("rule.yaml", ruleDocument("office", { addresses: ["192.0.2.1"] }));
  const changed = await run("pull-request", "plan");
  expect(changed.stdout).toContain("0 to add, 1 to remove");
  expect(changed.stdout).not.toContain("No record");
  expect(await run("pull-request", "plan", "--base", base)).toMatchObject({
    code: 1,
    stdout: changed.stdout,
    stderr: "",
  });
  expect((await run("merged-too", "apply")).code).toBe(0);
  expect(folder.simulator.waf(testKey).blocklist).toStrictEqual(["192.0.2.1"]);
  expect((await run("laptop", "history")).stdout).toMatch(/Removed +blocklist +192\.0\.2\.2/);
  expect((await run("laptop", "why", "192.0.2.1")).stdout).toContain("managed since");
  expect((await run("laptop", "block", "198.51.100.9")).code).toBe(0);
  expect((await run("laptop", "status")).stdout).toMatch(/True +Synced +2 /);
  expect(remote.git("log", "--format=%s", stateBranch)).toMatch(/^wafsync \[skip ci\]\nwafsync apply/);
});

test("a state that can't be read stops a command, and no credentials are accepted in its options", async () => {
  await using remote = await gitRemote();
  await using folder = await wafFolder();
  const failing = await folder.run("plan", "--state", `git:${remote.url}.away#${stateBranch}`);
  expect(failing).toMatchObject({ code: 2, stdout: "" });
  expect(failing.stderr).toContain(
    `error: Branch ${stateBranch} of ${remote.url}.away cannot be held: git ls-remote: fatal: `,
  );
  for (const user of ["job:t0ken", "t0ken"]) {
    const secret = await folder.run("plan", "--state", `git:https://${user}@git.example/waf.git#state`);
    expect(secret).toMatchObject({ code: 2 });
    expect(secret.stderr).toContain("--state contains credentials");
    expect(secret.stderr).not.toContain("t0ken");
  }
  const validated = await runWafsync(["validate", "-f", folder.path, "--state", `git:${stateBranch}`]);
  expect(validated).toMatchObject({ code: 0 });
});
