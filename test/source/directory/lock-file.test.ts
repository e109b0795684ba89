import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, readdir, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { realClock } from "../../../src/async/clock.ts";
import { temporarySuffix } from "../../../src/source/directory/atomic-file.ts";
import { holderOfLock, LockFile } from "../../../src/source/directory/lock-file.ts";
import { atTestEnd } from "../../support/builders/at-test-end.ts";
import { createVirtualClock, type VirtualClock } from "../../support/fakes/virtual-clock.ts";
import { scratchDirectory } from "../../support/worlds/scratch-directory.ts";

const command = "wafsync run";

/** The content of a lock that this process holds, with some fields replaced. */
async function claimOf(folder: string, fields: Readonly<Record<string, unknown>>): Promise<string> {
  const path = join(folder, "example");
  const lock = new LockFile(path, { clock: realClock, command });
  await lock.acquire();
  const claim = JSON.parse(await readFile(path, "utf8")) as object;
  lock.release();
  return JSON.stringify({ ...claim, id: "other", ...fields });
}

/** Advances the clock until the promise settles. Returns how long that took on the clock. */
async function advanceUntil(clock: VirtualClock, end: Promise<unknown>, stepMs = 10): Promise<number> {
  const startMs = clock.monotonicMs();
  const ended = { isOver: false };
  void end.finally(() => (ended.isOver = true));
  while (!ended.isOver && clock.monotonicMs() - startMs < 100_000) {
    await clock.advance(stepMs);
    await Promise.resolve();
  }
  return clock.monotonicMs() - startMs;
}

describe("A lock whose process can't be seen, because it is in another container", () => {
  test("is taken ten seconds after its last change, and not before", async () => {
    await using scratch = await scratchDirectory();
    const path = join(scratch.path, "lock");
    await writeFile(path, await claimOf(scratch.path, { scope: "another container" }));
    const clock = createVirtualClock();
    const lock = new LockFile(path, { clock, command });
    const outcome = lock.acquire();
    const tookMs = await advanceUntil(clock, outcome);
    expect(await outcome).toStrictEqual({ state: "Held" });
    expect(tookMs).toBeGreaterThanOrEqual(10_000);
    expect(tookMs).toBeLessThan(11_000);
    expect(await readdir(scratch.path)).toStrictEqual(["lock"]);
    lock.release();
  });

  test("is busy as soon as it changes, whatever the clocks say", async () => {
    await using scratch = await scratchDirectory();
    const path = join(scratch.path, "lock");
    await writeFile(path, await claimOf(scratch.path, { scope: "another container" }));
    const clock = createVirtualClock();
    const outcome = new LockFile(path, { clock, command }).acquire();
    await clock.advance(1000);
    await utimes(path, 1, 1);
    await advanceUntil(clock, outcome);
    const by = `process ${process.pid} in another container or on another machine (wafsync run)`;
    expect(await outcome).toStrictEqual({ state: "Busy", holder: { by, command } });
  });

  test.each(["", "no claim", "{}"])("is taken after ten seconds if its content is %j", async (content) => {
    await using scratch = await scratchDirectory({ lock: content });
    const clock = createVirtualClock();
    const lock = new LockFile(join(scratch.path, "lock"), { clock, command });
    const outcome = lock.acquire();
    expect(await advanceUntil(clock, outcome)).toBeGreaterThanOrEqual(10_000);
    expect(await outcome).toStrictEqual({ state: "Held" });
    lock.release();
  });
});

describe("A lock", () => {
  test("changes every second while it is held, and is lost when another process takes it", async () => {
    await using scratch = await scratchDirectory();
    const path = join(scratch.path, "lock");
    const clock = createVirtualClock();
    let losses = 0;
    const lock = new LockFile(path, { clock, command, onLost: () => (losses += 1) });
    expect(await lock.acquire()).toStrictEqual({ state: "Held" });
    const { mtimeMs } = await stat(path);
    await clock.advance(1000);
    expect([(await stat(path)).mtimeMs === mtimeMs, lock.look()]).toStrictEqual([false, "Held"]);
    const others = await claimOf(scratch.path, {});
    await writeFile(path, others);
    expect(lock.look()).toBe("Taken");
    await clock.advance(5000);
    expect(losses).toBe(1);
    lock.release();
    expect(await readFile(path, "utf8")).toBe(others);
  });

  test.each([
    ["has ended", { pid: 2 ** 30 }],
    ["had the ID of a process that started later", { start: "1" }],
  ])("is taken at once if its process %s", async (_, fields) => {
    await using scratch = await scratchDirectory();
    const path = join(scratch.path, "lock");
    await writeFile(path, await claimOf(scratch.path, fields));
    expect(await holderOfLock(path, realClock)).toBeUndefined();
    const lock = new LockFile(path, { clock: realClock, command });
    expect(await lock.acquire()).toStrictEqual({ state: "Held" });
    lock.release();
    expect(await readdir(scratch.path)).toStrictEqual([]);
  });

  test("is held by a killed process until its last thread has ended, and with it its connections", async () => {
    await using scratch = await scratchDirectory();
    const path = join(scratch.path, "lock");
    // exit(2), which ends only the calling thread.
    const exit = process.arch === "arm64" ? 93 : 60;
    const child = spawn("perl", ["-Mthreads", "-e", `threads->create(sub { sleep 600 })->detach; syscall(${exit}, 0)`]);
    atTestEnd(() => child.kill("SIGKILL"));
    const fields = async () => (await readFile(`/proc/${child.pid}/stat`, "utf8")).split(") ")[1]?.split(" ") ?? [];
    while ((await fields())[0] !== "Z") await realClock.sleep(5);
    await writeFile(path, await claimOf(scratch.path, { pid: child.pid, start: (await fields())[19] }));
    expect(await holderOfLock(path, realClock)).toMatchObject({ command });
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(await holderOfLock(path, realClock)).toBeUndefined();
  });

  test("is removed although another process was killed while it removed the lock", async () => {
    await using scratch = await scratchDirectory();
    const path = join(scratch.path, "lock");
    const [dead, right] = [
      await claimOf(scratch.path, { pid: 2 ** 30 }),
      await claimOf(scratch.path, { pid: 2 ** 30 }),
    ];
    await writeFile(path, dead);
    await writeFile(`${path}${temporarySuffix}`, right);
    const lock = new LockFile(path, { clock: realClock, command });
    expect(await lock.acquire()).toStrictEqual({ state: "Held" });
    lock.release();
    expect(await readdir(scratch.path)).toStrictEqual([]);
  });

  test("stays with the process that took it while another one waited for the right to remove it", async () => {
    await using scratch = await scratchDirectory();
    const path = join(scratch.path, "lock");
    const dead = await claimOf(scratch.path, { pid: 2 ** 30 });
    const [right, living] = [await claimOf(scratch.path, { scope: "elsewhere" }), await claimOf(scratch.path, {})];
    await writeFile(path, dead);
    await writeFile(`${path}${temporarySuffix}`, right);
    const clock = createVirtualClock();
    const outcome = new LockFile(path, { clock, command }).acquire();
    await clock.advance(1000);
    await writeFile(path, living);
    await advanceUntil(clock, outcome);
    expect(await outcome).toMatchObject({ state: "Busy" });
    expect(await readFile(path, "utf8")).toBe(living);
  });

  test("is held by one process at a time, although its holders are killed again and again", async () => {
    await using scratch = await scratchDirectory();
    const module = new URL("../../../src/source/directory/lock-file.ts", import.meta.url).href;
    const clockModule = new URL("../../../src/async/clock.ts", import.meta.url).href;
    const code = `
      const { appendFileSync } = await import("node:fs");
      const { LockFile } = await import(${JSON.stringify(module)});
      const { realClock } = await import(${JSON.stringify(clockModule)});
      const [folder, name] = process.argv.slice(1);
      for (;;) {
        const lock = new LockFile(folder + "/lock", { clock: realClock, command: "test" });
        await lock.acquire({ waitMs: 60_000 });
        appendFileSync(folder + "/log", "+" + name + "\\n");
        if (Math.random() < 0.2) process.kill(process.pid, "SIGKILL");
        appendFileSync(folder + "/log", "-" + name + "\\n");
        lock.release();
        await realClock.sleep(1);
      }`;
    let turns = 0;
    const worker = async (name: number): Promise<void> => {
      while (turns < 40) {
        turns += 1;
        const child = spawn(process.execPath, [
          "--no-warnings",
          "--input-type=module",
          "--eval",
          code,
          scratch.path,
          `${name}`,
        ]);
        await once(child, "exit");
      }
    };
    await Promise.all([1, 2, 3].map(worker));
    const lines = (await readFile(join(scratch.path, "log"), "utf8")).trim().split("\n");
    // Whoever begins either ends before the next one begins, or was killed.
    const overlaps = lines.filter((line, index) => line.startsWith("-") && lines[index - 1] !== line.replace("-", "+"));
    expect(overlaps).toStrictEqual([]);
    expect(lines.length).toBeGreaterThan(40);
  });
});
