// Declares commands and their options. The values of an option have a type, so the function of a command gets options whose types are
// those of its declaration.
import { type Argument, type Command, InvalidArgumentError, Option } from "commander";

// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- OptionsOf infers it.
class Declared<Value> extends Option {
  /** Has no value: it only tells the compiler the type of the parsed option. */
  declare readonly value: Value;
}

type Declarations = Readonly<Record<string, Declared<unknown>>>;

/** The parsed options, by the names of their declarations. */
export type OptionsOf<Some extends Declarations> = { readonly [Name in keyof Some]: Some[Name]["value"] };

export function flag(flags: string, description: string): Declared<boolean> {
  const option = new Declared<boolean>(flags, description);
  // An option `--no-…` is true by default.
  return option.negate ? option : option.default(false);
}

/** @param otherwise the value of an option that is not given; undefined by default, as for the following functions */
export function text<const Otherwise extends string | undefined = undefined>(
  flags: string,
  description: string,
  otherwise?: Otherwise,
) {
  return new Declared<string | Otherwise>(flags, description).default(otherwise);
}

/** A text that must be given. */
export function required(flags: string, description: string): Declared<string> {
  return new Declared<string>(flags, description).makeOptionMandatory();
}

export function number<const Otherwise extends number | undefined = undefined>(
  flags: string,
  description: string,
  [least, most]: readonly [least: number, most: number],
  otherwise?: Otherwise,
) {
  const parse = wholeNumber(least, most);
  return new Declared<number | Otherwise>(flags, description).argParser(parse).default(otherwise);
}

export function choice<const Name extends string, const Otherwise extends NoInfer<Name> | undefined = undefined>(
  flags: string,
  description: string,
  choices: readonly Name[],
  otherwise?: Otherwise,
) {
  return new Declared<Name | Otherwise>(flags, description).choices(choices).default(otherwise);
}

/** The format of the output. The first one is the default. */
export function format<const Name extends string>(...names: readonly [Name, ...Name[]]): Declared<Name> {
  return choice("-o, --output <format>", "output format", names, names[0]);
}

/** A repeatable option. Has no default, because the help would print it. @param valuesOf the values in one use of the option */
export function texts(flags: string, description: string, valuesOf = (value: string): string[] => [value]) {
  const collect = (value: string, before: readonly string[] = []) => [...before, ...valuesOf(value)];
  return new Declared<readonly string[] | undefined>(flags, description).argParser(collect);
}

/** The same, but each value may also be a comma-separated list. */
export function lists(flags: string, description: string): Declared<readonly string[] | undefined> {
  return texts(flags, description, (value) => value.split(",").map((one) => one.trim()));
}

export function wholeNumber(least: number, most: number): (value: string) => number {
  return (value) => {
    const parsed = Number(value);
    if (Number.isInteger(parsed) && parsed >= least && parsed <= most) return parsed;
    throw new InvalidArgumentError(`Write a whole number from ${least} to ${most}.`);
  };
}

/** The options that select something else than a folder. */
const otherTargets = ["namespace", "allNamespaces", "kubeconfig", "context", "baseUrl"];
/** The options that select something else than one instance. */
const otherInstances = ["allNamespaces", "allInstances", "baseUrl"];

/** Adds a command to the program. @param setExitCode receives what the function of the command returns */
export type AddCommand = (program: Command, setExitCode: (code: number) => void) => void;

/** @param parts `load` loads the function of the command, which gets the arguments and the options */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- `Arguments` is inferred from `load`.
export function command<Some extends Declarations, Arguments extends readonly unknown[]>(
  name: string,
  parts: {
    readonly description: string;
    readonly argument?: Argument;
    readonly options: Some;
    readonly help: string;
    readonly load: () => Promise<(...given: [...Arguments, OptionsOf<Some>]) => Promise<number>>;
  },
): AddCommand {
  const { description, argument, options, help, load } = parts;
  return (program, setExitCode) => {
    const added = program.command(name).description(description).addHelpText("after", help);
    if (argument !== undefined) added.addArgument(argument);
    for (const option of Object.values(options)) added.addOption(option);
    // A target from the environment gives way to another one.
    const isFrom = (source: string) => (name: string) => added.getOptionValueSource(name) === source;
    added.hook("preAction", () => {
      const outdone = [
        ...(otherTargets.some(isFrom("cli")) ? ["from"] : []),
        ...(otherInstances.some(isFrom("cli")) ? ["instance"] : []),
      ];
      for (const name of outdone.filter(isFrom("env"))) added.setOptionValue(name, undefined);
    });
    // Commander passes what the command declares.
    added.action(async (...given) => setExitCode(await (await load())(...(given as never))));
  };
}
