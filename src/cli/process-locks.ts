// Coordinates a command with other wafsync processes on this machine that use the same API key.
import { readEnvironment } from "../app/config.ts";
import { machineLocks } from "../app/machine-locks.ts";
import { realClock } from "../async/clock.ts";
import type { KeyLocks } from "../waf/key-lock.ts";
import { type Terminal, terminalOn } from "./terminal.ts";

/** @param command shown by the processes that wait for this one, for example `wafsync run` */
export function processLocks(command: string, notes: Pick<Terminal, "line"> = terminalOn(process.stderr)): KeyLocks {
  const environment = readEnvironment();
  return machineLocks({ environment, command, clock: realClock, onNotice: (text) => notes.line(text) });
}
