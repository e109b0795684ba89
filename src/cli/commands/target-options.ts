// The options of commands for people, which work on a folder and on a cluster alike.
import type { Command } from "commander";
import { Option } from "commander";

/** Adds the options that `openTarget` reads. */
export function withTargetOptions(command: Command, formats: readonly string[] = ["table", "json"]): Command {
  return command
    .option("-f, --from <directory>", "folder with the YAML files; without it, the command works on a cluster")
    .option("--state <directory>", "with -f: folder for the inventory and status (default: .wafsync in that folder)")
    .option("-n, --namespace <name>", "namespace of the cluster (default: that of the context)")
    .option("--kubeconfig <file>", "kubeconfig (default: as kubectl does, or the pod's service account)")
    .option("--context <name>", "context of the kubeconfig (default: the current one)")
    .option("--instance <name>", "which WafInstance, as NAME or NAMESPACE/NAME (default: all, or the only one)")
    .option("--allow-insecure-http", "allow base URLs with http://, for trials on a laptop", false)
    .option("--allowed-base-urls <urls>", "only call APIs below these URLs, separated by commas")
    .addOption(new Option("-o, --output <format>", "how to print").choices(formats).default("table"));
}
