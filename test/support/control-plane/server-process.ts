// A server of the control plane as a child process. Its log goes to a file, and it ends with this process,
// because the binary watches its stdin, which this process holds open.
import { spawn } from "node:child_process";
import { open, readFile } from "node:fs/promises";
import type { Program } from "./program.ts";

export interface ServerProcess {
  readonly name: string;
  readonly logFile: string;
  /** Resolves when the process has ended, with a description of how it ended. */
  readonly ended: Promise<string>;
  isRunning(): boolean;
  /** Sends the signal and waits for the end, without a time limit. */
  end(signal: NodeJS.Signals): Promise<void>;
}

const logLinesShown = 25;

/** Starts the program. A program that can't be started counts as ended. */
export async function startServer(
  name: string,
  program: Program,
  args: readonly string[],
  logFile: string,
): Promise<ServerProcess> {
  const log = await open(logFile, "a");
  const child = spawn(program.file, [...program.leadingArguments, ...args], { stdio: ["pipe", log.fd, log.fd] });
  await log.close();
  const ending = Promise.withResolvers<string>();
  let running = true;
  const settle = (how: string): void => {
    running = false;
    process.removeListener("exit", killWithParent);
    ending.resolve(how);
  };
  // For programs that do not watch their stdin, such as those in KUBEBUILDER_ASSETS.
  const killWithParent = (): void => void child.kill("SIGKILL");
  process.once("exit", killWithParent);
  child.stdin?.on("error", () => undefined);
  child.on("error", (error) => settle(error.message));
  child.on("exit", (code, signal) => settle(signal === null ? `exit code ${code}` : `ended by ${signal}`));
  return {
    name,
    logFile,
    ended: ending.promise,
    isRunning: () => running,
    async end(signal) {
      if (running) child.kill(signal);
      await ending.promise;
    },
  };
}

/** The last lines of the log, for error messages. */
export async function logTail(server: ServerProcess): Promise<string> {
  const text = await readFile(server.logFile, "utf8").catch(() => "");
  const lines = text.trimEnd().split("\n").slice(-logLinesShown);
  return [`--- ${server.name}: the last lines of its log ---`, ...lines].join("\n");
}
