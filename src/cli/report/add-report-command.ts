// The options of `wafsync report`.
import { Option } from "commander";
import type { Command } from "commander";
import { logPlans } from "../../plan/log-retention.ts";

type WholeNumber = (least: number, most: number) => (text: string) => number;

const examples = `
The page needs no network. Dates are days of UTC: 2026-11-21, today, yesterday, or 7d for seven days ago. Both ends are
included. A report that is there already is replaced; another file is not.

Examples:
  $ export WAFSYNC_API_KEY=…
  $ wafsync report --base-url https://waf.example.com --from 30d --output report.html
  $ wafsync report -f waf/ --instance shop/shop --from 2026-11-01 --to 2026-11-21

Exit codes: 0 all is in the report, 1 something is missing, and the page says what, 2 something is wrong, 130 stopped.
`;

export function addReportCommand(
  program: Command,
  wholeNumber: WholeNumber,
  setExitCode: (code: number) => void,
): void {
  program
    .command("report")
    .description("Make a page about the requests that the WAF blocked: when, why, from where, and whom to block next.")
    .option("--from <date>", "first day", "7d")
    .option("--to <date>", "last day", "today")
    .option("--output <file>", "where to write the page; - for the standard output", "report.html")
    .option("--top <n>", "clients, reasons and paths to show", wholeNumber(1, 100), 20)
    .addOption(new Option("--plan <plan>", "warn about days that this plan does not keep").choices(logPlans))
    .option("--base-url <url>", "base URL of the WAF's API")
    .option("--key-file <file>", "file that holds the API key (default: the environment variable WAFSYNC_API_KEY)")
    .option("-f, --directory <directory>", "folder that declares the WAF, instead of --base-url")
    .option("--instance <name>", "which WafInstance of the folder, if there are several")
    .option("--timeout <seconds>", "give up on a call after this time", wholeNumber(1, 600), 60)
    .option("--allow-insecure-http", "allow a base URL with http://, for trials on a laptop", false)
    .addHelpText("after", examples)
    .action(async (options) => {
      const { runReport } = await import("../report-command.ts");
      setExitCode(await runReport(options));
    });
}
