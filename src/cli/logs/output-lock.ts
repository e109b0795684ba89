// Prevents two downloads from writing the same file, for example after Ctrl-Z: a folder next to the file contains the lock of the
// process, as in a state directory. The folder is removed at the end; if a killed process left one, the next process takes it
// over.
import { mkdir, rmdir } from "node:fs/promises";
import type { Clock } from "../../async/clock.ts";
import { lockFolder } from "../../source/directory/process-lock.ts";
import { CommandError } from "../describe-error.ts";
import { errorCode } from "./log-checkpoint.ts";

/** Another process may remove the folder at the same moment. */
const attemptsMax = 5;

/** @returns a function that releases the file. @throws CommandError if another process is writing it */
export async function lockOutput(file: string, clock: Clock): Promise<() => Promise<void>> {
  const folder = `${file}.wafsync-lock`;
  for (let attempt = 1; ; attempt += 1) {
    try {
      await mkdir(folder, { mode: 0o700 }).catch((error: unknown) => {
        if (errorCode(error) !== "EEXIST") throw error;
      });
      const lock = await lockFolder(folder, process.pid, clock);
      if (!lock.ok) throw inUse(file, lock.heldBy);
      return async () => {
        await lock.release();
        await rmdir(folder).catch(() => undefined);
      };
    } catch (error) {
      if (error instanceof CommandError) throw error;
      if (errorCode(error) === "ENOENT" && attempt < attemptsMax) continue;
      throw new CommandError(`${file} cannot be written (${errorCode(error)})`);
    }
  }
}

function inUse(file: string, processId: number): CommandError {
  return new CommandError(
    `${file} is being written by process ${processId}`,
    "Wait until that process has ended, or choose another file.",
  );
}
