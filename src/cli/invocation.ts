// Determines how the program was invoked: by its own name, as a kubectl plugin, or by kubectl to complete a command line; and rejects
// environment variables that make Node.js leak credentials, for commands that connect to a server.
import { basename } from "node:path";
import { readEnvironment } from "../app/config.ts";
import { CommandError } from "./describe-error.ts";

/** The hidden command that shells call to complete a command line. */
export const completeCommand = "__complete";

const programName = "wafsync";
const pluginName = "kubectl wafsync";

export interface Call {
  /** The words that the user types before a command. */
  readonly name: string;
  readonly completes: boolean;
  /** The command and its options; with `completes`, the words of the command line, of which the last is to be completed. */
  readonly words: readonly string[];
}

/** @param process `argv0`, not `argv[1]`, is the name of the single executable, in which `argv[1]` is the path of Node.js. */
export function callOf({ argv, argv0, execPath }: Pick<NodeJS.Process, "argv" | "argv0" | "execPath">): Call {
  const [, script = "", ...words] = argv;
  const file = basename(script === execPath ? argv0 : script).replace(/\.(?:mjs|exe)$/u, "");
  if (file === "kubectl_complete-wafsync") return { name: pluginName, completes: true, words };
  const name = file === "kubectl-wafsync" ? pluginName : programName;
  if (words[0] !== completeCommand) return { name, completes: false, words };
  return { name, completes: true, words: words.slice(words[1] === "--" ? 2 : 1) };
}

/** The help text, whose examples use the name that the user types. */
export function examplesAs(name: string, help: string): string {
  if (name === programName) return help;
  return help.replaceAll(/^ {2}\$ .*$/gmu, (line) => line.replaceAll(/(?<![\w/.-])wafsync +(?=[a-z-])/gu, `${name} `));
}

/** Runs before any code is loaded that calls the WAF or a cluster. @throws CommandError */
export function refuseUnsafeEnvironment(): void {
  const { nodeDebug, tlsRejectUnauthorized } = readEnvironment();
  if (nodeDebug !== undefined) {
    throw new CommandError(
      "the environment variable NODE_DEBUG is set, so Node.js would print API keys",
      "Run wafsync without it, for example: env -u NODE_DEBUG wafsync …",
    );
  }
  if (tlsRejectUnauthorized === "0") {
    throw new CommandError(
      "the environment variable NODE_TLS_REJECT_UNAUTHORIZED is 0, so Node.js would send API keys to any server",
      "Run wafsync without it. To trust your own certificate authority, set NODE_EXTRA_CA_CERTS to its certificate file.",
    );
  }
}
