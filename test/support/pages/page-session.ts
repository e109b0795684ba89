// A shell that runs the steps of a page one after another, as a person would type them: the folder and the variables stay from
// block to block. Addresses, ports and folders of the page stand for others of the test, in commands and in what they print.
import { type ChildProcess, spawn } from "node:child_process";
import { chmod, open, readFile, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { slow } from "../processes/slowness.ts";
import { wafsyncProgram } from "../processes/wafsync-process.ts";
import type { ScratchDirectory } from "../worlds/scratch-directory.ts";

export interface SessionOptions {
  readonly scratch: ScratchDirectory;
  /** Where the commands begin. */
  readonly directory: string;
  /** Where the WAF of the pages is: they name `https://waf.example.com`. */
  readonly wafUrl: string;
  /** Of `wafsync ui`. */
  readonly pagePort: number;
  /** Text of the page, and what stands for it. */
  readonly replaced: readonly (readonly [string, string])[];
  /** Programs besides wafsync: the name, and the words that start it. */
  readonly programs?: Readonly<Record<string, readonly string[]>>;
  readonly environment?: Readonly<Record<string, string>>;
}

interface Background {
  readonly script: string;
  readonly child: ChildProcess;
  readonly ended: Promise<unknown>;
  printed: string;
}

const limitMs = 30_000;
const insecure = "--allow-insecure-http";
const pageUrl = "https://waf.example.com";
export const demoKey = "demo-key-0123456789";

export class PageSession implements AsyncDisposable {
  readonly #options: SessionOptions;
  readonly #background: Background[] = [];
  /** Every shell that ran to its end: what it started in the background may still run. */
  readonly #groups: ChildProcess[] = [];
  readonly #changes = new Set<() => void>();

  private constructor(options: SessionOptions) {
    this.#options = options;
  }

  static async begin(options: SessionOptions): Promise<PageSession> {
    const { scratch, directory, programs = {}, environment = {} } = options;
    const all = { ...programs, node: [process.execPath] };
    await scratch.write("bin/wafsync", wafsyncScript(options));
    for (const [name, words] of Object.entries(all)) {
      await scratch.write(`bin/${name}`, `#!/bin/sh\nexec ${words.map(quoted).join(" ")} "$@"\n`);
    }
    for (const name of ["wafsync", ...Object.keys(all)]) await chmod(join(scratch.path, "bin", name), 0o755);
    await scratch.write("home/.gitconfig", "[user]\n  name = A Person\n  email = person@example.com\n");
    // As on a terminal, where curl shows no progress of short responses.
    await scratch.write("home/.curlrc", "silent\nshow-error\n");
    const variables = {
      PATH: [join(scratch.path, "bin"), process.env["PATH"] ?? ""].join(delimiter),
      HOME: join(scratch.path, "home"),
      XDG_RUNTIME_DIR: join(scratch.path, "home"),
      LC_ALL: "C.UTF-8",
      ...environment,
    };
    const lines = Object.entries(variables).map(([name, value]) => `export ${name}=${quoted(value)}`);
    await writeFile(join(scratch.path, "state"), `${lines.join("\n")}\ncd ${quoted(directory)}\n`);
    return new PageSession(options);
  }

  /** Runs it to the end, or to the first command that fails. */
  async run(
    script: string,
    { stopsAtFailure = true }: { readonly stopsAtFailure?: boolean } = {},
  ): Promise<{ readonly code: number | null; readonly printed: string }> {
    const { scratch } = this.#options;
    // Not a pipe: a process that the script leaves behind would keep it open.
    const path = join(scratch.path, "printed");
    const file = await open(path, "w");
    const text = this.#textOf(`${stopsAtFailure ? "set -e\n" : ""}${script}`, true);
    const child = spawn("bash", ["-c", text], { stdio: ["ignore", file.fd, file.fd], detached: true });
    this.#groups.push(child);
    const timer = setTimeout(() => kill(child, "SIGKILL"), slow(limitMs));
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once("error", reject);
      child.once("exit", resolve);
    });
    clearTimeout(timer);
    await file.close();
    const output = this.#asOnPage(await readFile(path, "utf8"));
    // The script of wafsync adds the option where the page has an https URL.
    const printed = script.includes(insecure) ? output : output.replaceAll(` ${insecure}`, "");
    return { code, printed };
  }

  /** Resolves when it has printed a line. */
  async start(script: string): Promise<void> {
    const { child, ended, output } = this.#start(script);
    const background: Background = { script, child, ended, printed: "" };
    this.#background.push(background);
    const update = (): void => {
      background.printed = output();
      for (const look of this.#changes) look();
    };
    child.stdout?.on("data", update);
    void ended.then(update);
    await this.printsInBackground((printed) => printed.includes("\n"), [background]);
  }

  /** Waits until something in the background has printed it. @throws with all that was printed */
  async printsInBackground(isThere: (printed: string) => boolean, wanted = this.#background): Promise<void> {
    const look = (): boolean => wanted.some(({ printed }) => isThere(printed));
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const listener = (): void => {
      if (look()) resolve();
    };
    const timer = setTimeout(() => {
      reject(new Error(`not printed in the background:\n${wanted.map(({ printed }) => printed).join("\n")}`));
    }, slow(limitMs));
    this.#changes.add(listener);
    listener();
    await promise.finally(() => {
      clearTimeout(timer);
      this.#changes.delete(listener);
    });
  }

  get hasBackground(): boolean {
    return this.#background.length > 0;
  }

  /** As Ctrl-C does it. */
  async interrupt(part: string): Promise<void> {
    const index = this.#background.findIndex(({ script }) => script.includes(part));
    const [found] = index === -1 ? [] : this.#background.splice(index, 1);
    if (found === undefined) throw new Error(`nothing runs in the background with ${part}`);
    kill(found.child, "SIGINT");
    await found.ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const group of this.#groups) kill(group, "SIGKILL");
    for (const { child, ended } of this.#background) {
      kill(child, "SIGKILL");
      await ended;
    }
  }

  #start(script: string) {
    const child = spawn("bash", ["-c", this.#textOf(script, false)], {
      stdio: ["ignore", "pipe", "inherit"],
      detached: true,
    });
    let printed = "";
    child.stdout.setEncoding("utf8").on("data", (more: string) => (printed += more));
    const ended = new Promise<number | null>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", resolve);
    });
    return { child, ended, output: () => this.#asOnPage(printed) };
  }

  #textOf(script: string, keepsState: boolean): string {
    const state = quoted(join(this.#options.scratch.path, "state"));
    const save = keepsState ? `trap '{ export -p; echo "cd $(printf %q "$PWD")"; } > ${state}' EXIT` : "";
    return `exec 2>&1\n. ${state}\n${save}\n${this.#forTest(script)}\n`;
  }

  #forTest(text: string): string {
    return this.#options.replaced.reduce((result, [page, test]) => result.replaceAll(page, test), text);
  }

  #asOnPage(text: string): string {
    const { replaced, wafUrl } = this.#options;
    const back = replaced.reduceRight((result, [page, test]) => result.replaceAll(test, page), text);
    return back.replaceAll(wafUrl, pageUrl);
  }
}

/** The program with the WAF of the test in place of that of the pages, to which it may speak without TLS. */
function wafsyncScript({ wafUrl, pagePort }: SessionOptions): string {
  const withUrl = ["plan", "apply", "run", "why", "block", "unblock", "allow", "approve", "import", "logs", "report"];
  return `#!/bin/bash
words=("\${@//${pageUrl.replaceAll("/", "\\/")}/${wafUrl.replaceAll("/", "\\/")}}")
export WAFSYNC_BASE_URL="\${WAFSYNC_BASE_URL/${pageUrl.replaceAll("/", "\\/")}/${wafUrl}}"
[ -n "$WAFSYNC_BASE_URL" ] || unset WAFSYNC_BASE_URL
[ "$WAFSYNC_API_KEY" = "…" ] && export WAFSYNC_API_KEY=${demoKey}
case "$1 $*" in
  "ui "*) words+=(${insecure} --bind-address 127.0.0.1:${pagePort}) ;;
  "simulator "*--port*) ;;
  "simulator "*) words+=(--port ${new URL(wafUrl).port}) ;;
  *${insecure}* | *--help*) ;;
  ${withUrl.map((name) => `"${name} "*`).join(" | ")} | "clear-cache "*--base-url*) words+=(${insecure}) ;;
esac
exec ${quoted(process.execPath)} ${quoted(wafsyncProgram)} "\${words[@]}"
`;
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

/** The whole group: a shell and what it runs. */
function kill({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
