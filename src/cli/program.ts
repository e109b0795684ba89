// The command line of `wafsync`: its commands, each of which declares its options in a separate file. The code of a command is
// loaded when it is called. Help and completion are generated from these declarations.
import { basename } from "node:path";
import { Command } from "commander";
import packageJson from "../../package.json" with { type: "json" };
import { folderCommands } from "./commands/folder-commands.ts";
import { incidentCommands } from "./commands/incident-commands.ts";
import type { AddCommand } from "./commands/declare.ts";
import { processCommands } from "./commands/process-commands.ts";
import { wafCommands } from "./commands/waf-commands.ts";
import { readEnvironment } from "../app/config.ts";
import { CommandError } from "./describe-error.ts";

/** In the order in which `--help` lists them, each group under its heading. */
const groups: Readonly<Record<string, readonly AddCommand[]>> = {
  "WAFs of a folder:": folderCommands,
  "State, incidents and approvals:": incidentCommands,
  "Calls to one WAF:": wafCommands,
  "Servers, and completion:": processCommands,
};

const exitCodes = `
Exit codes of plan: 0 nothing to do, 1 there are changes, 2 error.
Exit codes of apply: 0 complete, 1 incomplete (rejected, on hold, conflict), 2 error.
Exit code of a command that a signal stops before it finishes: 130.`;

/** @param name the name that users type: `wafsync`, or `kubectl wafsync` */
export function createProgram(name: string, setExitCode: (code: number) => void) {
  const program = new Command(name)
    .description("Keeps a hosted web application firewall in the state that its users declare.")
    .version(packageJson.version, "-V, --version", "print the version")
    .option("--debug", "print the stack of an unexpected error")
    .helpOption("-h, --help", "print this help")
    .configureOutput({
      writeOut: (text) => void process.stdout.write(examplesAs(name, text)),
      outputError: (text, write) => write(text.replace("command-argument value ", "")),
    })
    .showHelpAfterError("(--help lists commands and options)")
    .addHelpText(
      "after",
      `
Examples:
  $ wafsync simulator --port 8080 --key demo-key-0123456789=www.example.com &
  $ wafsync plan  -f examples/directory --allow-insecure-http
  $ wafsync apply -f examples/directory --allow-insecure-http
  $ wafsync run   -f examples/directory --allow-insecure-http
${exitCodes}`,
    )
    .hook("preAction", refuseUnsafeEnvironment)
    .exitOverride();
  for (const [heading, group] of Object.entries(groups)) {
    program.commandsGroup(heading);
    for (const add of group) add(program, setExitCode);
  }
  program.helpCommand("help [command]", "print the help of a command");
  for (const command of program.commands) command.exitOverride().showHelpAfterError("(--help lists the options)");
  return program;
}

// Determines how the program was invoked: by its own name, as a kubectl plugin, or by kubectl to complete a command line; and rejects
// environment variables that make Node.js leak credentials, for commands that connect to a server.

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
function refuseUnsafeEnvironment(): void {
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
