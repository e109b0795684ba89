// Runs a program to its end and collects its output in memory, so it is only for short programs.
import { spawn } from "node:child_process";

export interface Ended {
  /** The exit code, or null if the program could not be started or was ended by a signal. */
  readonly code: number | null;
  readonly stdout: string;
  /** The program's output, or the reason why it could not be started. */
  readonly stderr: string;
}

export interface RunOptions {
  readonly directory?: string;
  readonly environment?: NodeJS.ProcessEnv;
  readonly input?: string;
  readonly timeoutMs?: number;
}

/** Only for requests or processes that hang. */
const timeoutMsDefault = 600_000;

/** Never rejects: a missing program ends with code null. */
export async function runToEnd(file: string, args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  const ended = Promise.withResolvers<Ended>();
  const child = spawn(file, args, {
    cwd: options.directory,
    env: options.environment,
    // Not the option `timeout`: its timer keeps this process alive if the program can't be started.
    signal: AbortSignal.timeout(options.timeoutMs ?? timeoutMsDefault),
    killSignal: "SIGKILL",
    stdio: "pipe",
  });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  child.on("error", (error) => ended.resolve({ code: null, stdout, stderr: `${stderr}${error.message}` }));
  child.on("close", (code, signal) => {
    const ending = signal === null ? "" : `\nended by ${signal}`;
    ended.resolve({ code, stdout, stderr: stderr + ending });
  });
  // A program that does not read its input closes the pipe early, which is harmless.
  child.stdin.on("error", () => undefined);
  child.stdin.end(options.input ?? "");
  return ended.promise;
}
