// The options of `wafsync clear-cache`.
import { Option } from "commander";
import type { Command } from "commander";
import { CommandError } from "../describe-error.ts";
import { wholeNumber, withClusterOptions } from "./option-groups.ts";
import type { SetExitCode } from "./option-groups.ts";

export function addClearCacheCommand(program: Command, setExitCode: SetExitCode): void {
  const elsewhere = ["baseUrl", "keyFile", "expectedDomain"];
  const command = program
    .command("clear-cache")
    .description("Clear the whole cache of one WAF, for pipelines: through an operator, or by a direct call.")
    .addOption(
      new Option(
        "--instance <namespace/name>",
        "the WafInstance in a cluster, for which the command creates a WafCacheClear",
      ).conflicts(elsewhere),
    )
    .addOption(
      new Option(
        "-n, --namespace <name>",
        "with --instance: namespace of the WafCacheClear (default: the namespace of the instance)",
      ),
    )
    .addOption(new Option("--trigger <text>", "with --instance: clear only once for this string, for example a commit"))
    .option("--wait", "with --instance: wait until the cache is cleared", false)
    .option(
      "--ttl <seconds>",
      "with --instance: delete the WafCacheClear this long after it has finished",
      wholeNumber(60, 31_536_000),
      86_400,
    )
    .option("--base-url <url>", "base URL of the WAF's API, to call it without a cluster")
    .option("--key-file <file>", "file that holds the API key (default: the environment variable WAFSYNC_API_KEY)")
    .option("--expected-domain <domain>", "do nothing unless the key belongs to this domain")
    .option("--retries <n>", "retries after a failed attempt", wholeNumber(0, 20), 3)
    .option("--timeout <seconds>", "give up after this time", wholeNumber(1, 3600), 300)
    .option("--allow-insecure-http", "allow a base URL with http://, for trials on a laptop", false)
    .addOption(new Option("-o, --output <format>", "output format").choices(["table", "json"]).default("table"));
  withClusterOptions(command)
    .addHelpText(
      "after",
      `
Examples:
  $ wafsync clear-cache --instance shop/shop --trigger "$(git rev-parse HEAD)" --wait
  $ WAFSYNC_API_KEY=… wafsync clear-cache --base-url https://waf.example.com
`,
    )
    .action(async (options) => setExitCode(await clearCache(options)));
}

async function clearCache(options: {
  readonly instance?: string;
  readonly baseUrl?: string;
  readonly trigger?: string;
  readonly namespace?: string;
  readonly [option: string]: unknown;
}): Promise<number> {
  const { instance, baseUrl, ...rest } = options;
  if (instance !== undefined) {
    const { runClearCacheInCluster } = await import("../clear-cache-cluster-command.ts");
    return await runClearCacheInCluster({ ...rest, instance } as Parameters<typeof runClearCacheInCluster>[0]);
  }
  if (baseUrl === undefined) {
    throw new CommandError(
      "no cache specified",
      "Set --instance NAMESPACE/NAME for an instance in a cluster, or --base-url URL for a WAF without one.",
    );
  }
  if (rest.trigger !== undefined || rest.namespace !== undefined) {
    throw new CommandError("--trigger and --namespace need --instance: without a cluster, triggers are not recorded");
  }
  const { runClearCache } = await import("../clear-cache-command.ts");
  return await runClearCache({ ...rest, baseUrl } as Parameters<typeof runClearCache>[0]);
}
