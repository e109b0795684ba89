// Runs the program as users do, as a separate process. `npm test` runs the shipped bundle, which starts three times as
// fast as the sources; a suite that is started manually runs the sources. All output is recorded, so that a suite can
// search it for the API key.
import { type ChildProcess, spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundleIn, bundleVariable } from "./bundle.ts";
import { fast } from "./slowness.ts";

/** Types are removed from the sources only once, not by every process. */
export const compileCache = join(tmpdir(), "wafsync-test-compile-cache");
/** The folder of the key locks. Suites use the same keys for different WAFs, so each suite has its own folder. */
const runtimeDirectory = join(tmpdir(), `wafsync-test-runtime-${process.pid}`);
process.once("exit", () => rmSync(runtimeDirectory, { recursive: true, force: true }));
const bundle = process.env[bundleVariable];
/** The bundle of the run, or the source. */
export const wafsyncProgram =
  bundle === undefined || bundle === ""
    ? join(import.meta.dirname, "../../../src/cli/main.ts")
    : bundleIn(bundle).program;

export interface FinishedProcess {
  /** Undefined if a signal ended the process. */
  readonly code: number | undefined;
  readonly signal: NodeJS.Signals | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunningProcess {
  readonly child: ChildProcess;
  readonly ended: Promise<FinishedProcess>;
  /** The output so far, on both streams. */
  printed(): string;
  /** Resolves when the output matches; rejects if the process ends first. */
  hasPrinted(pattern: RegExp): Promise<void>;
}

export interface ProcessOptions {
  readonly environment?: Readonly<Record<string, string>>;
  readonly workingDirectory?: string;
  /** A different program than the one that users start. */
  readonly program?: string;
  /** How far its wall clock is ahead. */
  readonly laterMs?: number;
  /** How many times as fast its timers run; by default as `runFaster` says. */
  readonly haste?: number;
  /** A program that needs no Node.js. */
  readonly executable?: string;
  /** Parameters for Node.js. */
  readonly nodeParameters?: readonly string[];
  /** A file for the output of the process, instead of the test. */
  readonly files?: { readonly stdout?: number; readonly stderr?: number };
  /** Gives the process only the variables in `environment`. */
  readonly isIsolated?: boolean;
}

const clockPreload = join(import.meta.dirname, "clock-preload.ts");
/**
 * The program waits three seconds before it removes what files no longer declare: most of the time of a suite about removals. Timeouts
 * run faster as well: those of ten seconds must leave a busy machine enough time for a request.
 */
const timesAsFast = 3;
let hasteOfSuite = 1;

/** The timers of all programs that the suite starts from now on run faster. */
export function runFaster(): void {
  hasteOfSuite = fast(timesAsFast);
}

const transcripts: { readonly parameters: readonly string[]; text: string }[] = [];

/** The output of this suite's processes that ran this command. */
export function printedByCommand(command: string): string {
  return transcripts.flatMap(({ parameters, text }) => (parameters[0] === command ? [text] : [])).join("\n");
}

/** The output of all processes of this suite. */
export function everythingPrinted(): string {
  return transcripts.map(({ parameters, text }) => `$ wafsync ${parameters.join(" ")}\n${text}`).join("\n");
}

export function startWafsync(parameters: readonly string[], options: ProcessOptions = {}): RunningProcess {
  const transcript = { parameters, text: "" };
  transcripts.push(transcript);
  const { program: started = wafsyncProgram, nodeParameters = [], isIsolated = false } = options;
  const { laterMs = 0, haste = hasteOfSuite } = options;
  const hasOwnClock = laterMs !== 0 || haste !== 1;
  const inherited = {
    PATH: process.env["PATH"],
    HOME: process.env["HOME"],
    NODE_COMPILE_CACHE: compileCache,
    XDG_RUNTIME_DIR: runtimeDirectory,
  };
  const [file, before] =
    options.executable === undefined
      ? [process.execPath, [...nodeParameters, ...(hasOwnClock ? ["--import", clockPreload] : []), started]]
      : [options.executable, nodeParameters];
  const child = spawn(file, [...before, ...parameters], {
    stdio: ["ignore", options.files?.stdout ?? "pipe", options.files?.stderr ?? "pipe"],
    env: {
      ...(isIsolated ? {} : inherited),
      ...(hasOwnClock ? { WAFSYNC_TEST_LATER_MS: String(laterMs), WAFSYNC_TEST_HASTE: String(haste) } : {}),
      ...options.environment,
    },
    ...(options.workingDirectory === undefined ? {} : { cwd: options.workingDirectory }),
  });
  const texts = { stdout: "", stderr: "" };
  const listeners = new Set<() => void>();
  for (const name of ["stdout", "stderr"] as const) {
    child[name]?.setEncoding("utf8").on("data", (text: string) => {
      texts[name] += text;
      transcript.text += text;
      for (const listener of listeners) listener();
    });
  }
  const ended = new Promise<FinishedProcess>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolve({ code: code ?? undefined, signal: signal ?? undefined, ...texts }));
  });
  return {
    child,
    ended,
    printed: () => texts.stdout + texts.stderr,
    hasPrinted: async (pattern) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const look = (): void => {
        if (pattern.test(texts.stdout + texts.stderr)) resolve();
      };
      listeners.add(look);
      void ended.then(() => reject(new Error(`It ended without printing ${pattern}: ${transcript.text}`)), reject);
      look();
      await promise.finally(() => listeners.delete(look));
    },
  };
}

/** Runs to the end. */
export async function runWafsync(parameters: readonly string[], options?: ProcessOptions): Promise<FinishedProcess> {
  return await startWafsync(parameters, options).ended;
}
