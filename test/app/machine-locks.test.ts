import { chmod, mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { keyLockWaitMsMax, machineLocks } from "../../src/app/machine-locks.ts";
import { type Clock, realClock } from "../../src/async/clock.ts";
import { ApiKey } from "../../src/model/api-key.ts";
import type { KeyLock } from "../../src/waf/lane.ts";
import { createVirtualClock } from "../support/fakes/virtual-clock.ts";
import { scratchDirectory } from "../support/worlds/scratch-directory.ts";

const key = new ApiKey("0123456789abcdef");
const held = { state: "Held" };

/** Each has its own lock, as in separate processes. */
function lockIn(folder: string, clock: Clock = realClock, onNotice: (text: string) => void = () => undefined): KeyLock {
  return machineLocks({ environment: { runtimeDirectory: folder }, command: "wafsync run", clock, onNotice })(key);
}

describe("Processes with the same key", () => {
  test("never make calls at the same time, and one with many calls lets the others go first now and then", async () => {
    await using scratch = await scratchDirectory();
    let calling = 0;
    let callingMax = 0;
    const calls: number[] = [];
    const work = async (worker: number, count: number): Promise<void> => {
      const lock = lockIn(scratch.path);
      for (let call = 0; call < count; call += 1) {
        expect(await lock.enter()).toStrictEqual(held);
        callingMax = Math.max(callingMax, (calling += 1));
        calls.push(worker);
        await realClock.sleep(5);
        calling -= 1;
      }
      lock.leave();
    };
    await Promise.all([work(0, 400), work(1, 5), work(2, 5)]);
    expect(callingMax).toBe(1);
    // The others did not wait for the end of the many calls.
    expect(calls.slice(-100).every((worker) => worker === 0)).toBe(true);
  });

  test("wait at most a minute for one that does not release the key, and name it", async () => {
    await using scratch = await scratchDirectory();
    const first = lockIn(scratch.path);
    await first.enter();
    const clock = createVirtualClock();
    const told: string[] = [];
    const outcome = lockIn(scratch.path, clock, (text) => told.push(text)).enter();
    const ended = { isOver: false };
    void outcome.finally(() => (ended.isOver = true));
    while (!ended.isOver) {
      await clock.advance(100);
      await Promise.resolve();
    }
    const by = `process ${process.pid} (wafsync run)`;
    expect(await outcome).toStrictEqual({ state: "Busy", by });
    expect(told).toStrictEqual([`Waiting for ${by}, which uses the same API key.`]);
    expect(clock.monotonicMs()).toBeGreaterThanOrEqual(keyLockWaitMsMax);
    first.leave();
  });

  test("take the key again if somebody deleted the lock", async () => {
    await using scratch = await scratchDirectory();
    const lock = lockIn(scratch.path);
    await lock.enter();
    await scratch.remove("wafsync");
    expect(await lock.enter()).toStrictEqual(held);
    const stop = new AbortController();
    const second = lockIn(scratch.path).enter(stop.signal);
    stop.abort();
    expect(await second).toStrictEqual({ state: "Aborted" });
    lock.leave();
  });

  test.each([
    [
      "others may write to it",
      async (folder: string) => await mkdir(folder).then(async () => await chmod(folder, 0o777)),
    ],
    ["it is a link", async (folder: string) => await symlink("/tmp", folder)],
    ["it is a file", async (folder: string) => await writeFile(folder, "")],
  ])("work without coordination if the folder is not private: %s", async (_, spoil) => {
    await using scratch = await scratchDirectory();
    await spoil(join(scratch.path, "wafsync"));
    const told: string[] = [];
    const lock = lockIn(scratch.path, realClock, (text) => told.push(text));
    for (let call = 0; call < 2; call += 1) expect(await lock.enter()).toStrictEqual(held);
    expect(told).toStrictEqual([expect.stringContaining("cannot be used")]);
  });
});
