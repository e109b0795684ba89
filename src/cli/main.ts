// The main module of `wafsync`: parses the command line and runs the command. The only module that sets the exit code. It has no
// top-level await, because the single executable is built from it as CommonJS.
import { CommanderError } from "commander";
import { visibleLines } from "../model/texts.ts";
import { describeError } from "./describe-error.ts";
import { callOf, createProgram } from "./program.ts";

const exitError = 2;

async function main(): Promise<number> {
  let exitCode = 0;
  const { name, completes, words } = callOf(process);
  const program = createProgram(name, (code) => {
    exitCode = code;
  });
  try {
    if (completes) {
      const { printCompletions } = await import("./completion/print-completions.ts");
      printCompletions(program, words);
      return 0;
    }
    await program.parseAsync(words, { from: "user" });
    return exitCode;
  } catch (error) {
    // Commander has printed its own message already.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : exitError;
    const isDebug = program.opts().debug === true;
    process.stderr.write(describeError(error, isDebug));
    return exitError;
  }
}

const faults = outliveReaders(process);
void main().then((code) => {
  process.exitCode = code;
  // The last line may be lost as well.
  process.once("exit", () => {
    if (faults.hasLost) process.exitCode = exitError;
  });
});

type OutputStream = Pick<NodeJS.WriteStream, "on" | "write">;

export interface OutputFaults {
  /** Whether results were lost. */
  readonly hasLost: boolean;
}

export function outliveReaders({ stdout, stderr }: Record<"stdout" | "stderr", OutputStream>): OutputFaults {
  const faults = { hasLost: false };
  stdout.on("error", ({ code }: NodeJS.ErrnoException) => {
    if (code === "EPIPE" || faults.hasLost) return;
    faults.hasLost = true;
    const problem = `error: cannot write to stdout (${code ?? "unknown error"}): results are lost`;
    stderr.write(visibleLines(`${problem}\n  wafsync continues its work. Free disk space, or redirect stdout.\n`));
  });
  // No stream is left to report this on.
  stderr.on("error", () => undefined);
  return faults;
}
