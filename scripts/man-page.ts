// The manual page wafsync(1), made from the command line of the program, so that it has every command and every option.
import type { Command, Option } from "commander";
import packageJson from "../package.json" with { type: "json" };
import { createProgram } from "../src/cli/program.ts";

const environment: readonly (readonly [name: string, meaning: string])[] = [
  ["WAFSYNC_API_KEY", "The API key of a WAF whose Secret is not in the folder, or that --base-url names."],
  ["KUBECONFIG", "The kubeconfig files, as kubectl reads them."],
  ["NO_COLOR", "Any value turns colors off."],
  ["XDG_CACHE_HOME", "The folder for compiled code, which makes the next start faster. The default is ~/.cache."],
];

/** Never wrapped: the formatter of manual pages wraps lines itself. */
const helpWidth = 10_000;

export function manPage(): string {
  const program = createProgram("wafsync", () => {});
  const commands = program.commands.filter((command) => isVisible(program, command));
  return [
    '.\\" Made by "npm run generate" from the options in src/cli/commands/. Do not edit.',
    `.TH WAFSYNC 1 "" "wafsync ${packageJson.version}" "User Commands"`,
    ".SH NAME",
    "wafsync \\- keep a hosted web application firewall in its declared state",
    ".SH SYNOPSIS",
    ".B wafsync",
    "[\\fB\\-\\-debug\\fR] \\fICOMMAND\\fR [\\fIOPTION\\fR]...",
    ".PP",
    ".B kubectl wafsync",
    "\\fICOMMAND\\fR [\\fIOPTION\\fR]...",
    ".SH DESCRIPTION",
    escape(program.description()),
    "The state is declared as Kubernetes custom resources, in a cluster or as YAML files in a folder.",
    "With \\fB\\-f\\fR, a command works on a folder; otherwise, as kubectl does, on the cluster of the kubeconfig.",
    ".PP",
    "Results go to stdout; progress, warnings and errors go to stderr. API keys are redacted.",
    ".SH OPTIONS",
    ...optionLines(program),
    ".SH COMMANDS",
    ...commands.flatMap(commandLines),
    ".SH EXIT STATUS",
    ...paragraphs(
      afterHelp(program)
        .split("\n")
        .filter((line) => line.startsWith("Exit code")),
    ),
    ".SH ENVIRONMENT",
    ...environment.flatMap(([name, meaning]) => [".TP", `.B ${name}`, escape(meaning)]),
    ".SH FILES",
    ".TP",
    ".I DIR/.wafsync",
    "Inventory, status and events of the folder DIR, unless \\fB\\-\\-state\\fR names another place.",
    ".SH SEE ALSO",
    ".BR kubectl (1)",
    "",
  ].join("\n");
}

function isVisible(program: Command, command: Command): boolean {
  return program.createHelp().visibleCommands(program).includes(command);
}

function commandLines(command: Command): string[] {
  const [usage = ""] = command.usage().split("\n");
  return [
    `.SS "wafsync ${escape(command.name())} ${escape(usage)}"`,
    escape(command.description()),
    ...command.registeredArguments.flatMap((argument) => [
      ".TP",
      `.I ${escape(argument.name())}`,
      escape(command.createHelp().argumentDescription(argument)),
    ]),
    ...optionLines(command),
    ...afterLines(afterHelp(command)),
  ];
}

function optionLines(command: Command): string[] {
  const help = command.createHelp();
  return help
    .visibleOptions(command)
    .flatMap((option) => [".TP", flags(option), escape(help.optionDescription(option))]);
}

/** The names bold, the placeholder of the value in italics. */
function flags({ flags: text }: Option): string {
  const bold = text.replaceAll(/--?[a-zA-Z][\w-]*/gu, (name) => `\\fB${escape(name)}\\fR`);
  return bold.replaceAll(/<(?<name>.*)>$/gu, (_, name: string) => `\\fI${escape(name)}\\fR`);
}

/** What `addHelpText` added behind the options. */
function afterHelp(command: Command): string {
  let whole = "";
  command.configureOutput({ writeOut: (text) => void (whole += text), getOutHelpWidth: () => helpWidth });
  command.outputHelp();
  return whole.slice(command.helpInformation().length).trim();
}

/** Examples as they are, everything else as paragraphs. */
function afterLines(text: string): string[] {
  const blocks = text.split(/\n{2,}/u).filter((block) => block !== "");
  return blocks.flatMap((block) => {
    const lines = block.split("\n");
    const examples = lines.filter((line) => line.startsWith("  "));
    const others = lines.filter((line) => !line.startsWith("  ")).join(" ");
    const isExample = examples.length > 0;
    return [".PP", escape(others), ...(isExample ? [".PP", ".nf", ...examples.map(escape), ".fi"] : [])];
  });
}

function paragraphs(lines: readonly string[]): string[] {
  return lines.flatMap((line, index) => (index === 0 ? [escape(line)] : [".PP", escape(line)]));
}

/** Text that roff prints as it stands. */
function escape(text: string): string {
  const plain = text.replaceAll("\\", "\\e").replaceAll("-", "\\-").replaceAll('"', "\\(dq").replaceAll("~", "\\(ti");
  return plain.replace(/^[.']/u, "\\&$&");
}
