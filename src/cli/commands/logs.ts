// The options of `wafsync logs`.
import { Option } from "commander";
import type { Command } from "commander";
import { collect, collectList, timeHelp, wholeNumber, withLogSourceOptions } from "./option-groups.ts";
import type { SetExitCode } from "./option-groups.ts";

const formats = ["ndjson", "csv", "table", "json"];

const examples = `
${timeHelp}

Examples:
  $ export WAFSYNC_API_KEY=…
  $ wafsync logs --base-url https://waf.example.com --since 7d --out blocked.csv
  $ wafsync logs --base-url https://waf.example.com --country CN,RU --reason SQL
  $ wafsync logs -f waf/ --since 24h
  $ wafsync logs -f waf/ --follow -o ndjson | jq .request_path
`;

const noFilters = { country: [], reason: [], client: [], network: [], status: [], path: [] };

export function addLogsCommand(program: Command, setExitCode: SetExitCode): void {
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
  withLogSourceOptions(command)
    .addHelpText("after", examples)
    .action(async (options) => {
      const { runLogs } = await import("../logs-command.ts");
      setExitCode(await runLogs({ ...noFilters, ...options }));
    });
}
