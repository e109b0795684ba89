import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, readdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { realClock } from "../../../src/async/clock.ts";
import { KeyLockFiles, keyLockWaitMsMax } from "../../../src/source/directory/key-lock-files.ts";
import type { KeyLockFilesOptions } from "../../../src/source/directory/key-lock-files.ts";
import { createVirtualClock } from "../../support/fakes/virtual-clock.ts";
import { scratchDirectory } from "../../support/worlds/scratch-directory.ts";

function locksIn(folder: string, more: Partial<KeyLockFilesOptions> = {}): KeyLockFiles {
  return new KeyLockFiles({ folder, processId: process.pid, command: "wafsync run", clock: realClock, ...more });
}

async function heldBy(locks: KeyLockFiles, key = "a"): Promise<() => Promise<void>> {
  const outcome = await locks.acquire(key);
  if (outcome.state !== "Held") throw new Error(outcome.state);
  return async () => await outcome.release();
}

/** The ID of a process that has ended. */
async function deadProcess(): Promise<number> {
  const child = spawn(process.execPath, ["--version"], { stdio: "ignore" });
  await once(child, "exit");
  return child.pid ?? 0;
}

describe("Processes with the same key", () => {
  test("never hold it at the same time, and each gets its turn", async () => {
    await using scratch = await scratchDirectory();
    const folder = join(scratch.path, "locks");
    let held = 0;
    let heldMax = 0;
    const turns: number[] = [];
    const work = async (worker: number): Promise<void> => {
      const locks = locksIn(folder);
      for (let turn = 0; turn < 20; turn += 1) {
        const release = await heldBy(locks);
        held += 1;
        heldMax = Math.max(heldMax, held);
        turns.push(worker);
        await realClock.sleep(1);
        held -= 1;
        await release();
      }
    };
    await Promise.all([0, 1, 2].map(work));
    expect(heldMax).toBe(1);
    // Except at the start and the end, no process goes twice while another one waits.
    const doubles = turns.slice(5, -25).filter((worker, index, all) => worker === all[index + 1]);
    expect(doubles).toStrictEqual([]);
    expect(await readdir(folder)).toStrictEqual([]);
  });

  test("learn that another one waits, so one with many calls can let it go first", async () => {
    await using scratch = await scratchDirectory();
    const folder = join(scratch.path, "locks");
    const outcome = await locksIn(folder).acquire("a");
    if (outcome.state !== "Held") throw new Error(outcome.state);
    expect(await outcome.isWanted()).toBe(false);
    const otherKey = await heldBy(locksIn(folder), "b");
    expect(await outcome.isWanted()).toBe(false);
    const waiting = heldBy(locksIn(folder));
    while (!(await outcome.isWanted())) await realClock.sleep(1);
    await outcome.release();
    await (
      await waiting
    )();
    await otherKey();
  });

  test("do not wait for those with another key", async () => {
    await using scratch = await scratchDirectory();
    const folder = join(scratch.path, "locks");
    await heldBy(locksIn(folder), "a");
    await (
      await heldBy(locksIn(folder), "b")
    )();
  });

  test("do not wait for one that has ended", async () => {
    await using scratch = await scratchDirectory();
    const folder = join(scratch.path, "locks");
    await heldBy(locksIn(folder, { processId: await deadProcess() }));
    expect(await readdir(folder)).toHaveLength(1);
    await (
      await heldBy(locksIn(folder))
    )();
    expect(await readdir(folder)).toStrictEqual([]);
  });

  test("stop waiting for one that does not release the key, and name it", async () => {
    await using scratch = await scratchDirectory();
    const folder = join(scratch.path, "locks");
    await heldBy(locksIn(folder));
    const clock = createVirtualClock();
    const told: string[] = [];
    const locks = locksIn(folder, { clock, onWait: (by) => told.push(by) });
    const waiting = locks.acquire("a");
    const by = `process ${process.pid} (wafsync run)`;
    await advanceUntil(clock, waiting);
    expect(await waiting).toStrictEqual({ state: "Busy", by });
    expect(told).toStrictEqual([by]);
    expect(await readdir(folder)).toHaveLength(1);
  });

  test("stop waiting at a signal", async () => {
    await using scratch = await scratchDirectory();
    const folder = join(scratch.path, "locks");
    await heldBy(locksIn(folder));
    const stop = new AbortController();
    const waiting = locksIn(folder).acquire("a", stop.signal);
    stop.abort();
    expect(await waiting).toStrictEqual({ state: "Aborted" });
    expect(await readdir(folder)).toHaveLength(1);
  });

  test.each([
    ["others may write to it", async (folder: string) => await chmod(folder, 0o777)],
    ["it is a link", async (folder: string) => await symlink("/tmp", `${folder}/locks`)],
    ["it is a file", async (folder: string) => await writeFile(`${folder}/locks`, "")],
  ])("work without coordination if the folder is not private: %s", async (_, spoil) => {
    await using scratch = await scratchDirectory();
    await spoil(scratch.path);
    const problems: string[] = [];
    const folder = _ === "others may write to it" ? scratch.path : join(scratch.path, "locks");
    const locks = locksIn(folder, { onProblem: (problem) => problems.push(problem) });
    await (
      await heldBy(locks)
    )();
    await (
      await heldBy(locks)
    )();
    expect(problems).toStrictEqual([expect.stringContaining("cannot be used")]);
  });
});

async function advanceUntil(clock: ReturnType<typeof createVirtualClock>, end: Promise<unknown>): Promise<void> {
  const ended = { isOver: false };
  void end.finally(() => (ended.isOver = true));
  for (let passedMs = 0; !ended.isOver && passedMs < 10 * keyLockWaitMsMax; passedMs += 1000) {
    await clock.advance(1000);
    await realClock.sleep(1);
  }
}
