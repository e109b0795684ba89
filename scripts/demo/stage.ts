// Prints the steps of the demo (titles, captions, commands, checks), and runs its processes. Closing the stage stops all
// processes.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { stripVTControlCharacters, styleText } from "node:util";

const ruleWidth = 94;
const textWidth = 90;
const pollIntervalMs = 20;
const killAfterMs = 3_000;

/** A step of the demo failed. */
export class DemoFailure extends Error {
  readonly code = "Demo";
}

/** A process in the background, and the lines that it has printed. */
export interface BackgroundProcess {
  /** The lines that it printed to both streams so far, without colours. */
  readonly lines: readonly string[];
  /** Waits for a matching line. Fails if the process exits first, or if it takes too long. */
  line(pattern: RegExp): Promise<RegExpExecArray>;
  /** Sends the signal, and resolves with the exit code when the process has exited. */
  stop(signal: NodeJS.Signals): Promise<number | null>;
}

export interface StageOptions {
  /** The program to run for `wafsync` in the shown commands. */
  readonly program: readonly string[];
  readonly folder: string;
  readonly environment: NodeJS.ProcessEnv;
  /** Ends every wait. */
  readonly signal: AbortSignal;
  readonly stepTimeoutMs: number;
}

export function colour(style: Parameters<typeof styleText>[0], text: string): string {
  return styleText(style, text, { stream: process.stdout });
}

export class Stage {
  readonly #options: StageOptions;
  readonly #children = new Set<ChildProcess>();
  #steps = 0;
  #isAfterBlank = false;

  constructor(options: StageOptions) {
    this.#options = options;
  }

  /** Starts a step with a title and a caption that explains it. */
  step(title: string, caption: string): void {
    this.#steps += 1;
    const head = ` ${this.#steps}  ${title} `;
    this.#print("");
    this.#print(colour(["bold", "cyan"], `──${head}${"─".repeat(Math.max(0, ruleWidth - head.length))}`));
    for (const line of wrap(caption, textWidth)) this.#print(`   ${line}`);
  }

  /** Prints what happens outside of wafsync. */
  act(text: string): void {
    this.#print("");
    this.#mark("yellow", "▸", text);
  }

  /** Prints a result that was checked. Ends the demo if the check failed. */
  check(isSo: boolean, text: string): void {
    if (!isSo) throw new DemoFailure(`check failed: ${text}`);
    this.#mark("green", "✓", text);
  }

  table(rows: readonly (readonly [string, string])[]): void {
    const width = Math.max(...rows.map(([name]) => name.length));
    this.#print("");
    for (const [name, value] of rows) this.#print(`   ${colour("bold", name.padEnd(width))}   ${value}`);
    this.#print("");
  }

  /** Runs `wafsync` in the foreground, and checks its exit code. */
  async run(parameters: readonly string[], exitCode: number): Promise<void> {
    const code = await this.#exitCode(this.#spawn(parameters, "inherit"));
    if (code !== exitCode) throw new DemoFailure(`wafsync ${parameters[0]} exited with ${code} instead of ${exitCode}`);
    this.#isAfterBlank = false;
  }

  /** Starts `wafsync` in the background, and prints its output. @param shown how a line is printed */
  start(parameters: readonly string[], shown = (line: string): string => line): BackgroundProcess {
    const child = this.#spawn(parameters, "pipe");
    const lines: string[] = [];
    for (const stream of [child.stdout, child.stderr]) {
      if (stream === null) continue;
      createInterface({ input: stream }).on("line", (line) => {
        lines.push(stripVTControlCharacters(line));
        this.#print(shown(line));
      });
    }
    return {
      lines,
      line: async (pattern) =>
        await this.until(`a line like ${String(pattern)}`, () => {
          const found = lines.map((line) => pattern.exec(line)).find((match) => match !== null);
          if (found === undefined && hasEnded(child))
            throw new DemoFailure(`wafsync ${parameters[0]} exited too early`);
          return found;
        }),
      stop: async (signal) => {
        if (hasEnded(child)) return child.exitCode;
        const exited = this.#exitCode(child);
        child.kill(signal);
        return await exited;
      },
    };
  }

  /** Calls `ask` repeatedly until it returns something other than false or undefined. */
  async until<T>(what: string, ask: () => T | false | undefined): Promise<T> {
    const { signal, stepTimeoutMs } = this.#options;
    const deadlineMs = performance.now() + stepTimeoutMs;
    while (performance.now() < deadlineMs) {
      const answer = ask();
      if (answer !== undefined && answer !== false) return answer;
      await sleep(pollIntervalMs, undefined, { signal });
    }
    throw new DemoFailure(`timed out after ${stepTimeoutMs / 1000} s while waiting for ${what}`);
  }

  /** Stops every process that is still running, by force if necessary. */
  async close(): Promise<void> {
    await Promise.all(
      [...this.#children].map(async (child) => {
        if (hasEnded(child)) return;
        const closed = once(child, "close");
        child.kill("SIGTERM");
        const timer = setTimeout(() => child.kill("SIGKILL"), killAfterMs);
        await closed;
        clearTimeout(timer);
      }),
    );
  }

  #mark(style: "yellow" | "green", mark: string, text: string): void {
    for (const [place, line] of wrap(text, textWidth).entries()) {
      this.#print(colour(style, `   ${place === 0 ? mark : " "} ${line}`));
    }
  }

  /** Never prints two blank lines in a row. */
  #print(text: string): void {
    const isBlank = text === "";
    if (!isBlank || !this.#isAfterBlank) console.log(text);
    this.#isAfterBlank = isBlank;
  }

  #spawn(parameters: readonly string[], output: "inherit" | "pipe"): ChildProcess {
    this.#print("");
    this.#print(colour("bold", `$ wafsync ${parameters.join(" ")}`));
    const { program, folder, environment } = this.#options;
    const [file = "", ...fixed] = program;
    const child = spawn(file, [...fixed, ...parameters], {
      cwd: folder,
      env: output === "pipe" ? withColours(environment) : environment,
      stdio: ["ignore", output, output],
    });
    this.#children.add(child);
    return child;
  }

  async #exitCode(child: ChildProcess): Promise<number | null> {
    const { signal, stepTimeoutMs } = this.#options;
    const [code] = (await once(child, "close", {
      signal: AbortSignal.any([signal, AbortSignal.timeout(stepTimeoutMs)]),
    })) as [number | null];
    return code;
  }
}

/** Wraps text between words. Colours don't count as width. */
function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (line !== "" && stripVTControlCharacters(longer).length > width) {
      lines.push(line);
      line = word;
    } else line = longer;
  }
  return [...lines, line];
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

/** A process behind a pipe cannot detect the terminal, so FORCE_COLOR enables colours if the terminal supports them. */
function withColours(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return colour("bold", "x") === "x" ? environment : { ...environment, FORCE_COLOR: "1" };
}
