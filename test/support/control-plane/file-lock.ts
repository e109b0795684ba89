// A lock between processes: a file that names its holder. The lock of a process that has ended is taken over. In
// the worst case, two processes then do the same work, so the protected work must be harmless if it is repeated.
import { readFile, rm, writeFile } from "node:fs/promises";
import { realClock } from "../../../src/async/clock.ts";
import { errorCode } from "./error-code.ts";

export interface LockOptions {
  readonly waitMsMax: number;
  /** Called once if another process holds the lock. */
  readonly onWait: (holder: number) => void;
}

const pollMs = 500;

/** Runs the work while this process holds the lock. Returns undefined if waiting took too long. */
export async function withFileLock<T>(
  path: string,
  options: LockOptions,
  work: () => Promise<T>,
): Promise<T | undefined> {
  if (!(await acquire(path, options))) return undefined;
  try {
    return await work();
  } finally {
    await rm(path, { force: true });
  }
}

async function acquire(path: string, options: LockOptions): Promise<boolean> {
  const giveUpMs = realClock.monotonicMs() + options.waitMsMax;
  let told = false;
  while (realClock.monotonicMs() < giveUpMs) {
    try {
      await writeFile(path, String(process.pid), { flag: "wx" });
      return true;
    } catch (error) {
      if (errorCode(error) !== "EEXIST") throw error;
    }
    const holder = await readHolder(path);
    if (holder !== undefined && !isRunning(holder)) {
      await rm(path, { force: true });
      continue;
    }
    if (!told && holder !== undefined) {
      options.onWait(holder);
      told = true;
    }
    await realClock.sleep(pollMs);
  }
  return false;
}

/** Undefined between the creation of the file and its first byte, and after its removal. */
async function readHolder(path: string): Promise<number | undefined> {
  const text = await readFile(path, "utf8").catch(() => "");
  return /^\d+$/.test(text) ? Number(text) : undefined;
}

function isRunning(processId: number): boolean {
  try {
    process.kill(processId, 0);
    return true;
  } catch (error) {
    return errorCode(error) === "EPERM";
  }
}
