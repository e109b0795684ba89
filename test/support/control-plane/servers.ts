// The servers of one control plane as child processes of one program. Their logs go to files, and they end with this process,
// because the program watches its stdin, which this process holds open.
import { spawn } from "node:child_process";
import { open, readFile } from "node:fs/promises";
import { join } from "node:path";
import { realClock } from "../../../src/async/clock.ts";

interface Server {
  readonly name: string;
  /** How it ended; undefined while it runs. */
  ending: string | undefined;
  /** Sends the signal and waits for the end, without a time limit. */
  end(signal: NodeJS.Signals): Promise<unknown>;
}

const readyMsMax = 180_000;
const pollMs = 100;
const logLinesShown = 25;

export class Servers {
  readonly #program: string;
  readonly #directory: string;
  readonly #servers = new Map<string, Server>();

  /** @param directory the folder for the logs */
  constructor(program: string, directory: string) {
    this.#program = program;
    this.#directory = directory;
  }

  /** The name is the first parameter of the program. A previous server with the same name must have ended. */
  async start(name: string, flags: readonly string[]): Promise<void> {
    const log = await open(this.#logFile(name), "a");
    const child = spawn(this.#program, [name, ...flags], { stdio: ["pipe", log.fd, log.fd] });
    await log.close();
    const ended = Promise.withResolvers<void>();
    const end = async (signal: NodeJS.Signals): Promise<void> => {
      if (server.ending === undefined) child.kill(signal);
      await ended.promise;
    };
    const server: Server = { name, ending: undefined, end };
    const settle = (how: string): void => {
      server.ending = how;
      ended.resolve();
    };
    child.stdin?.on("error", () => undefined);
    child.on("error", (error) => settle(error.message));
    child.on("exit", (code, signal) => settle(signal === null ? `exit code ${code}` : `ended by ${signal}`));
    this.#servers.set(name, server);
  }

  /** Sends the signal and waits for the end of that server. */
  async end(name: string, signal: NodeJS.Signals): Promise<void> {
    await this.#servers.get(name)?.end(signal);
  }

  async endAll(): Promise<void> {
    await Promise.all([...this.#servers.values()].map((server) => server.end("SIGKILL")));
  }

  /** Calls the function until it returns true; a rejection counts as false. Throws with the logs if it takes too long. */
  async waitUntil(what: string, isTrue: () => Promise<boolean>): Promise<void> {
    const giveUpMs = realClock.monotonicMs() + readyMsMax;
    while (!(await isTrue().catch(() => false))) {
      const gone = [...this.#servers.values()].find(({ ending }) => ending !== undefined);
      const isTooLate = realClock.monotonicMs() > giveUpMs;
      const problem = gone === undefined ? `${what} took too long` : `${gone.name}: ${gone.ending}`;
      if (gone !== undefined || isTooLate) throw new Error(`${problem}\n${await this.#describeLogs()}`);
      await realClock.sleep(pollMs);
    }
  }

  /** The last lines of every log. */
  async #describeLogs(): Promise<string> {
    const tails = [...this.#servers.keys()].map(async (name) => {
      const text = await readFile(this.#logFile(name), "utf8").catch(() => "");
      const lines = text.trimEnd().split("\n").slice(-logLinesShown);
      return [`--- ${name}: the last lines of its log ---`, ...lines].join("\n");
    });
    return (await Promise.all(tails)).join("\n");
  }

  #logFile(name: string): string {
    return join(this.#directory, `${name}.log`);
  }
}
