// The options of `wafsync report`.
import type { Command } from "commander";
import { timeHelp, wholeNumber, withLogSourceOptions } from "./option-groups.ts";
import type { SetExitCode } from "./option-groups.ts";

const examples = `
The page works offline. An existing report is replaced; any other file is not.
${timeHelp}

Examples:
  $ export WAFSYNC_API_KEY=…
  $ wafsync report --base-url https://waf.example.com --since 30d --out report.html
  $ wafsync report -f waf/ --instance shop/shop --since 2026-11-01 --until 2026-11-21

Exit codes: 0 the report is complete, 1 it is incomplete (the page says what is missing), 2 error, 130 stopped.
`;

export function addReportCommand(program: Command, setExitCode: SetExitCode): void {
  const command = program
    .command("report")
    .description(
      "Write an HTML page about the requests that the WAF blocked: when, why, from where, and which clients to block next.",
    )
    .option("--since <time>", "start of the period", "7d")
    .option("--until <time>", "end of the period", "today")
    .option(
      "--state <directory>",
      "with -f: folder for the inventory and status (default: .wafsync in the folder of -f)",
    )
    .option("--out <file>", "file to write the page to; - for stdout", "report.html")
    .option("--top <n>", "number of rows in each table", wholeNumber(1, 100), 20);
  withLogSourceOptions(command)
    .addHelpText("after", examples)
    .action(async (options) => {
      const { runReport } = await import("../report-command.ts");
      setExitCode(await runReport(options));
    });
}
