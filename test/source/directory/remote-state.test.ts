// A remote state directory: one process at a time, no guesses about what can't be read, and nothing of strangers is run.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { ClusterRecordStore } from "../../../src/records/cluster-record-store.ts";
import { capitalized } from "../../../src/model/texts.ts";
import { FolderRecord } from "../../../src/source/directory/folder-record.ts";
import { RemoteState } from "../../../src/source/directory/remote-state.ts";
import { MemoryRecords } from "../../records/memory-records.ts";
import { gitProcess, type GitRemote, gitRemote, hurriedClock, stateBranch } from "../../support/worlds/git-remote.ts";
import { gitWorld, recordWorld, type RemoteWorld } from "../../support/worlds/remote-worlds.ts";

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

describe.each<[string, () => Promise<RemoteWorld>, RegExp]>([
  ["branch", gitWorld, /git ls-remote: fatal: .*remote\.git.*\.$/],
  ["record of a cluster", recordWorld, /No response within 10000 ms\.$/],
])("A state directory in a %s", (_, open, unreachable) => {
  test("is the same for the next process, without the lease of the last one", async () => {
    await using world = await open();
    const first = await world.process();
    expect(await first.state.hold()).toStrictEqual(done);
    expect(await first.state.publish(record, "one\n")).toStrictEqual(done);
    expect(world.hasLease()).toBe(true);
    await first.state.publish(["status", "WafIpRule", "shop", "a.yaml"], "status: {}\n");
    // A report goes along with the next record.
    expect(world.files()).toStrictEqual(["inventory/shop/main.txt"]);
    await first.state.publish(["status", "WafCacheClear", "shop", "clear.yaml"], "status: {}\n");
    expect(world.files()).toHaveLength(3);
    await first.state.publish(record, undefined);
    await first.state.close();
    expect(existsSync(first.state.path)).toBe(false);
    expect(world.hasLease()).toBe(false);
    await using next = await world.process();
    await next.state.hold();
    expect(existsSync(join(next.state.path, ...record))).toBe(false);
    expect(readFileSync(join(next.state.path, "status/WafIpRule/shop/a.yaml"), "utf8")).toBe("status: {}\n");
  });

  test("has every file as it was stored", async () => {
    await using world = await open();
    const contents = ["", "\n", "no line end", " indented\n\n  twice\n", "\r\n\t\u2028é\n", "x\n".repeat(3_000)];
    const first = await world.process();
    await first.state.hold();
    for (const [index, content] of contents.entries()) await first.state.publish(["feed", "shop", `${index}`], content);
    await first.state.close();
    await using next = await world.process();
    await next.state.read();
    const found = contents.map((_content, index) =>
      readFileSync(join(next.state.path, "feed/shop", `${index}`), "utf8"),
    );
    expect(found).toStrictEqual(contents);
  });

  test("is free between two uses of one process, which sees what others have changed meanwhile", async () => {
    await using world = await open();
    const [page, job] = [await world.process(), await world.process()];
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
    await using world = await open();
    await using one = await world.process();
    world.isAway(true);
    const read = await one.state.read();
    expect(read).toStrictEqual({ ok: false, problem: expect.stringMatching(unreachable) });
    expect(read).toMatchObject({ problem: expect.stringContaining(capitalized(world.where)) });
    expect(await one.state.hold()).toMatchObject({ ok: false, problem: expect.stringMatching(unreachable) });
    expect(await one.state.publish(record, "x")).toMatchObject({ ok: false });
    world.isAway(false);
    expect(await one.state.hold()).toStrictEqual(done);
    world.isAway(true);
    expect(await one.state.publish(record, "lost")).toMatchObject({ ok: false });
    world.isAway(false);
    expect(await one.state.publish(["feed", "shop", "list.txt"], "kept")).toStrictEqual(done);
    // What was reported as not stored is not stored with the next record.
    expect(world.files()).toStrictEqual(["feed/shop/list.txt"]);
  });

  test("is held by one process: another one waits, says for whom, and gives up after five minutes", async () => {
    await using world = await open();
    const holder = await world.process({ job: "https://ci.example/holder\u001b[31m" });
    await holder.state.hold();
    const clock = hurriedClock();
    const renewing = {
      ...clock,
      sleep: async (delayMs: number) => {
        await holder.state.publish(record, String(clock.nowMs()));
        await clock.sleep(delayMs);
      },
    };
    await using other = await world.process({ clock: renewing });
    const by = String.raw`wafsync apply \(https://ci\.example/holder\\u001b\[31m\), which holds it until 2026-11-27T12:01:00\.000Z`;
    const problem = expect.stringMatching(
      new RegExp(`cannot be held: It is in use by ${by}\\. Wait for that process, or stop it\\.$`),
    );
    expect(await other.state.hold()).toStrictEqual({ ok: false, problem });
    expect(other.notices).toStrictEqual([expect.stringMatching(new RegExp(`^Waiting for .* in use by ${by}\\.$`))]);
    await holder.state.close();
    expect(await other.state.hold()).toStrictEqual(done);
  });

  test("is taken over from a dead process after two minutes, and that one writes nothing any longer", async () => {
    await using world = await open();
    const dead = await world.process();
    await dead.state.hold();
    await dead.state.publish(record, "one");
    const clock = hurriedClock();
    const heir = await world.process({ clock });
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
    expect(world.contentOf(record.join("/"))).toBe("one");
    await heir.state.close();
    // The lease of the dead process does not come back.
    expect(world.hasLease()).toBe(false);
  });

  test("is lost after a minute without a renewal, also while the machine was suspended", async () => {
    await using world = await open();
    for (const stopped of ["monotonicMs", "nowMs"] as const) {
      const running = hurriedClock();
      const still = running[stopped]();
      const clock = { ...running, [stopped]: () => still };
      const one = await world.process({ clock });
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
    await using world = await open();
    const clock = hurriedClock();
    let next: () => void = () => undefined;
    await using one = await world.process({
      clock: { ...clock, schedule: (_, act) => ((next = act), () => undefined) },
    });
    let losses = 0;
    await one.state.hold(undefined, () => (losses += 1));
    const head = world.version();
    for (let renewals = 0; renewals < 30; renewals += 1) {
      await clock.sleep(4_900);
      next();
      await one.state.hold();
    }
    expect(one.state.lost()).toBeUndefined();
    expect(world.version()).not.toBe(head);
    await clock.sleep(60_000);
    next();
    expect(losses).toBe(1);
  });

  test("that could not be released is held anew before the next use", async () => {
    await using world = await open();
    await using page = await world.process();
    await page.state.hold();
    world.isAway(true);
    await page.state.release();
    expect(page.notices).toStrictEqual([
      expect.stringMatching(/(?:cannot be released: git|No response within) .* Others wait until/),
    ]);
    expect(await page.state.hold()).toMatchObject({ ok: false });
    world.isAway(false);
    const head = world.version();
    expect(await page.state.hold()).toStrictEqual(done);
    expect(world.version()).not.toBe(head);
  });

  test("whose lease has an unknown outcome is held at the next attempt without waiting", async () => {
    await using world = await open();
    const clock = hurriedClock();
    await using one = await world.process({ clock });
    one.loseAnswer("write");
    world.isAway(true);
    expect(await one.state.hold()).toMatchObject({ ok: false });
    world.isAway(false);
    const startMs = clock.nowMs();
    expect(await one.state.hold()).toStrictEqual(done);
    expect(clock.nowMs() - startMs).toBeLessThan(60_000);
  });

  test.each(["read", "write"] as const)("a lost answer to a %s changes nothing", async (command) => {
    await using world = await open();
    const one = await world.process();
    one.loseAnswer(command);
    await one.state.hold();
    one.loseAnswer(command);
    expect(await one.state.publish(record, "one")).toStrictEqual(done);
    expect(world.contentOf(record.join("/"))).toBe("one");
    one.loseAnswer(command);
    await one.state.close();
    expect(one.notices).toStrictEqual([]);
    expect(world.hasLease()).toBe(false);
  });
});

describe("A state directory in a branch", () => {
  test("is one commit for each process, and none for a process without a change", async () => {
    await using remote = await gitRemote();
    const first = await gitProcess(remote);
    await first.state.hold();
    await first.state.publish(record, "one");
    await first.state.publish(record, "two");
    await first.state.close();
    expect(remote.git("rev-list", "--count", stateBranch)).toBe("1");
    const head = remote.git("rev-parse", stateBranch);
    const next = await gitProcess(remote);
    await next.state.hold();
    expect(remote.git("rev-parse", `${stateBranch}~1`)).toBe(head);
    await next.state.close();
    expect(remote.git("log", "-1", "--format=%B", stateBranch)).toContain("ci.example");
    expect(remote.git("rev-parse", stateBranch)).toBe(head);
  });

  test("that does not exist is made, and is not left by a process that stores nothing", async () => {
    await using remote = await gitRemote();
    const only = await gitProcess(remote);
    await only.state.hold();
    expect(remote.git("for-each-ref")).toContain(stateBranch);
    await only.state.close();
    expect(remote.git("for-each-ref")).toBe("");
  });

  test("a lost answer to a fetch changes nothing", async () => {
    await using remote = await gitRemote();
    const [first, one] = [await gitProcess(remote), await gitProcess(remote)];
    await first.state.hold();
    await first.state.publish(record, "one");
    await first.state.close();
    one.loseAnswer("fetch");
    expect(await one.state.hold()).toStrictEqual(done);
    expect(readFileSync(join(one.state.path, ...record), "utf8")).toBe("one");
    await one.state.close();
  });

  test("that this job may not push to: the message says so, and which permission a job needs", async () => {
    await using remote = await gitRemote();
    const hook = join(remote.url, "hooks/pre-receive");
    writeFileSync(hook, "#!/bin/sh\necho No permission to write >&2\nexit 1\n", { mode: 0o755 });
    await using one = await gitProcess(remote);
    expect(await one.state.hold()).toMatchObject({
      ok: false,
      problem: expect.stringMatching(/No permission to write.*`permissions: contents: write`\.$/),
    });
  });
});

describe("A state directory in a record of a cluster", () => {
  test("that somebody has changed is not used, and is not read beyond its folder", async () => {
    for (const [change, problem] of [
      [(text: string) => `${text} `, "the content of shop-state was changed. Restore it from a backup"],
      [() => "{}", "its first line is not understood. Restore it from a backup"],
      [() => '{"format":1}\n../../escaped\n x', "not a valid file name"],
    ] as const) {
      const records = new MemoryRecords();
      const store = new ClusterRecordStore({
        api: records.open(),
        ownerOf: () => ({ uid: undefined, retains: true }),
        mayWrite: () => true,
      });
      const key = { type: "State", namespace: "waf-state", name: "shop" } as const;
      await store.save(key, change("x"), "");
      if (change("x") === "x ") records.objects.get("shop-state")!.spec.text += "x";
      const how = { command: "wafsync apply", job: "job", clock: hurriedClock(), onNotice: () => undefined };
      const opened = await RemoteState.open({ ...how, where: "it", open: async () => new FolderRecord(store, key) });
      if (!opened.ok) throw new Error(opened.problem);
      expect(await opened.value.hold()).toStrictEqual({ ok: false, problem: expect.stringContaining(problem) });
      await opened.value.close();
    }
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
    await using one = await gitProcess(remote, { remote: "origin", directory: work.path });
    const read = await one.state.read();
    expect(headers[0]).toBe("basic abc");
    expect(read).toMatchObject({ ok: false, problem: expect.stringContaining(`127.0.0.1:${port}/shop.git`) });
    expect(JSON.stringify(read)).not.toContain("t0ken");
    server.close();
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
