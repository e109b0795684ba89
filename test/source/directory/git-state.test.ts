// A state directory in a branch: one process at a time, no guesses about what can't be read, and nothing of strangers is run.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { gitProcess, type GitRemote, gitRemote, hurriedClock, stateBranch } from "../../support/worlds/git-remote.ts";

const record = ["inventory", "shop", "main.txt"];
const done = { ok: true, value: undefined };

/** A repository with a remote `origin`, as a job checks it out. */
function checkedOut({ url, folder }: GitRemote): { readonly path: string; readonly git: (...words: string[]) => void } {
  const path = join(folder, "work");
  mkdirSync(path);
  const git = (...words: string[]): void => void execFileSync("git", ["-C", path, ...words], { stdio: "ignore" });
  git("init", "--quiet");
  git("remote", "add", "origin", url);
  return { path, git };
}

describe("A state directory in a branch", () => {
  test("is the same for the next process, without the lease of the last one", async () => {
    await using remote = await gitRemote();
    const first = await gitProcess(remote);
    expect(await first.state.hold()).toStrictEqual(done);
    expect(await first.state.publish(record, "one\n")).toStrictEqual(done);
    expect(remote.git("log", "--format=%B", stateBranch)).toContain("wafsync-lease");
    await first.state.publish(["status", "WafIpRule", "shop", "a.yaml"], "status: {}\n");
    // A report goes along with the next record.
    expect(remote.files()).toStrictEqual(["inventory/shop/main.txt"]);
    await first.state.publish(["status", "WafCacheClear", "shop", "clear.yaml"], "status: {}\n");
    expect(remote.files()).toHaveLength(3);
    await first.state.publish(record, undefined);
    await first.state.close();
    expect(existsSync(first.state.path)).toBe(false);
    expect(remote.git("log", "--format=%B", stateBranch)).not.toContain("wafsync-lease");
    // All saves of a process are one commit.
    expect(remote.git("rev-list", "--count", stateBranch)).toBe("1");
    const next = await gitProcess(remote);
    await next.state.hold();
    expect(existsSync(join(next.state.path, ...record))).toBe(false);
    expect(readFileSync(join(next.state.path, "status/WafIpRule/shop/a.yaml"), "utf8")).toBe("status: {}\n");
    const before = remote.git("rev-parse", `${stateBranch}~1`);
    await next.state.close();
    // A process without a change leaves the branch as it was.
    expect(remote.git("log", "-1", "--format=%B", stateBranch)).toContain("ci.example");
    expect(remote.git("rev-parse", stateBranch)).toBe(before);
  });

  test("that does not exist is made, and is not left by a process that stores nothing", async () => {
    await using remote = await gitRemote();
    const only = await gitProcess(remote);
    await only.state.hold();
    expect(remote.git("for-each-ref")).toContain(stateBranch);
    await only.state.close();
    expect(remote.git("for-each-ref")).toBe("");
  });

  test("is free between two uses of one process, which sees what others have changed meanwhile", async () => {
    await using remote = await gitRemote();
    const [page, job] = [await gitProcess(remote), await gitProcess(remote)];
    expect(await page.state.read()).toStrictEqual(done);
    for (const content of ["one", "two"]) {
      await page.state.hold();
      await page.state.release();
      await job.state.hold();
      await job.state.publish(record, content);
      await job.state.release();
      await page.state.hold();
      expect(readFileSync(join(page.state.path, ...record), "utf8")).toBe(content);
      await page.state.release();
    }
    await page.state.close();
    await job.state.close();
  });

  test("that can't be reached is not empty: nothing is read or held, and the message says why", async () => {
    await using remote = await gitRemote();
    const one = await gitProcess(remote);
    renameSync(remote.url, `${remote.url}.away`);
    const problem = expect.stringMatching(
      /^Branch wafsync-state of .* cannot be read: git ls-remote: fatal: .*remote\.git.*\.$/,
    );
    expect(await one.state.read()).toStrictEqual({ ok: false, problem });
    expect(await one.state.hold()).toMatchObject({ ok: false, problem: expect.stringContaining("cannot be held") });
    expect(await one.state.publish(record, "x")).toMatchObject({ ok: false });
    renameSync(`${remote.url}.away`, remote.url);
    expect(await one.state.hold()).toStrictEqual(done);
    renameSync(remote.url, `${remote.url}.away`);
    expect(await one.state.publish(record, "lost")).toMatchObject({ ok: false });
    renameSync(`${remote.url}.away`, remote.url);
    expect(await one.state.publish(["feed", "shop", "list.txt"], "kept")).toStrictEqual(done);
    // What was reported as not stored is not stored with the next record.
    expect(remote.files()).toStrictEqual(["feed/shop/list.txt"]);
    await one.state.close();
  });

  test("is held by one process: another one waits, says for whom, and gives up after five minutes", async () => {
    await using remote = await gitRemote();
    const holder = await gitProcess(remote, { job: "https://ci.example/holder\u001b[31m" });
    await holder.state.hold();
    const clock = hurriedClock();
    const renewing = {
      ...clock,
      sleep: async (delayMs: number) => {
        await holder.state.publish(record, String(clock.nowMs()));
        await clock.sleep(delayMs);
      },
    };
    const other = await gitProcess(remote, { clock: renewing });
    const by = String.raw`wafsync apply \(https://ci\.example/holder\\u001b\[31m\), which holds it until 2026-11-27T12:01:00\.000Z`;
    const problem = expect.stringMatching(
      new RegExp(`cannot be held: It is in use by ${by}\\. Wait for that process, or stop it\\.$`),
    );
    expect(await other.state.hold()).toStrictEqual({ ok: false, problem });
    expect(other.notices).toStrictEqual([
      expect.stringMatching(new RegExp(`^Waiting for branch .* in use by ${by}\\.$`)),
    ]);
    await holder.state.close();
    expect(await other.state.hold()).toStrictEqual(done);
    await other.state.close();
  });

  test("is taken over from a dead process after two minutes, and that one writes nothing any longer", async () => {
    await using remote = await gitRemote();
    const dead = await gitProcess(remote);
    await dead.state.hold();
    await dead.state.publish(record, "one");
    const clock = hurriedClock();
    const heir = await gitProcess(remote, { clock });
    const startMs = clock.nowMs();
    expect(await heir.state.hold()).toStrictEqual(done);
    expect(clock.nowMs() - startMs).toBeGreaterThanOrEqual(120_000);
    expect(readFileSync(join(heir.state.path, ...record), "utf8")).toBe("one");
    expect(dead.state.lost()).toBeUndefined();
    const problem = expect.stringContaining("is in use by another process: stop one of them");
    expect(await dead.state.publish(record, "two")).toStrictEqual({ ok: false, problem });
    expect(dead.state.lost()).toStrictEqual(problem);
    expect(await dead.state.hold()).toStrictEqual({ ok: false, problem });
    await dead.state.close();
    expect(remote.git("show", `${stateBranch}:${record.join("/")}`)).toBe("one");
    await heir.state.close();
    // The lease of the dead process does not come back.
    expect(remote.git("log", "-1", "--format=%B", stateBranch)).not.toContain("wafsync-lease");
  });

  test("is lost after a minute without a renewal, also while the machine was suspended", async () => {
    await using remote = await gitRemote();
    for (const stopped of ["monotonicMs", "nowMs"] as const) {
      const running = hurriedClock();
      const still = running[stopped]();
      const clock = { ...running, [stopped]: () => still };
      const one = await gitProcess(remote, { clock });
      await one.state.hold();
      await running.sleep(4_999);
      expect(one.state.lost()).toBeUndefined();
      await running.sleep(60_000);
      expect(one.state.lost()).toContain("could not be renewed for 60 seconds");
      expect(await one.state.publish(record, "x")).toMatchObject({ ok: false });
      await one.state.close();
    }
  });

  test("is renewed in time, and the process is told when that fails", async () => {
    await using remote = await gitRemote();
    const clock = hurriedClock();
    let next: () => void = () => undefined;
    const one = await gitProcess(remote, {
      clock: { ...clock, schedule: (_, act) => ((next = act), () => undefined) },
    });
    let losses = 0;
    await one.state.hold(undefined, () => (losses += 1));
    const head = remote.git("rev-parse", stateBranch);
    for (let renewals = 0; renewals < 30; renewals += 1) {
      await clock.sleep(4_900);
      next();
      await one.state.hold();
    }
    expect(one.state.lost()).toBeUndefined();
    expect(remote.git("rev-parse", stateBranch)).not.toBe(head);
    await clock.sleep(60_000);
    next();
    expect(losses).toBe(1);
    await one.state.close();
  });

  test("that could not be released is held anew before the next use", async () => {
    await using remote = await gitRemote();
    const page = await gitProcess(remote);
    await page.state.hold();
    renameSync(remote.url, `${remote.url}.away`);
    await page.state.release();
    expect(page.notices).toStrictEqual([expect.stringContaining("cannot be released: git ")]);
    expect(await page.state.hold()).toMatchObject({ ok: false });
    renameSync(`${remote.url}.away`, remote.url);
    const head = remote.git("rev-parse", stateBranch);
    expect(await page.state.hold()).toStrictEqual(done);
    expect(remote.git("rev-parse", stateBranch)).not.toBe(head);
    await page.state.close();
  });

  test("whose lease has an unknown outcome is held at the next attempt without waiting", async () => {
    await using remote = await gitRemote();
    const clock = hurriedClock();
    const one = await gitProcess(remote, { clock });
    one.loseAnswer("push");
    renameSync(remote.url, `${remote.url}.away`);
    expect(await one.state.hold()).toMatchObject({ ok: false });
    renameSync(`${remote.url}.away`, remote.url);
    const startMs = clock.nowMs();
    expect(await one.state.hold()).toStrictEqual(done);
    expect(clock.nowMs() - startMs).toBeLessThan(60_000);
    await one.state.close();
  });

  test.each(["push", "ls-remote", "fetch"])("a lost answer of git %s changes nothing", async (command) => {
    await using remote = await gitRemote();
    const one = await gitProcess(remote);
    one.loseAnswer(command);
    await one.state.hold();
    one.loseAnswer(command);
    expect(await one.state.publish(record, "one")).toStrictEqual(done);
    expect(remote.git("show", `${stateBranch}:${record.join("/")}`)).toBe("one");
    one.loseAnswer(command);
    await one.state.close();
    expect(one.notices).toStrictEqual([]);
    expect(remote.git("log", "--format=%B", stateBranch)).not.toContain("wafsync-lease");
  });

  test("that this job may not push to: the message says so, and which permission a job needs", async () => {
    await using remote = await gitRemote();
    const hook = join(remote.url, "hooks/pre-receive");
    writeFileSync(hook, "#!/bin/sh\necho No permission to write >&2\nexit 1\n", { mode: 0o755 });
    const one = await gitProcess(remote);
    expect(await one.state.hold()).toMatchObject({
      ok: false,
      problem: expect.stringMatching(/No permission to write.*`permissions: contents: write`\.$/),
    });
    await one.state.close();
  });
});

describe("The configuration of Git", () => {
  test("of the folder's repository names the remote and its credentials, also from an included file", async () => {
    await using remote = await gitRemote();
    const headers: (string | undefined)[] = [];
    const server = createServer(({ headers: { authorization } }, response) => {
      headers.push(authorization);
      response.writeHead(404).end();
    });
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const work = checkedOut(remote);
    const url = `http://127.0.0.1:${port}/shop.git`;
    work.git("remote", "set-url", "origin", url.replace("//", "//user:t0ken@"));
    writeFileSync(
      join(remote.folder, "credentials"),
      `[http "http://127.0.0.1:${port}/"]\n\textraheader = AUTHORIZATION: basic abc\n`,
    );
    work.git("config", `includeIf.gitdir:${work.path}/.git.path`, join(remote.folder, "credentials"));
    const one = await gitProcess(remote, { remote: "origin", directory: work.path });
    const read = await one.state.read();
    expect(headers[0]).toBe("basic abc");
    expect(read).toMatchObject({ ok: false, problem: expect.stringContaining(`127.0.0.1:${port}/shop.git`) });
    expect(JSON.stringify(read)).not.toContain("t0ken");
    server.close();
    await one.state.close();
  });

  test("starts no program, changes no content, and leaves the folder's repository alone", async () => {
    await using remote = await gitRemote();
    const work = checkedOut(remote);
    const proof = join(remote.folder, "has-run");
    const program = join(remote.folder, "program.sh");
    writeFileSync(program, `#!/bin/sh\ntouch ${proof}\nexit 1\n`, { mode: 0o755 });
    mkdirSync(join(remote.folder, "hooks"));
    for (const hook of ["pre-push", "reference-transaction", "post-checkout", "pre-commit"]) {
      writeFileSync(join(remote.folder, "hooks", hook), readFileSync(program), { mode: 0o755 });
    }
    const global = join(remote.folder, "gitconfig");
    const settings = `[core]\n\thooksPath = ${remote.folder}/hooks\n\tautocrlf = true\n\tfsmonitor = ${program}\n[commit]\n\tgpgsign = true\n[gpg]\n\tprogram = ${program}\n[remote "origin"]\n\tuploadpack = ${program}\n\treceivepack = ${program}\n`;
    writeFileSync(global, settings);
    writeFileSync(join(work.path, ".git/config"), settings, { flag: "a" });
    const environment = {
      ...process.env,
      GIT_CONFIG_GLOBAL: global,
      // As in a hook of Git.
      GIT_DIR: join(work.path, ".git"),
      GIT_INDEX_FILE: join(work.path, ".git/other-index"),
      GIT_TEMPLATE_DIR: remote.folder,
    };
    const one = await gitProcess(remote, { remote: "origin", directory: work.path, environment });
    expect(await one.state.hold()).toStrictEqual(done);
    expect(await one.state.publish(record, "one\ntwo\n")).toStrictEqual(done);
    await one.state.close();
    expect(remote.git("show", `${stateBranch}:${record.join("/")}`)).toBe("one\ntwo");
    expect(existsSync(proof)).toBe(false);
    expect(existsSync(join(work.path, ".git/other-index"))).toBe(false);
  });

  test.each([
    ["a folder without a repository", { remote: "origin" }, 'is in no Git repository with a remote "origin"'],
    ["a branch without a valid name", { branch: "a..b" }, '"a..b" is not the name of a branch.'],
    ["a machine without Git", { environment: { PATH: "/nonexistent" } }, "Git is not installed: install it."],
  ])("%s is an error that says so", async (_, options, problem) => {
    await using remote = await gitRemote();
    await expect(gitProcess(remote, options)).rejects.toThrow(problem);
  });
});
