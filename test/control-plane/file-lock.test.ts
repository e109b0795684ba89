import { access, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { withFileLock } from "../support/control-plane/file-lock.ts";
import { runToEnd } from "../support/control-plane/run-to-end.ts";

describe("a lock between processes", () => {
  let directory: string;
  let path: string;
  const options = { waitMsMax: 20_000, onWait: (): void => undefined };

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "wafsync-lock-"));
    path = join(directory, "lock");
  });
  afterEach(async () => {
    await rm(directory, { recursive: true });
  });

  test("the second one works once the first one is done, and is told whom it waits for", async () => {
    const order: string[] = [];
    const waiting = Promise.withResolvers<number>();
    const holding = Promise.withResolvers<void>();
    const first = withFileLock(path, options, async () => {
      order.push("first begins");
      holding.resolve();
      await waiting.promise;
      order.push("first ends");
    });
    await holding.promise;
    await withFileLock(path, { ...options, onWait: waiting.resolve }, async () => {
      order.push("second");
    });
    await first;
    expect(order).toStrictEqual(["first begins", "first ends", "second"]);
    expect(await waiting.promise).toBe(process.pid);
  });

  test("the lock of a process that is gone is taken over", async () => {
    const gone = await runToEnd(process.execPath, ["-p", "process.pid"]);
    await writeFile(path, gone.stdout.trim());
    expect(await withFileLock(path, options, async () => "done")).toBe("done");
  });

  test("the lock is given back when the work fails", async () => {
    const work = async (): Promise<never> => {
      throw new Error("broken");
    };
    await expect(withFileLock(path, options, work)).rejects.toThrow("broken");
    await expect(access(path)).rejects.toMatchObject({ code: "ENOENT" });
  });

  test("nobody waits longer than is allowed", async () => {
    await writeFile(path, String(process.pid));
    expect(await withFileLock(path, { ...options, waitMsMax: 1 }, async () => "done")).toBeUndefined();
  });
});
