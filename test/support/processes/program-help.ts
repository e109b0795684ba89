// Reads commands and options from `--help`, so that tests do not need their own lists. The parser runs in this process, which is
// many times faster than a process for each command line.
import { CommanderError } from "commander";
import { createProgram } from "../../../src/cli/program.ts";

/** What the parser prints, and the message with which it ends: for command lines that run no command. */
export async function parseOnly(
  words: readonly string[],
): Promise<{ readonly text: string; readonly message: string }> {
  const program = createProgram("wafsync", () => undefined);
  let text = "";
  for (const command of [program, ...program.commands]) {
    command.configureOutput({ writeOut: (part) => (text += part), writeErr: () => undefined });
  }
  try {
    await program.parseAsync([...words], { from: "user" });
  } catch (error) {
    if (error instanceof CommanderError) return { text, message: error.message };
    throw error;
  }
  throw new Error(`wafsync ${words.join(" ")} ran`);
}

/** The indented lines after a heading such as `Options:`, up to the next blank line. */
function block(help: string, heading: string): string[] {
  const lines = help.split("\n");
  const start = lines.indexOf(heading);
  const end = lines.indexOf("", start);
  return start === -1 ? [] : lines.slice(start + 1, end === -1 ? undefined : end);
}

/** Every command of wafsync, in the order in which `--help` lists them. */
export async function commandNames(): Promise<readonly string[]> {
  const [listed = ""] = (await parseOnly(["--help"])).text.split("Examples:");
  const names = [...listed.matchAll(/^ {2}([a-z][a-z-]*)/gmu)].map(([, name = ""]) => name);
  return names.filter((name) => name !== "help");
}

/** The long options of a command, for example `--from`, without `--help`. */
export async function optionNames(command: string): Promise<readonly string[]> {
  const lines = block((await parseOnly([command, "--help"])).text, "Options:");
  const names = lines.flatMap((line) => /^ {2}(?:-\w, )?(--[a-z][a-z-]*)/u.exec(line)?.[1] ?? []);
  return names.filter((name) => name !== "--help");
}
