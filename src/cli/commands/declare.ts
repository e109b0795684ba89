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
export type OptionsOf<Some extends Declarations> = {
  readonly [Name in keyof Some as undefined extends Some[Name]["value"] ? never : Name]: Some[Name]["value"];
} & {
  readonly [Name in keyof Some as undefined extends Some[Name]["value"] ? Name : never]?: Exclude<
    Some[Name]["value"],
    undefined
  >;
};

export function flag(flags: string, description: string): Declared<boolean> {
  const option = new Declared<boolean>(flags, description);
  // An option `--no-…` is true by default.
  return option.negate ? option : option.default(false);
}

export function text(flags: string, description: string): Declared<string | undefined>;
export function text(flags: string, description: string, otherwise: string): Declared<string>;
export function text(flags: string, description: string, otherwise?: string) {
  return new Declared<string | undefined>(flags, description).default(otherwise);
}

/** A text that must be given. */
export function required(flags: string, description: string): Declared<string> {
  return new Declared<string>(flags, description).makeOptionMandatory();
}

type Limits = readonly [least: number, most: number];

export function number(flags: string, description: string, limits: Limits): Declared<number | undefined>;
export function number(flags: string, description: string, limits: Limits, otherwise: number): Declared<number>;
export function number(flags: string, description: string, limits: Limits, otherwise?: number) {
  return new Declared<number | undefined>(flags, description).argParser(wholeNumber(...limits)).default(otherwise);
}

export function choice<const Name extends string>(
  flags: string,
  description: string,
  choices: readonly Name[],
): Declared<Name | undefined>;
export function choice<const Name extends string>(
  flags: string,
  description: string,
  choices: readonly Name[],
  otherwise: NoInfer<Name>,
): Declared<Name>;
export function choice(flags: string, description: string, choices: readonly string[], otherwise?: string) {
  return new Declared<string | undefined>(flags, description).choices(choices).default(otherwise);
}

/** The format of the output. The first one is the default. */
export function format<const Name extends string>(...names: readonly [Name, ...Name[]]): Declared<Name> {
  return choice("-o, --output <format>", "output format", names, names[0]);
}

/** A repeatable option. Has no default, because the help would print it. */
export function texts(flags: string, description: string): Declared<readonly string[] | undefined> {
  const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];
  return new Declared<readonly string[] | undefined>(flags, description).argParser(collect);
}

/** The same, but each value may also be a comma-separated list. */
export function lists(flags: string, description: string): Declared<readonly string[] | undefined> {
  const split = (value: string): string[] => value.split(",").map((one) => one.trim());
  const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, ...split(value)];
  return new Declared<readonly string[] | undefined>(flags, description).argParser(collect);
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
