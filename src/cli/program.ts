// The command line of `wafsync`: its commands, each of which declares its options in a separate file. The code of a command is
// loaded when it is called. Help and completion are generated from these declarations.
import { Command } from "commander";
import packageJson from "../../package.json" with { type: "json" };
import { folderCommands } from "./commands/folder-commands.ts";
import { incidentCommands } from "./commands/incident-commands.ts";
import type { AddCommand } from "./commands/declare.ts";
import { processCommands } from "./commands/process-commands.ts";
import { wafCommands } from "./commands/waf-commands.ts";
import { examplesAs, refuseUnsafeEnvironment } from "./invocation.ts";

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
