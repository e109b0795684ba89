// The options of the commands that call one WAF: `import`, `clear-cache`, `logs` and `report`.
import type { Command } from "commander";
import { Option } from "commander";
import type { AddCommand } from "./option-groups.ts";
import {
  collect,
  collectList,
  timeHelp,
  wholeNumber,
  withClusterOptions,
  withLogSourceOptions,
} from "./option-groups.ts";

function importCommand(program: Command) {
  return program
    .command("import")
    .requiredOption("--base-url <url>", "base URL of the WAF's API")
    .requiredOption("--instance <name>", "name of the WafInstance to write")
    .option("--key-file <file>", "file that holds the API key (default: the environment variable WAFSYNC_API_KEY)")
    .option("-n, --namespace <name>", "namespace of the objects", "default")
    .option("--secret <name>", "name of the Secret with the API key (default: NAME-waf-key)")
    .option("--out <directory>", "new folder for the files (default: print them to stdout)")
    .option("--timeout <seconds>", "give up on a call after this time", wholeNumber(1, 600), 60)
    .option("--allow-insecure-http", "allow a base URL with http://, for trials on a laptop", false)
    .addOption(new Option("-o, --output <format>", "output format").choices(["table", "json"]).default("table"))
    .description(
      "Write an instance and rules for the current lists of a WAF, marked for adoption. Does not change the WAF.",
    )
    .addHelpText(
      "after",
      `
Examples:
  $ WAFSYNC_API_KEY=… wafsync import --base-url https://waf.example.com --instance shop -n shop --out waf/
  $ wafsync import --base-url https://waf.example.com --key-file key.txt --instance shop | kubectl apply --server-side -f -

Exit codes: 0 all entries are declared, 1 some entries were skipped, 2 error (no file was written), 130 stopped.
`,
    );
}

function clearCacheCommand(program: Command) {
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
  return withClusterOptions(command).addHelpText(
    "after",
    `
Examples:
  $ wafsync clear-cache --instance shop/shop --trigger "$(git rev-parse HEAD)" --wait
  $ WAFSYNC_API_KEY=… wafsync clear-cache --base-url https://waf.example.com
`,
  );
}

const formats = ["ndjson", "csv", "table", "json"] as const;
export type LogFormatName = (typeof formats)[number];

const logsExamples = `
${timeHelp}

Examples:
  $ export WAFSYNC_API_KEY=…
  $ wafsync logs --base-url https://waf.example.com --since 7d --out blocked.csv
  $ wafsync logs --base-url https://waf.example.com --country CN,RU --reason SQL
  $ wafsync logs -f waf/ --since 24h
  $ wafsync logs -f waf/ --follow -o ndjson | jq .request_path
`;

function logsCommand(program: Command) {
  const command = program
    .command("logs")
    .description("Print the requests that the WAF blocked, or write them to a file.")
    .option("--since <time>", "start of the period (default: yesterday, with --follow today)")
    .option("--until <time>", "end of the period (default: today)")
    .addOption(
      new Option(
        "-o, --output <format>",
        "output format (default: by file name; otherwise table on a terminal, ndjson elsewhere)",
      ).choices(formats),
    )
    .option("--out <file>", "write the rows to this file, which must not exist yet")
    .option("--resume", "continue an unfinished download", false)
    .option("--country <codes>", "only requests from these countries, for example CN,RU", collectList)
    .option("--reason <text>", "only requests whose block reason contains this text; repeatable", collect)
    .option("--client <addresses>", "only requests from these IP addresses or networks", collectList)
    .option(
      "--network <networks>",
      "like --client, but for networks; an address stands for its /24 or /64",
      collectList,
    )
    .option("--status <codes>", "only requests with these HTTP statuses, for example 403 or 4xx", collectList)
    .option(
      "--path <text>",
      "only requests whose path contains this text; with *, the whole path must match; repeatable",
      collect,
    )
    .option("--follow", "keep printing new rows until stopped", false)
    .option("--interval <seconds>", "with --follow: how often to poll", wholeNumber(5, 86_400), 60)
    .option(
      "--lookback <days>",
      "with --follow: read this many earlier days again, because rows can be late",
      wholeNumber(0, 30),
      2,
    )
    .option("--page-size <n>", "rows per call", wholeNumber(1, 10_000), 10_000);
  return withLogSourceOptions(command).addHelpText("after", logsExamples);
}

const reportExamples = `
The page works offline. An existing report is replaced; any other file is not.
${timeHelp}

Examples:
  $ export WAFSYNC_API_KEY=…
  $ wafsync report --base-url https://waf.example.com --since 30d --out report.html
  $ wafsync report -f waf/ --instance shop/shop --since 2026-11-01 --until 2026-11-21

Exit codes: 0 the report is complete, 1 it is incomplete (the page says what is missing), 2 error, 130 stopped.
`;

function reportCommand(program: Command) {
  const command = program
    .command("report")
    .description(
      "Write an HTML page about the requests that the WAF blocked: when, why, from where, and which clients to block next.",
    )
    .option("--since <time>", "start of the period", "7d")
    .option("--until <time>", "end of the period", "today")
    .option("--out <file>", "file to write the page to; - for stdout", "report.html")
    .option("--top <n>", "number of rows in each table", wholeNumber(1, 100), 20);
  return withLogSourceOptions(command).addHelpText("after", reportExamples);
}

export const wafCommands: readonly AddCommand[] = [
  (program, ends) =>
    importCommand(program).action(
      ends(async (options) => await (await import("../import-command.ts")).runImport(options)),
    ),
  (program, ends) =>
    clearCacheCommand(program).action(
      ends(async (options) => await (await import("../clear-cache-command.ts")).runClearCache(options)),
    ),
  (program, ends) =>
    logsCommand(program).action(ends(async (options) => await (await import("../logs-command.ts")).runLogs(options))),
  (program, ends) =>
    reportCommand(program).action(
      ends(async (options) => await (await import("../report-command.ts")).runReport(options)),
    ),
];
