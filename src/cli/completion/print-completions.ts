// Completes a command line from the commands and options of the program, so that new commands and options need no changes here. The
// scripts of `wafsync completion` and kubectl expect the format of the library cobra, which kubectl uses: one candidate per line with a
// tab before its description, and a last line with a colon and a number.
import type { Argument, Command, Option } from "commander";
import { readEnvironment } from "../../app/config.ts";
import { realClock } from "../../async/clock.ts";
import { nameKey, type ObjectName } from "../../model/resource.ts";
import type { TargetOptions } from "../targets/target-options.ts";

/** Bits of cobra's directives: complete paths as usual, complete no paths, and complete folders only. */
const directives: Readonly<Record<Completion["paths"], number>> = { Files: 0, None: 4, Folders: 16 };

/**
 * Never fails: completion must not print errors.
 * @param refuse throws if it is unsafe to connect to a server
 */
export async function printCompletions(program: Command, words: readonly string[], refuse: () => void): Promise<void> {
  const completion = completeWords(program, words);
  const current = words.at(-1) ?? "";
  const lines = completion.candidates.map(({ value, description }) => `${value}\t${description}`);
  const command = program.commands.find((one) => words.includes(one.name()));
  if (completion.names === "Instances" && command !== undefined) {
    const names = await instanceNames(command, words.slice(0, -2), refuse).catch(() => []);
    lines.push(...names.map((name) => `${name}\t`).filter((line) => line.startsWith(current)));
  }
  process.stdout.write([...lines, `:${directives[completion.paths]}`, ""].join("\n"));
}

const namesMax = 500;
/** How long a completion waits for names. */
const namesTimeoutMs = 2000;

/** @param words of the command line, before the option to complete */
async function instanceNames(
  command: Command,
  words: readonly string[],
  refuse: () => void,
): Promise<readonly string[]> {
  command.configureOutput({ outputError: () => undefined }).parseOptions([...words]);
  const { from: given, kubeconfig, context, namespace, allNamespaces } = command.opts<TargetOptions>();
  const isForCluster = [kubeconfig, context, namespace].some((value) => value !== undefined) || allNamespaces === true;
  const isForFolders = command.options.some(({ long }) => long === "--from");
  const from = given ?? (isForFolders && !isForCluster ? readEnvironment().file : undefined);
  if (from === undefined) refuse();
  const cluster = { kubeconfig, context, namespace, allNamespaces: namespace === undefined };
  const place = { ...(from === undefined ? cluster : { from }), allowInsecureHttp: false };
  // Loads what reads folders and clusters.
  const { withTarget } = await import("../targets/open-target.ts");
  let names: readonly ObjectName[] = [];
  await withTarget(place as TargetOptions, async (target) => {
    const listed = new AbortController();
    const tooLate = realClock.sleep(namesTimeoutMs, listed.signal).then(() => []);
    names = await Promise.race([target.instances(), tooLate]).finally(() => listed.abort());
    return 0;
  });
  return names.slice(0, namesMax).map(nameKey);
}

export interface Completion {
  readonly candidates: readonly { readonly value: string; readonly description: string }[];
  /** What the shell completes itself in addition to the candidates: files, folders, or nothing. */
  readonly paths: "Files" | "Folders" | "None";
  /** Names from a folder or a cluster, which the preceding words select. */
  readonly names?: "Instances";
}

const nothing: Completion = { candidates: [], paths: "None" };

/** The placeholders of values that are paths, such as `<file>` in `--key-file <file>`. */
const pathPlaceholders: ReadonlyMap<string, Completion["paths"]> = new Map([
  ["file", "Files"],
  ["directory", "Folders"],
]);

/** @param words after the program name; the last one is to be completed, and may be empty */
export function completeWords(program: Command, words: readonly string[]): Completion {
  const before = words.slice(0, -1);
  const current = words.at(-1) ?? "";
  const at = before.findIndex((word) => !word.startsWith("-"));
  const name = before[at];
  if (name === undefined) {
    const help = { value: "help", description: "print the help of a command" };
    const candidates = current.startsWith("-") ? optionsOf(program) : [...commandsOf(program), help];
    return starting({ ...nothing, candidates }, current);
  }
  if (name === "help") return starting({ ...nothing, candidates: commandsOf(program) }, current);
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

function valuesOf(one: Option | Argument): Completion {
  if (one.argChoices !== undefined) {
    return { ...nothing, candidates: one.argChoices.map((value) => ({ value, description: "" })) };
  }
  const isOption = "flags" in one;
  const placeholder = isOption ? (/[<[](?<name>[^\]>]+)[\]>]$/u.exec(one.flags)?.groups?.["name"] ?? "") : one.name();
  const paths = pathPlaceholders.get(placeholder) ?? "None";
  return isOption && one.long === "--instance" ? { ...nothing, paths, names: "Instances" } : { ...nothing, paths };
}

function commandsOf(program: Command): Completion["candidates"] {
  const visible = program.createHelp().visibleCommands(program);
  return visible
    .filter((command) => command.name() !== "help")
    .map((command) => ({ value: command.name(), description: firstSentence(command.description()) }));
}

function optionsOf(command: Command): Completion["candidates"] {
  const options = command.createHelp().visibleOptions(command);
  return options.map(({ long, short, description }) => ({ value: long ?? short ?? "", description }));
}

function firstSentence(text: string): string {
  return text.split(/[.:](?: |$)/u)[0] ?? text;
}

function starting(completion: Completion, current: string): Completion {
  return { ...completion, candidates: completion.candidates.filter(({ value }) => value.startsWith(current)) };
}
