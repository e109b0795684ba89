// Starts and ends the servers of one control plane. If a server does not start, it throws an error that
// contains the last lines of the logs.
import { join } from "node:path";
import { realClock } from "../../../src/async/clock.ts";
import type { Program } from "./program.ts";
import type { ServerProcess } from "./server-process.ts";
import { logTail, startServer } from "./server-process.ts";

export interface Supervisor {
  /** The name is also the name of the log file. A previous server with the same name must have ended. */
  start(name: string, program: Program, args: readonly string[]): Promise<void>;
  /** Sends the signal and waits for the end of that server. */
  end(name: string, signal: NodeJS.Signals): Promise<void>;
  endAll(): Promise<void>;
  /** Calls the function until it returns true; a rejection counts as false. */
  waitUntil(what: string, isTrue: () => Promise<boolean>): Promise<void>;
  /** The last lines of every log. */
  describeLogs(): Promise<string>;
}

const readyMsMax = 180_000;
const pollMs = 100;

/** Writes logs to the folder. */
export function createSupervisor(directory: string): Supervisor {
  const servers = new Map<string, ServerProcess>();
  const describeLogs = async (): Promise<string> => (await Promise.all([...servers.values()].map(logTail))).join("\n");
  return {
    async start(name, program, args) {
      servers.set(name, await startServer(name, program, args, join(directory, `${name}.log`)));
    },
    async end(name, signal) {
      await servers.get(name)?.end(signal);
    },
    async endAll() {
      await Promise.all([...servers.values()].map((server) => server.end("SIGKILL")));
    },
    async waitUntil(what, isTrue) {
      const giveUpMs = realClock.monotonicMs() + readyMsMax;
      while (!(await isTrue().catch(() => false))) {
        const gone = [...servers.values()].find((server) => !server.isRunning());
        if (gone !== undefined) throw new Error(`${gone.name}: ${await gone.ended}\n${await describeLogs()}`);
        if (realClock.monotonicMs() > giveUpMs) throw new Error(`${what} took too long\n${await describeLogs()}`);
        await realClock.sleep(pollMs);
      }
    },
    describeLogs,
  };
}
