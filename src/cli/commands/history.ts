// The options of `wafsync history`.
import type { Command } from "commander";
import type { SetExitCode } from "./option-groups.ts";
import { timeHelp } from "./option-groups.ts";
import { withTargetOptions } from "./target-options.ts";

export function addHistoryCommand(program: Command, setExitCode: SetExitCode): void {
  withTargetOptions(program.command("history"), ["table", "json", "markdown"], false)
    .argument("[address]", "show only changes of entries that cover this address or network")
    .option("--since <time>", "start of the period", "7d")
    .option("--until <time>", "end of the period", "today")
    .description("Show what was added, removed, adopted, rejected and approved, and for which rule.")
    .addHelpText(
      "after",
      `
${timeHelp}

Examples:
  $ wafsync history -f waf/
  $ wafsync history 192.0.2.1 -f waf/ --since 30d
  $ wafsync history --instance shop/shop --since 2026-11-20 -o markdown

Exit codes: 0 there are changes in the period, 1 there are none, 2 error.
`,
    )
    .action(async (address, options) => {
      const { runHistory } = await import("../history-command.ts");
      setExitCode(await runHistory(address, options));
    });
}
