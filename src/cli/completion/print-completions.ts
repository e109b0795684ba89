// Completes a command line from the commands and options of the program, so that new commands and options need no changes here. The
// scripts of `wafsync completion` and kubectl expect the format of the library cobra, which kubectl uses: one candidate per line with a
// tab before its description, and a last line with a colon and a number.
import type { Argument, Command, Option } from "commander";

export interface Completion {
  readonly candidates: readonly { readonly value: string; readonly description: string }[];
  /** Whether the shell completes paths as well. */
  readonly hasPaths: boolean;
}

const nothing: Completion = { candidates: [], hasPaths: false };

/** Bits of cobra's directives: complete paths as usual, or not at all. */
const directives = { withPaths: 0, withoutPaths: 4 };

export function printCompletions(program: Command, words: readonly string[]): void {
  const { candidates, hasPaths } = completeWords(program, words);
  const lines = candidates.map(({ value, description }) => `${value}\t${description}`);
  process.stdout.write([...lines, `:${hasPaths ? directives.withPaths : directives.withoutPaths}`, ""].join("\n"));
}

/** @param words after the program name; the last one is to be completed, and may be empty */
export function completeWords(program: Command, words: readonly string[]): Completion {
  const before = words.slice(0, -1);
  const current = words.at(-1) ?? "";
  const at = before.findIndex((word) => !word.startsWith("-"));
  const name = before[at];
  if (name === undefined || name === "help") {
    const candidates = current.startsWith("-") ? optionsOf(program) : commandsOf(program);
    return starting({ ...nothing, candidates: candidates.filter(({ value }) => value !== name) }, current);
  }
  const command = program.commands.find((one) => one.name() === name);
  if (command === undefined) return nothing;
  const { awaiting, positionals, isEnded } = readWords(command, before.slice(at + 1));
  if (awaiting === undefined && !isEnded && current.startsWith("-")) {
    return starting({ ...nothing, candidates: optionsOf(command) }, current);
  }
  const one = awaiting ?? command.registeredArguments[positionals];
  return one === undefined ? nothing : starting(valuesOf(one), current);
}

/** The state after the words before the current one. */
function readWords(command: Command, before: readonly string[]) {
  let awaiting: Option | undefined;
  let positionals = 0;
  for (const [place, word] of before.entries()) {
    if (awaiting !== undefined) awaiting = undefined;
    else if (word === "--") {
      return { awaiting, positionals: positionals + before.length - place - 1, isEnded: true };
    } else if (!word.startsWith("-")) positionals += 1;
    else
      awaiting = command.options.find((one) => [one.short, one.long].includes(word) && (one.required || one.optional));
  }
  return { awaiting, positionals, isEnded: false };
}

/** The placeholders of values that are paths name them: `<file>` in `--key-file <file>`. */
function valuesOf(one: Option | Argument): Completion {
  const candidates = (one.argChoices ?? []).map((value) => ({ value, description: "" }));
  return { candidates, hasPaths: "flags" in one && /<(?:file|directory)>$/u.test(one.flags) };
}

function commandsOf(program: Command): Completion["candidates"] {
  const visible = program.createHelp().visibleCommands(program);
  return visible.map((command) => {
    const [description = ""] = command.description().split(/[.:](?: |$)/u);
    return { value: command.name(), description };
  });
}

function optionsOf(command: Command): Completion["candidates"] {
  const options = command.createHelp().visibleOptions(command);
  return options.map(({ long, short, description }) => ({ value: long ?? short ?? "", description }));
}

function starting(completion: Completion, current: string): Completion {
  return { ...completion, candidates: completion.candidates.filter(({ value }) => value.startsWith(current)) };
}
