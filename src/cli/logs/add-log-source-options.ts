// Where a command that reads logs finds the WAF: its address and key, or a folder that declares it.
import { Option } from "commander";
import type { Command } from "commander";
import { logPlans } from "../../plan/logs/retention.ts";

export type WholeNumber = (least: number, most: number) => (text: string) => number;

/** Adds the options that `findLogSource` reads. */
export function withLogSourceOptions(command: Command, wholeNumber: WholeNumber): Command {
  return command
    .addOption(new Option("--plan <plan>", "warn about days that this plan does not keep").choices(logPlans))
    .option("--base-url <url>", "base URL of the WAF's API")
    .option("--key-file <file>", "file that holds the API key (default: the environment variable WAFSYNC_API_KEY)")
    .option("-f, --directory <directory>", "folder that declares the WAF, instead of --base-url")
    .option("--instance <name>", "which WafInstance of the folder, if there are several")
    .option("--timeout <seconds>", "give up on a call after this time", wholeNumber(1, 600), 60)
    .option("--allow-insecure-http", "allow a base URL with http://, for trials on a laptop", false);
}
