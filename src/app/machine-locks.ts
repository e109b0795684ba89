// Coordinates the wafsync processes of one user on one machine that use the same API key.
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import type { Clock } from "../async/clock.ts";
import { KeyLockFiles } from "../source/directory/key-lock-files.ts";
import type { KeyLocks } from "../waf/key-lock.ts";
import type { Environment } from "./config.ts";

export interface MachineLocksOptions {
  readonly environment: Pick<Environment, "runtimeDirectory">;
  /** The command of this process, for example `wafsync run`. */
  readonly command: string;
  readonly clock: Clock;
  /** Called with a message for people. */
  readonly onNotice: (text: string) => void;
}

export function machineLocks({ environment, command, clock, onNotice }: MachineLocksOptions): KeyLocks {
  const { runtimeDirectory } = environment;
  const folder =
    runtimeDirectory === undefined ? join(tmpdir(), `wafsync-${userInfo().uid}`) : join(runtimeDirectory, "wafsync");
  let hasWarned = false;
  const files = new KeyLockFiles({
    folder,
    processId: process.pid,
    command,
    clock,
    onWait: (by) => onNotice(`Waiting for ${by}, which uses the same API key.`),
    onProblem: (problem) => {
      if (!hasWarned) onNotice(`warning: ${problem}`);
      hasWarned = true;
    },
  });
  return (key) => ({ acquire: async (signal) => await files.acquire(key.fingerprint(), signal) });
}
