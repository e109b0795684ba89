// Options of commands that support both folders and clusters.
import type { Command } from "commander";
import { Option } from "commander";

/** Adds the options that select a folder or a cluster. */
function withPlaceOptions(command: Command): Command {
  return command
    .option("-f, --from <directory>", "folder with the YAML files; if unset, the command uses a cluster")
    .option(
      "--state <directory>",
      "with -f: folder for the inventory and status (default: .wafsync in the folder of -f)",
    )
    .option("-n, --namespace <name>", "namespace in the cluster (default: the namespace of the context)")
    .option("--kubeconfig <file>", "kubeconfig file (default: the same as kubectl, or the pod's service account)")
    .option("--context <name>", "context of the kubeconfig (default: the current one)");
}

/** @param calls false for a command that calls no WAF: it accepts these options, so that one alias fits all commands */
function withCallOptions(command: Command, calls = true): Command {
  const options = [
    new Option("--allow-insecure-http", "allow base URLs with http://, for trials on a laptop").default(false),
    new Option("--allowed-base-urls <urls>", "call only APIs below these URLs, separated by commas"),
  ];
  for (const option of options) command.addOption(option.hideHelp(!calls));
  return command;
}

/** Adds the options that `openTarget` reads. */
export function withTargetOptions(
  command: Command,
  formats: readonly string[] = ["table", "json"],
  calls = true,
): Command {
  withPlaceOptions(command).option(
    "--instance <name>",
    "the WafInstance, as NAME or NAMESPACE/NAME (default: all instances, or the only one)",
  );
  return withCallOptions(command, calls).addOption(
    new Option("-o, --output <format>", "output format").choices(formats).default("table"),
  );
}

/** Adds the options that `openTarget` reads, for a command that covers all instances and has no output format. */
export function withAllOfTargetOptions(command: Command): Command {
  return withCallOptions(withPlaceOptions(command));
}
