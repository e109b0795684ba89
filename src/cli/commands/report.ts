// The options of `wafsync report`.
import type { Command } from "commander";
import { timeHelp, wholeNumber, withLogSourceOptions } from "./option-groups.ts";
import type { SetExitCode } from "./option-groups.ts";

const examples = `
The page needs no network. A report that exists already is replaced; another file is not.
${timeHelp}

Examples:
  $ export WAFSYNC_API_KEY=…
  $ wafsync report --base-url https://waf.example.com --since 30d --out report.html
  $ wafsync report -f waf/ --instance shop/shop --since 2026-11-01 --until 2026-11-21

Exit codes: 0 all is in the report, 1 something is missing, and the page says what, 2 something is wrong, 130 stopped.
`;

export function addReportCommand(program: Command, setExitCode: SetExitCode): void {
  const command = program
    .command("report")
    .description("Make a page about the requests that the WAF blocked: when, why, from where, and whom to block next.")
    .option("--since <time>", "from when on", "7d")
    .option("--until <time>", "up to when", "today")
    .option("--out <file>", "where to write the page; - for stdout", "report.html")
    .option("--top <n>", "clients, reasons and paths to show", wholeNumber(1, 100), 20);
  withLogSourceOptions(command)
    .addHelpText("after", examples)
    .action(async (options) => {
      const { runReport } = await import("../report-command.ts");
      setExitCode(await runReport(options));
    });
}
