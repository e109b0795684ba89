// The program `wafsync`: its commands, each of which declares its options in a file of its own. What a command does is
// loaded when it is called; this file alone sets the exit code.
import { Command, CommanderError } from "commander";
import packageJson from "../../package.json" with { type: "json" };
import { readEnvironment } from "../app/config.ts";
import { addApplyCommand } from "./commands/apply.ts";
import { addClearCacheCommand } from "./commands/clear-cache.ts";
import { addLogsCommand } from "./commands/logs.ts";
import { addOperatorCommand } from "./commands/operator.ts";
import type { SetExitCode } from "./commands/option-groups.ts";
import { addPlanCommand } from "./commands/plan.ts";
import { addReportCommand } from "./commands/report.ts";
import { addRunCommand } from "./commands/run.ts";
import { addSimulatorCommand } from "./commands/simulator.ts";
import { CommandError, describeError } from "./describe-error.ts";

/** In the order in which `--help` lists them. */
const commands: readonly ((program: Command, setExitCode: SetExitCode) => void)[] = [
  addPlanCommand,
  addApplyCommand,
  addRunCommand,
  addClearCacheCommand,
  addOperatorCommand,
  addLogsCommand,
  addReportCommand,
  addSimulatorCommand,
];

const exitError = 2;

const exitCodes = `
Exit codes of plan: 0 nothing to do, 1 there are changes, 2 something is wrong.
Exit codes of apply and run --once: 0 all done, 1 something is left (refused, held, conflict), 2 something is wrong.
Exit code of whatever is stopped by a signal before it is done: 130.`;

/** Runs before anything that calls the WAF is loaded: with these variables, Node.js would give API keys away. */
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
      "Run wafsync without it. Set NODE_EXTRA_CA_CERTS to the file of a certificate authority of your own.",
    );
  }
}

function createProgram(setExitCode: SetExitCode): Command {
  const program = new Command("wafsync")
    .description("Keeps a hosted web application firewall in the state that its users declare.")
    .version(packageJson.version, "-V, --version", "print the version")
    .option("--debug", "print the stack of an unexpected error")
    .helpOption("-h, --help", "print this help")
    .showHelpAfterError("(--help lists commands and options)")
    .addHelpText(
      "after",
      `
Examples:
  $ wafsync simulator --port 8080 --key demo-key-0123456789=www.example.com &
  $ wafsync plan  -f examples/directory --allow-insecure-http
  $ wafsync apply -f examples/directory --allow-insecure-http
  $ wafsync run --from examples/directory --allow-insecure-http
${exitCodes}`,
    )
    .hook("preAction", refuseUnsafeEnvironment)
    .exitOverride();
  for (const add of commands) add(program, setExitCode);
  for (const command of program.commands) command.exitOverride().showHelpAfterError("(--help lists the options)");
  return program;
}

/** The reader of the output may stop reading (`| head`): the work is completed, and the exit code reports its result. */
function outliveReaders(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE") throw error;
    });
  }
}

async function main(): Promise<number> {
  outliveReaders();
  let exitCode = 0;
  const program = createProgram((code) => {
    exitCode = code;
  });
  try {
    await program.parseAsync();
    return exitCode;
  } catch (error) {
    // Commander has printed its own message already.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : exitError;
    const isDebug = program.opts<{ debug?: boolean }>().debug === true;
    process.stderr.write(describeError(error, isDebug));
    return exitError;
  }
}

process.exitCode = await main();
