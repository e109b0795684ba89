// Groups of options that several commands share, and the parsers of option values.
import { InvalidArgumentError, Option } from "commander";
import type { Command } from "commander";
import { logPlans } from "../../logs/log-days.ts";
import { CommandError } from "../describe-error.ts";

/** The formats of `--since` and `--until`. */
export const timeHelp = `All times are UTC. Write a day such as 2026-11-21, today, yesterday or 7d (seven days ago), which is included as a whole, or a time such as 2026-11-21T09:30, 24h or 1d12h (ago).`;

/** Turns the work of a command, which returns its exit code, into its action. */
// Commander passes the arguments and the options, whose types only the command knows.
// oxlint-disable-next-line typescript/no-explicit-any
export type Ends = (work: (...args: any[]) => Promise<number>) => (...args: any[]) => Promise<void>;

/** Adds a command to the program. */
export type AddCommand = (program: Command, ends: Ends) => void;

export const tableOrJson = ["table", "json"] as const;

export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (Number.isInteger(value) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`Write a whole number from ${least} to ${most}.`);
  };
}

/** Collects the values of a repeatable option. Has no default, because the help would print it. */
export function collect(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}

/** Like `collect`, but each value may also be a comma-separated list. */
export function collectList(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, ...text.split(",").map((one) => one.trim())];
}

/** Adds the options that `withSession` reads. */
export function withDirectoryOptions(command: Command, formats: readonly string[]) {
  return command
    .argument("[directory]", "the folder, as an alternative to -f")
    .option("-f, --from <directory>", "folder with the YAML files (WafInstance, WafIpRule, …, Secret, ConfigMap)")
    .option("--state <directory>", "folder for the inventory and status (default: .wafsync in that folder)")
    .option("--allow-insecure-http", "allow base URLs with http://, for trials on a laptop", false)
    .option("--allow-private-feeds", "allow feeds whose addresses are not on the public Internet", false)
    .option("--allowed-base-urls <urls>", "call only APIs below these URLs, separated by commas")
    .addOption(new Option("-o, --output <format>", "output format").choices(formats).default("table"));
}

/** Adds the folder to the options: from `-f`, or from the argument. @throws CommandError if there is no folder */
export function onFolder<T extends { readonly from?: string }>(
  directory: string | undefined,
  options: T,
): T & { readonly from: string } {
  const from = options.from ?? directory;
  if (from === undefined) throw new CommandError("no folder given", "Set -f to the folder with the YAML files.");
  if (directory !== undefined && directory !== from) {
    throw new CommandError(`two folders given: ${from} and ${directory}`, "Run the command once for each folder.");
  }
  return { ...options, from };
}

/** Adds the options that `withWaf` reads, and the plan, which limits the days of the logs. */
export function withLogSourceOptions(command: Command) {
  return withPlaceOptions(command)
    .option("--instance <name>", "the WafInstance, as NAME or NAMESPACE/NAME (default: the only one)")
    .option("--base-url <url>", "base URL of the WAF's API, instead of an instance")
    .option("--key-file <file>", "file that holds the API key (default: the environment variable WAFSYNC_API_KEY)")
    .addOption(new Option("--plan <plan>", "warn about days that this plan does not keep").choices(logPlans))
    .option("--timeout <seconds>", "give up on a call after this time", wholeNumber(1, 600), 60);
}

/**
 * Adds the options that select a folder or a cluster, and what may be called.
 * @param calls false for a command that calls no WAF: it accepts the options of calls, so that one alias fits all commands
 */
export function withPlaceOptions(command: Command, calls = true) {
  const place = command
    .option("-f, --from <directory>", "folder with the YAML files; if unset, the command uses a cluster")
    .option(
      "--state <directory>",
      "with -f: folder for the inventory and status (default: .wafsync in the folder of -f)",
    )
    .option("-n, --namespace <name>", "namespace in the cluster (default: the namespace of the context)");
  return withClusterOptions(place)
    .addOption(
      new Option("--allow-insecure-http", "allow base URLs with http://, for trials on a laptop")
        .default(false)
        .hideHelp(!calls),
    )
    .addOption(
      new Option("--allowed-base-urls <urls>", "call only APIs below these URLs, separated by commas").hideHelp(!calls),
    );
}

/** Adds the options that `withTarget` reads, and the output format. */
export function withTargetOptions(command: Command, formats: readonly string[], calls = true) {
  return withPlaceOptions(command, calls)
    .option("--instance <name>", "the WafInstance, as NAME or NAMESPACE/NAME (default: all instances, or the only one)")
    .addOption(new Option("-o, --output <format>", "output format").choices(formats).default("table"));
}

/** Adds the options that `readKubeConfig` reads. */
export function withClusterOptions(command: Command) {
  return command
    .option("--kubeconfig <file>", "kubeconfig file (default: the same as kubectl, or the pod's service account)")
    .option("--context <name>", "context of the kubeconfig (default: the current one)");
}
