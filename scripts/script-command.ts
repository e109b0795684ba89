// The options of npm scripts: `--help` prints the usage, and a wrong option is an error with exit code 2.
import { Command } from "commander";
import { wholeNumber } from "../src/cli/commands/declare.ts";

/** @param name as in `npm run NAME` */
export function scriptCommand(name: string, description: string): Command {
  return new Command(`npm run ${name} --`)
    .description(description)
    .helpOption("--help", "print this help")
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2));
}

/** For numbers of things. */
export const count = wholeNumber(1, 1_000_000_000);
